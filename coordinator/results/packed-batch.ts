import { crc32, deflateRawSync, inflateRawSync } from 'node:zlib';
import {
  type Batch,
  column,
  type Head,
  joinedText,
  noPhase,
  readBatch,
  width,
} from '../../shared/bus/batch.ts';
import { resultMessage } from '../../shared/bus/messages.ts';
import type { Outcome, Result } from '../../shared/checks/result.ts';
import { type Bytes, isOver, readVarint, unzigzag, writeVarint, zigzag } from './varints.ts';

/**
 * A batch of results as the journal keeps it: in a twentieth of its text, and so that the very text
 * that its probe signed can be made of it again.
 *
 *     both             which results count as unknown, by their order here
 *     form `numbers`   generation · after · scale · passes · others as they came
 *     form `text`      keys · the text: of what another program than our reporter wrote
 *     both             a checksum at the end (4 bytes)
 *
 * A pass whose result was taken has the key of its monitor, any other one the id. What was decided
 * of a result is its own outcome, unless it counts as unknown.
 */
const forms = { numbers: 1, text: 2 } as const;

/**
 * @param keys by place: the monitor's key where the result was taken, else 0.
 * @param unknown the places of results that count as unknown, whatever their probe said.
 */
export function packBatch(
  sent: Uint8Array,
  batch: Batch,
  keys: ArrayLike<number>,
  unknown: ReadonlySet<number> = new Set(),
): Uint8Array {
  const packed = packNumbers(sent, batch, keys, unknown);
  return packed && isTextOf(packed, sent, batch, keys)
    ? packed
    : packText(sent, batch, keys, unknown);
}

/**
 * What reads a packed batch: numbers for each pass, because there are so many. Outcomes are those
 * that count.
 */
export type Taken = {
  readonly pass: (
    monitor: number,
    at: number,
    took_ms: number,
    dns: number,
    tcp: number,
    tls: number,
    first_byte: number,
    total: number,
    outcome: Outcome,
  ) => void;
  readonly other: (monitor: number, result: Other) => void;
};

/** What is kept of a result that is no plain pass. Reading its evidence too takes three times as long. */
const kept = resultMessage.pick({
  at: true,
  took_ms: true,
  outcome: true,
  cause: true,
  phases: true,
});
type Other = Pick<Result, keyof typeof kept.shape>;

/** Hands on the results of a batch that were taken, by place as in packBatch. */
export function takeBatch(
  { monitors, numbers, whole }: Batch,
  keys: ArrayLike<number>,
  unknown: ReadonlySet<number>,
  taken: Taken,
): void {
  for (let place = 0; place < monitors.length; place += 1) {
    const key = keys[place] ?? 0;
    if (key === 0) continue;
    const other = whole.get(place);
    const isUnknown = unknown.has(place);
    if (other) takeOther(taken, key, other, isUnknown);
    else takePass(taken, key, numbers, isUnknown, place * width);
  }
}

/**
 * Hands on the results that were taken. Never throws: it returns what is wrong with a damaged batch.
 */
export function readPacked(data: Uint8Array, taken: Taken): string | null {
  const fault = faultOf(data);
  if (fault !== null) return fault;
  const bytes = { data: data.subarray(0, -4), at: 1 };
  try {
    const unknown = readUnknown(bytes);
    return data[0] === forms.text
      ? readText(bytes, unknown, taken)
      : readNumbers(bytes, unknown, taken);
  } catch (error) {
    return `its content cannot be read: ${error instanceof Error ? error.message : String(error)}`;
  }
}

/**
 * The text that the probe signed. @param idOf the id of a monitor by its key. @throws when it is
 * damaged.
 */
export function textOf(
  data: Uint8Array,
  { probe, partition }: Pick<Head, 'probe' | 'partition'>,
  idOf: (monitor: number) => string,
): Uint8Array {
  const fault = faultOf(data);
  if (fault !== null) throw new Error(`a packed batch cannot be read: ${fault}`);
  const bytes = { data: data.subarray(0, -4), at: 1 };
  readUnknown(bytes);
  if (data[0] === forms.text) {
    readKeys(bytes);
    return inflateRawSync(bytes.data.subarray(bytes.at));
  }
  return numbersText(bytes, { probe, partition }, idOf, () => readOthers(bytes).text);
}

/** @param othersText called once all before it was read. */
function numbersText(
  bytes: Bytes,
  { probe, partition }: Pick<Head, 'probe' | 'partition'>,
  idOf: (monitor: number) => string,
  othersText: () => string,
): Uint8Array {
  const { generation, after } = readHead(bytes);
  const monitors: string[] = [];
  const numbers: number[] = [];
  readPasses(bytes, (key, id, values) => {
    monitors.push(id ?? idOf(key));
    for (const value of values) numbers.push(value);
  });
  const ids = monitors.length === 0 ? '' : `"${monitors.join('","')}"`;
  const head = { probe, generation, partition, after };
  return Buffer.from(joinedText(head, ids, JSON.stringify(numbers).slice(1, -1), othersText()));
}

function faultOf(data: Uint8Array): string | null {
  if (data.length < 5) return 'it is cut short';
  const sum = new DataView(data.buffer, data.byteOffset).getUint32(data.length - 4);
  if (crc32(data.subarray(0, -4)) !== sum) return 'its checksum is wrong';
  const [form = 0] = data;
  return form === forms.numbers || form === forms.text ? null : `its form ${form} is unknown`;
}

const idBytes = 16;
/** Nine numbers of up to eight bytes, and an id. */
const passBytes = width * 8 + idBytes;
const headBytes = 64;

/** Durations are whole multiples of 1 / scale. */
const scales = [10, 100, 1_000];
/** Larger numbers would not come back exactly from their differences. */
const maxNumber = 2 ** 50;

function packNumbers(
  sent: Uint8Array,
  batch: Batch,
  keys: ArrayLike<number>,
  unknown: ReadonlySet<number>,
): Uint8Array | undefined {
  const scale = scales.find((each) => areMultiples(batch, each));
  const others = othersIn(sent);
  if (scale === undefined || others === undefined) return undefined;
  const { monitors, numbers, whole, generation, after } = batch;
  const size =
    headBytes + monitors.length * passBytes + (whole.size + unknown.size) * 8 + 2 * others.length;
  const bytes = beginForm(forms.numbers, size);
  const isPass = (place: number): boolean => !whole.has(place);
  writeUnknown(bytes, [...monitors.keys().filter(isPass), ...whole.keys()], unknown);
  writeId(bytes, generation);
  writeVarint(bytes, (after ?? -1) + 1);
  writeVarint(bytes, scale);
  writeVarint(bytes, monitors.length - whole.size);
  let [key, seq, version, at] = [0, 0, 0, 0];
  for (let place = 0; place < monitors.length; place += 1) {
    if (whole.has(place)) continue;
    const first = place * width;
    const number = (nth: number): number => numbers[first + nth] ?? 0;
    const own = keys[place] ?? 0;
    if (own === 0) {
      writeVarint(bytes, 0);
      writeId(bytes, monitors[place] ?? '');
    } else {
      writeVarint(bytes, zigzag(own - key) + 1);
      key = own;
    }
    writeVarint(bytes, zigzag(number(column.seq) - seq));
    writeVarint(bytes, zigzag(number(column.config_version) - version));
    writeVarint(bytes, zigzag(number(column.at) - at));
    [seq, version, at] = [number(column.seq), number(column.config_version), number(column.at)];
    const took = Math.round(number(column.took_ms) * scale);
    writeVarint(bytes, took);
    for (let nth = column.dns; nth < column.total; nth += 1)
      writeVarint(bytes, number(nth) === noPhase ? 0 : Math.round(number(nth) * scale) + 1);
    const total = number(column.total);
    writeVarint(bytes, total === noPhase ? 0 : zigzag(Math.round(total * scale) - took) + 1);
  }
  writeVarint(bytes, whole.size);
  for (const place of whole.keys()) writeVarint(bytes, keys[place] ?? 0);
  if (whole.size > 0) add(bytes, deflateRawSync(others));
  return sealed(bytes);
}

function beginForm(form: number, size: number): Bytes {
  const data = new Uint8Array(size);
  data[0] = form;
  return { data, at: 1 };
}

/** @param places in the order in which their results are read. */
function writeUnknown(bytes: Bytes, places: readonly number[], unknown: ReadonlySet<number>): void {
  writeVarint(bytes, unknown.size);
  if (unknown.size === 0) return;
  let last = -1;
  for (const [nth, place] of places.entries()) {
    if (!unknown.has(place)) continue;
    writeVarint(bytes, nth - last - 1);
    last = nth;
  }
}

function readUnknown(bytes: Bytes): ReadonlySet<number> {
  const unknown = new Set<number>();
  let last = -1;
  for (let left = readVarint(bytes); left > 0 && !isOver(bytes); left -= 1) {
    last += readVarint(bytes) + 1;
    unknown.add(last);
  }
  return unknown;
}

function sealed(bytes: Bytes): Uint8Array {
  const data = bytes.data.slice(0, bytes.at + 4);
  const sum = crc32(data.subarray(0, bytes.at));
  new DataView(data.buffer).setUint32(bytes.at, sum);
  return data;
}

function areMultiples({ numbers, whole }: Batch, scale: number): boolean {
  for (let first = 0; first < numbers.length; first += width) {
    if (whole.has(first / width)) continue;
    for (let nth = 0; nth < column.took_ms; nth += 1)
      if ((numbers[first + nth] ?? 0) > maxNumber) return false;
    for (let nth = column.took_ms; nth < width; nth += 1) {
      const value = numbers[first + nth] ?? 0;
      const times = Math.round(value * scale);
      if (times > maxNumber || times / scale !== value) return false;
    }
  }
  return true;
}

const opening = Buffer.from('"others":[');
const closing = Buffer.from(']}');

/** The text between the brackets of its last list. */
function othersIn(sent: Uint8Array): Uint8Array | undefined {
  const text = Buffer.from(sent.buffer, sent.byteOffset, sent.byteLength);
  const from = text.indexOf(opening);
  const end = text.length - closing.length;
  if (from < 0 || !text.subarray(end).equals(closing)) return undefined;
  return text.subarray(from + opening.length, end);
}

function isTextOf(
  packed: Uint8Array,
  sent: Uint8Array,
  batch: Batch,
  keys: ArrayLike<number>,
): boolean {
  const ids = new Map<number, string>();
  for (const [place, id] of batch.monitors.entries()) ids.set(keys[place] ?? 0, id);
  const bytes = { data: packed, at: 1 };
  readUnknown(bytes);
  // That what was deflated can be inflated need not be tried.
  const others = () => Buffer.from(othersIn(sent) ?? []).toString();
  const text = numbersText(bytes, batch, (key) => ids.get(key) ?? '', others);
  return Buffer.from(text.buffer, text.byteOffset, text.byteLength).equals(sent);
}

function packText(
  sent: Uint8Array,
  { monitors }: Batch,
  keys: ArrayLike<number>,
  unknown: ReadonlySet<number>,
): Uint8Array {
  const deflated = deflateRawSync(sent);
  const size = headBytes + (monitors.length + unknown.size) * 8 + deflated.length;
  const bytes = beginForm(forms.text, size);
  writeUnknown(bytes, [...monitors.keys()], unknown);
  writeVarint(bytes, monitors.length);
  for (let place = 0; place < monitors.length; place += 1) writeVarint(bytes, keys[place] ?? 0);
  add(bytes, deflated);
  return sealed(bytes);
}

function add(bytes: Bytes, more: Uint8Array): void {
  bytes.data.set(more, bytes.at);
  bytes.at += more.length;
}

function readText(bytes: Bytes, unknown: ReadonlySet<number>, taken: Taken): string | null {
  const keys = readKeys(bytes);
  const text = inflateRawSync(bytes.data.subarray(bytes.at)).toString();
  const batch = readBatch(JSON.parse(text));
  if (!batch) return 'its text is no batch';
  takeBatch(batch, keys, unknown, taken);
  return null;
}

function readNumbers(bytes: Bytes, unknown: ReadonlySet<number>, taken: Taken): string | null {
  readHead(bytes);
  let passes = 0;
  readPasses(bytes, (key, id, numbers) => {
    if (id === undefined) takePass(taken, key, numbers, unknown.has(passes));
    passes += 1;
  });
  const { keys, text } = readOthers(bytes);
  if (keys.length === 0) return null;
  const read = kept.array().safeParse(JSON.parse(`[${text}]`));
  if (!read.success) return 'its other results have not the form of results';
  for (const [nth, result] of read.data.entries()) {
    const key = keys[nth] ?? 0;
    if (key !== 0) takeOther(taken, key, result, unknown.has(passes + nth));
  }
  return null;
}

function takeOther({ other }: Taken, key: number, result: Other, isUnknown: boolean): void {
  other(key, isUnknown ? { ...result, outcome: 'unknown' } : result);
}

function takePass(
  { pass }: Taken,
  key: number,
  numbers: ArrayLike<number>,
  isUnknown: boolean,
  first = 0,
): void {
  pass(
    key,
    numbers[first + column.at] ?? 0,
    numbers[first + column.took_ms] ?? 0,
    numbers[first + column.dns] ?? noPhase,
    numbers[first + column.tcp] ?? noPhase,
    numbers[first + column.tls] ?? noPhase,
    numbers[first + column.first_byte] ?? noPhase,
    numbers[first + column.total] ?? noPhase,
    isUnknown ? 'unknown' : 'ok',
  );
}

function readKeys(bytes: Bytes): number[] {
  return Array.from({ length: readVarint(bytes) }, () => readVarint(bytes));
}

function readHead(bytes: Bytes): Pick<Head, 'generation' | 'after'> {
  const generation = readId(bytes);
  const after = readVarint(bytes) - 1;
  return { generation, after: after < 0 ? null : after };
}

/** @param each with the id instead of the key when the result was not taken. */
function readPasses(
  bytes: Bytes,
  each: (key: number, id: string | undefined, numbers: Float64Array) => void,
): void {
  const scale = readVarint(bytes);
  const count = readVarint(bytes);
  const numbers = new Float64Array(width);
  let [key, seq, version, at] = [0, 0, 0, 0];
  for (let nth = 0; nth < count && bytes.at < bytes.data.length; nth += 1) {
    const moved = readVarint(bytes);
    const id = moved === 0 ? readId(bytes) : undefined;
    if (moved > 0) key += unzigzag(moved - 1);
    seq += unzigzag(readVarint(bytes));
    version += unzigzag(readVarint(bytes));
    at += unzigzag(readVarint(bytes));
    const took = readVarint(bytes);
    numbers[column.seq] = seq;
    numbers[column.config_version] = version;
    numbers[column.at] = at;
    numbers[column.took_ms] = took / scale;
    for (let phase = column.dns; phase < column.total; phase += 1) {
      const times = readVarint(bytes);
      numbers[phase] = times === 0 ? noPhase : (times - 1) / scale;
    }
    const total = readVarint(bytes);
    numbers[column.total] = total === 0 ? noPhase : (took + unzigzag(total - 1)) / scale;
    each(key, id, numbers);
  }
}

function readOthers(bytes: Bytes): { readonly keys: readonly number[]; readonly text: string } {
  const keys = readKeys(bytes);
  if (keys.length === 0) return { keys, text: '' };
  return { keys, text: inflateRawSync(bytes.data.subarray(bytes.at)).toString() };
}

function writeId(bytes: Bytes, id: string): void {
  const hex = id.replaceAll('-', '');
  for (let nth = 0; nth < idBytes; nth += 1)
    bytes.data[bytes.at + nth] = Number.parseInt(hex.slice(2 * nth, 2 * nth + 2), 16);
  bytes.at += idBytes;
}

function readId(bytes: Bytes): string {
  const { data, at } = bytes;
  bytes.at += idBytes;
  const hex = Buffer.from(data.subarray(at, bytes.at)).toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
