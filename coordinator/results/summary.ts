import { crc32 } from 'node:zlib';
import type { Check } from './check.ts';
import { hourMs } from './chunk.ts';
import {
  countTime,
  emptySketch,
  mergeSketch,
  quantileOf,
  readSketch,
  type Sketch,
  writeSketch,
} from './sketch.ts';
import { type Bytes, pushVarint, readBytes, readVarint } from './varints.ts';

/** Checks of a monitor in a step of time and from one place, summarized. Times are of passes. */
export type Summary = {
  ok: number;
  failed: number;
  unknown: number;
  /** In tenths of a millisecond, as are least and most. */
  sum: number;
  least: number;
  most: number;
  readonly sketch: Sketch;
};

export function emptySummary(): Summary {
  return {
    ok: 0,
    failed: 0,
    unknown: 0,
    sum: 0,
    least: Number.POSITIVE_INFINITY,
    most: 0,
    sketch: emptySketch(),
  };
}

export function countCheck(
  summary: Summary,
  { outcome, took_ms }: Pick<Check, 'outcome' | 'took_ms'>,
): void {
  if (outcome === 'fail') summary.failed += 1;
  else if (outcome === 'unknown') summary.unknown += 1;
  else {
    const ticks = Math.round(took_ms * 10);
    summary.ok += 1;
    summary.sum += ticks;
    summary.least = Math.min(summary.least, ticks);
    summary.most = Math.max(summary.most, ticks);
    countTime(summary.sketch, ticks);
  }
}

export function mergeSummary(into: Summary, from: Summary): void {
  into.ok += from.ok;
  into.failed += from.failed;
  into.unknown += from.unknown;
  into.sum += from.sum;
  into.least = Math.min(into.least, from.least);
  into.most = Math.max(into.most, from.most);
  mergeSketch(into.sketch, from.sketch);
}

/** In milliseconds. Null without passes. */
export function percentileOf(summary: Summary, q: number): number | null {
  const { ok, sketch, least, most } = summary;
  if (ok === 0) return null;
  if (Math.ceil(q * ok) === ok) return most / 10;
  const quantile = quantileOf(sketch, ok, q);
  return Math.min(Math.max(quantile, least / 10), most / 10);
}

const hoursOfDay = 24;
const version = 1;

/** A monitor's day, by place: by the hour, and the whole day in the cell of its first hour. */
export type Day = { readonly hours: Uint8Array; readonly whole: Uint8Array };

/**
 * `placeOf` gives the place of a probe; undefined: its checks do not count. Null without checks.
 */
export function dayOf(
  day: number,
  checks: readonly Check[],
  placeOf: (probe: number) => string | undefined,
): Day | null {
  const places = new Map<string, Check[][]>();
  for (const check of checks) {
    const place = placeOf(check.probe);
    const hour = Math.floor((check.at - day) / hourMs);
    if (hour < 0 || hour >= hoursOfDay)
      throw new RangeError(`a check at ${check.at} is not of the day ${day}`);
    if (place === undefined) continue;
    const hours = places.getOrInsertComputed(place, () =>
      Array.from({ length: hoursOfDay }, () => []),
    );
    hours[hour]?.push(check);
  }
  if (places.size === 0) return null;
  const inOrder = [...places].toSorted(([a], [b]) => (a < b ? -1 : 1));
  return {
    hours: written(inOrder),
    whole: written(inOrder.map(([name, hours]) => [name, [hours.flat()]])),
  };
}

/**
 * Version · number of places · places · checksum (4 bytes). A place: length of its name · name ·
 * which hours have checks (3 bytes) · cells. A cell: passes, with a bit for others · failures and
 * unknown · least · most · sum · sketch.
 */
function written(places: readonly (readonly [string, readonly (readonly Check[])[]])[]): Buffer {
  const bytes = [version];
  pushVarint(bytes, places.length);
  for (const [name, hours] of places) {
    const text = Buffer.from(name);
    pushVarint(bytes, text.length);
    bytes.push(...text);
    const present = hours.reduce((bits, some, hour) => bits + (some.length > 0 ? 1 << hour : 0), 0);
    bytes.push(present & 0xff, (present >> 8) & 0xff, present >> 16);
    for (const some of hours) {
      if (some.length === 0) continue;
      const summary = emptySummary();
      for (const check of some) countCheck(summary, check);
      writeCell(bytes, summary);
    }
  }
  return sealed(bytes);
}

/** One summary alone, of no place, as cells. */
export function cellsOf(summary: Summary): Buffer {
  const bytes = [version, 1, 0, 1, 0, 0];
  writeCell(bytes, summary);
  return sealed(bytes);
}

function sealed(bytes: readonly number[]): Buffer {
  const data = Buffer.alloc(bytes.length + 4);
  data.set(bytes);
  data.writeUInt32BE(crc32(data.subarray(0, bytes.length)), bytes.length);
  return data;
}

function writeCell(bytes: number[], summary: Summary): void {
  const { ok, failed, unknown, sum, least, most, sketch } = summary;
  const hasOthers = failed + unknown > 0;
  pushVarint(bytes, ok * 2 + (hasOthers ? 1 : 0));
  if (hasOthers) for (const count of [failed, unknown]) pushVarint(bytes, count);
  if (ok === 0) return;
  for (const number of [least, most - least, sum - least * ok]) pushVarint(bytes, number);
  writeSketch(sketch, least, bytes);
}

/**
 * Adds cells to the summaries that `summaryOf` gives for them. Returns what is wrong with damaged
 * ones, of which nothing is added.
 */
export function readCells(
  data: Uint8Array,
  summaryOf: (place: string, hour: number) => Summary,
): string | null {
  const end = data.length - 4;
  if (end < 2) return 'it is cut short';
  if (data[0] !== version) return `its version ${data[0]} is unknown`;
  const sum = new DataView(data.buffer, data.byteOffset + end, 4).getUint32(0);
  if (crc32(data.subarray(0, end)) !== sum) return 'its checksum is wrong';
  const reader = { data: data.subarray(1, end), at: 0 };
  for (let places = readVarint(reader); places > 0; places -= 1) {
    const place = Buffer.from(readBytes(reader, readVarint(reader))).toString();
    const [low = 0, middle = 0, high = 0] = readBytes(reader, 3);
    const present = low + (middle << 8) + (high << 16);
    for (let hour = 0; hour < hoursOfDay; hour += 1)
      if (present & (1 << hour)) readCell(reader, summaryOf(place, hour));
  }
  return null;
}

function readCell(reader: Bytes, into: Summary): void {
  const head = readVarint(reader);
  const ok = Math.floor(head / 2);
  into.ok += ok;
  if (head % 2 === 1) {
    into.failed += readVarint(reader);
    into.unknown += readVarint(reader);
  }
  if (ok === 0) return;
  const least = readVarint(reader);
  into.least = Math.min(into.least, least);
  into.most = Math.max(into.most, least + readVarint(reader));
  into.sum += readVarint(reader) + least * ok;
  readSketch(reader, { least, total: ok }, into.sketch);
}
