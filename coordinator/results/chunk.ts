import { crc32 } from 'node:zlib';
import type { Phases } from '../../shared/checks/result.ts';
import { type Check, outcomeNumbers, outcomeOf, phaseNames, unionOf } from './check.ts';
import {
  type Bytes,
  isOver,
  pushVarint,
  readByte,
  readBytes,
  readVarint,
  unzigzag,
  zigzag,
} from './varints.ts';

/**
 * The checks of a monitor and an hour in few bytes:
 *
 *     version · number of sections · sections · checksum (4 bytes)
 *     a section is a probe's: its key · length · checks · checksum (2 bytes)
 *     a check: time, with a bit for a new shape · shape · took, if it is not the total · phases
 *
 * Numbers are varints: times in milliseconds and durations in tenths of one, each as its difference
 * to what the probe's checks before it let expect. The shape is outcome, cause and which phases
 * there are; it seldom changes. A section needs no other one, so a damaged chunk keeps the others.
 */
export type Chunk = { readonly at: number; readonly data: Uint8Array };

export const hourMs = 3_600_000;

/** The start of the hour that a time lies in. */
export function hourOf(at: number): number {
  return Math.floor(at / hourMs) * hourMs;
}

export const quarterMs = hourMs / 4;

/** The start of the quarter of an hour that a time lies in. */
export function quarterOf(at: number): number {
  return at - (at % quarterMs);
}

const version = 1;

/** Postgres would store longer ones outside of their row. */
const maxBytes = 1_960;

/**
 * One chunk for the hour, or up to four by quarter when the hour's would be too long. Their content
 * alone decides, so the same checks make the same bytes, in whatever order and however often they
 * come. @param aside how many milliseconds after their time they stand, because there are others.
 */
export function chunksOf(hour: number, checks: readonly Check[], aside = 0): Chunk[] {
  const stray = checks.find(({ at }) => at < hour || at >= hour + hourMs);
  if (stray) throw new RangeError(`a check at ${stray.at} is not of the hour ${hour}`);
  const all = unionOf(checks.map(rounded));
  if (all.length === 0) return [];
  const whole = chunkOf(hour + aside, all);
  if (whole.data.length <= maxBytes) return [whole];
  const quarters = Map.groupBy(all, ({ at }) => quarterOf(at));
  return Array.from(quarters, ([at, part]) => chunkOf(at + aside, part));
}

export type ChunkContent = {
  readonly checks: readonly Check[];
  /** What is wrong with a damaged chunk; `checks` is then what is readable of it. */
  readonly fault: string | null;
};

/** Never throws: a damaged chunk has a fault, and keeps the sections that are whole. */
export function readChunk(at: number, data: Uint8Array): ChunkContent {
  const reader = { data: data, at: 0 };
  const found = readByte(reader);
  if (found !== version)
    return {
      checks: [],
      fault: data.length === 0 ? 'it is empty' : `its version ${found} is unknown`,
    };
  const checks: Check[][] = [];
  const sections = readVarint(reader);
  for (let nth = 0; nth < sections && !isOver(reader); nth += 1) {
    const section = readSection(at, reader);
    if (section) checks.push(section);
  }
  const all = unionOf(...checks);
  if (isOver(reader)) return { checks: all, fault: 'it is cut short' };
  const isWhole =
    data.length === reader.at + 4 &&
    checks.length === sections &&
    viewOf(data).getUint32(reader.at) === checksum(at, data.subarray(0, reader.at));
  return { checks: all, fault: isWhole ? null : 'its checksum is wrong' };
}

/** As a chunk can store it. */
function rounded({ probe, at, took_ms, outcome, cause, phases }: Check): Check {
  return {
    probe,
    at: Math.floor(at),
    took_ms: tenthsOf(took_ms) / 10,
    outcome,
    cause: outcome === 'ok' ? null : cause,
    phases: phases && roundedPhases(phases),
  };
}

function roundedPhases({ dns, tcp, tls, first_byte, total }: Phases): Phases | null {
  const some = [dns, tcp, tls, first_byte, total].some((ms) => ms !== null);
  return some ? phasesOf([dns, tcp, tls, first_byte, total].map(tenthsOrNull)) : null;
}

function tenthsOrNull(ms: number | null): number | null {
  return ms === null ? null : tenthsOf(ms);
}

/** Five days: nothing takes longer, and differences stay exact. */
const maxTenths = 2 ** 32;

function tenthsOf(ms: number): number {
  return Math.min(Math.max(Math.round(ms * 10), 0), maxTenths);
}

function phasesOf(tenths: readonly (number | null)[]): Phases {
  return {
    dns: msOf(tenths[0]),
    tcp: msOf(tenths[1]),
    tls: msOf(tenths[2]),
    first_byte: msOf(tenths[3]),
    total: msOf(tenths[4]),
  };
}

function msOf(tenths: number | null | undefined): number | null {
  return tenths == null ? null : tenths / 10;
}

function chunkOf(at: number, checks: readonly Check[]): Chunk {
  const bytes = [version];
  const byProbe = [...Map.groupBy(checks, ({ probe }) => probe)].toSorted(([a], [b]) => a - b);
  pushVarint(bytes, byProbe.length);
  for (const [probe, some] of byProbe) {
    const body = bodyOf(at, some);
    const section: number[] = [];
    pushVarint(section, probe);
    pushVarint(section, body.length);
    for (const byte of body) section.push(byte);
    const sum = checksum(at, Uint8Array.from(section));
    for (const byte of section) bytes.push(byte);
    bytes.push((sum >>> 8) & 0xff, sum & 0xff);
  }
  const data = new Uint8Array(bytes.length + 4);
  data.set(bytes);
  viewOf(data).setUint32(bytes.length, checksum(at, data.subarray(0, bytes.length)));
  return { at, data };
}

/** Of bytes at a place: a chunk under another time is damaged too. */
function checksum(at: number, bytes: Uint8Array): number {
  return crc32(bytes, crc32(String(at)));
}

function viewOf(data: Uint8Array): DataView {
  return new DataView(data.buffer, data.byteOffset, data.byteLength);
}

const total = phaseNames.indexOf('total');

const tookBit = 0x80;

function bodyOf(start: number, checks: readonly Check[]): number[] {
  const bytes: number[] = [];
  const expected = expectedFrom(start);
  for (const { at, took_ms, outcome, cause, phases } of checks) {
    const took = tenthsOf(took_ms);
    const tenths = phaseNames.map((name) => tenthsOrNull(phases?.[name] ?? null));
    let head: number = outcomeNumbers[outcome];
    for (let phase = 0; phase <= total; phase += 1)
      if (tenths[phase] !== null) head |= bitOf(phase);
    if (tenths[total] !== took) head |= tookBit;
    const isNew = head !== expected.head || cause !== expected.cause;
    const step = at - expected.at;
    pushVarint(bytes, zigzag(step - expected.step) * 2 + (isNew ? 1 : 0));
    if (isNew) {
      bytes.push(head);
      if (outcome !== 'ok') writeCause(bytes, expected.causes, cause);
    }
    if (head & tookBit) {
      pushVarint(bytes, zigzag(took - expected.took));
      expected.took = took;
    }
    let sum = 0;
    for (let phase = 0; phase <= total; phase += 1) {
      const value = tenths[phase];
      if (value === null || value === undefined) continue;
      const beyond = phase === total ? value - sum : value;
      pushVarint(bytes, zigzag(beyond - (expected.phases[phase] ?? 0)));
      expected.phases[phase] = beyond;
      sum += value;
    }
    Object.assign(expected, { at, step, head, cause });
  }
  return bytes;
}

/** What a probe's checks before let expect of its next one. */
type Expected = {
  at: number;
  step: number;
  /** Of the shape: outcome, phases and whether the total is what it took. */
  head: number;
  cause: string | null;
  took: number;
  /** Tenths of dns, tcp, tls, first byte, and of what the total has beyond them. */
  readonly phases: number[];
  /** In order of their first use. */
  readonly causes: string[];
};

function expectedFrom(at: number): Expected {
  return {
    at,
    step: 0,
    head: -1,
    cause: null,
    took: 0,
    phases: [0, 0, 0, 0, 0],
    causes: [],
  };
}

function bitOf(phase: number): number {
  return 4 << phase;
}

/** 0 for none, else its place among the causes; the text itself at its first use. */
function writeCause(bytes: number[], causes: string[], cause: string | null): void {
  const known = cause === null ? 0 : causes.indexOf(cause) + 1;
  if (cause === null || known > 0) {
    pushVarint(bytes, known);
    return;
  }
  pushVarint(bytes, causes.push(cause));
  const text = Buffer.from(cause);
  pushVarint(bytes, text.length);
  bytes.push(...text);
}

/** Undefined when it is damaged. */
function readSection(at: number, reader: Bytes): Check[] | undefined {
  const start = reader.at;
  const probe = readVarint(reader);
  const length = readVarint(reader);
  const body = readBytes(reader, length);
  const isWhole =
    (readByte(reader) << 8) + readByte(reader) ===
    (checksum(at, reader.data.subarray(start, reader.at - 2)) & 0xffff);
  return isWhole && !isOver(reader) ? readBody(at, probe, { data: body, at: 0 }) : undefined;
}

function readBody(start: number, probe: number, reader: Bytes): Check[] | undefined {
  const checks: Check[] = [];
  const expected = expectedFrom(start);
  while (reader.at < reader.data.length) {
    const time = readVarint(reader);
    expected.step += unzigzag(Math.floor(time / 2));
    expected.at += expected.step;
    if (time % 2 === 1) {
      expected.head = readByte(reader);
      expected.cause = expected.head & 3 ? readCause(reader, expected.causes) : null;
    }
    const { head, cause } = expected;
    if (head & tookBit) expected.took += unzigzag(readVarint(reader));
    const tenths: (number | null)[] = [];
    let sum = 0;
    for (let phase = 0; phase <= total; phase += 1) {
      if ((head & bitOf(phase)) === 0) {
        tenths.push(null);
        continue;
      }
      const beyond = (expected.phases[phase] ?? 0) + unzigzag(readVarint(reader));
      expected.phases[phase] = beyond;
      const value = phase === total ? sum + beyond : beyond;
      sum += value;
      tenths.push(value);
    }
    const took = head & tookBit ? expected.took : (tenths[total] ?? 0);
    checks.push({
      probe,
      at: expected.at,
      took_ms: took / 10,
      outcome: outcomeOf(head & 3),
      cause,
      phases: tenths.some((value) => value !== null) ? phasesOf(tenths) : null,
    });
  }
  return isOver(reader) ? undefined : checks;
}

function readCause(reader: Bytes, causes: string[]): string | null {
  const place = readVarint(reader);
  if (place === 0) return null;
  if (place > causes.length)
    causes.push(Buffer.from(readBytes(reader, readVarint(reader))).toString());
  return causes[place - 1] ?? null;
}

/** Differences of both signs as whole numbers: small ones stay small. */
