import { isRecord } from '../base/json.ts';
import { outcomes, type Phases, type Result } from '../checks/result.ts';
import { batchMessage, batchVersion, maxResults, resultMessage } from './messages.ts';

/**
 * A batch of results as it is worked on. Nearly all are passes of which nothing but numbers
 * matters: they stand in one array, because an object for each would cost more than all that is
 * done with it. A result is named by its place in the batch.
 */
export type Batch = {
  readonly probe: string;
  readonly generation: string;
  readonly partition: number;
  readonly after: number | null;
  /** Whose results these are, in order of seq. */
  readonly monitors: readonly string[];
  /** `width` numbers for each of them, in the order of `Column`. */
  readonly numbers: readonly number[];
  /** What is more than a plain pass, by its place. */
  readonly whole: ReadonlyMap<number, Result>;
};

/** Where each number of a result stands. A phase that there is none of is `noPhase`. */
export const column = {
  seq: 0,
  config_version: 1,
  at: 2,
  took_ms: 3,
  dns: 4,
  tcp: 5,
  tls: 6,
  first_byte: 7,
  total: 8,
} as const;
export const width = 9;
export const noPhase = -1;

export function seqAt(batch: Batch, place: number): number {
  return numberAt(batch, place, column.seq);
}

function numberAt({ numbers }: Batch, place: number, nth: number): number {
  return numbers[place * width + nth] ?? 0;
}

export function versionAt(batch: Batch, place: number): number {
  return numberAt(batch, place, column.config_version);
}

export function startAt(batch: Batch, place: number): number {
  return numberAt(batch, place, column.at);
}

export function tookAt(batch: Batch, place: number): number {
  return numberAt(batch, place, column.took_ms);
}

export function lastSeqOf(batch: Batch): number {
  return seqAt(batch, batch.monitors.length - 1);
}

/**
 * Whether it is nothing but a pass with its times: nobody asked for it, and it has nothing to show.
 */
export function isRoutine({
  outcome,
  cause,
  evidence,
  look: recheck,
  other_looks,
  phases,
  warnings,
  certificate,
  served,
}: Omit<Result, 'seq'>): boolean {
  return (
    outcome === 'ok' &&
    cause === null &&
    evidence === null &&
    recheck === null &&
    other_looks === undefined &&
    warnings === undefined &&
    certificate === undefined &&
    served === undefined &&
    phases !== null
  );
}

/** The result at a place, as an object. */
export function resultAt(batch: Batch, place: number): Result {
  const whole = batch.whole.get(place);
  if (whole) return whole;
  const phase = (nth: number): number | null => {
    const value = numberAt(batch, place, nth);
    return value === noPhase ? null : value;
  };
  const phases: Phases = {
    dns: phase(column.dns),
    tcp: phase(column.tcp),
    tls: phase(column.tls),
    first_byte: phase(column.first_byte),
    total: phase(column.total),
  };
  return {
    seq: seqAt(batch, place),
    monitor: batch.monitors[place] ?? '',
    config_version: versionAt(batch, place),
    at: startAt(batch, place),
    took_ms: tookAt(batch, place),
    outcome: 'ok',
    cause: null,
    phases,
    evidence: null,
    look: null,
  };
}

export type Head = Pick<Batch, 'probe' | 'generation' | 'partition' | 'after'>;

/** A batch of these results, which are in order of seq. */
export function batchOf(
  { probe, generation, partition, after }: Head,
  results: readonly Result[],
): Batch {
  const monitors: string[] = [];
  const numbers: number[] = [];
  const whole = new Map<number, Result>();
  for (const result of results) {
    if (!isRoutine(result)) whole.set(monitors.length, result);
    add(result, monitors, numbers);
  }
  return { probe, generation, partition, after, monitors, numbers, whole };
}

/** Appends a result. */
function add(result: Result, monitors: string[], numbers: number[]): void {
  const { seq, config_version, at, took_ms, phases } = result;
  monitors.push(result.monitor);
  numbers.push(seq, config_version, at, took_ms);
  if (phases === null) numbers.push(noPhase, noPhase, noPhase, noPhase, noPhase);
  else
    numbers.push(
      phases.dns ?? noPhase,
      phases.tcp ?? noPhase,
      phases.tls ?? noPhase,
      phases.first_byte ?? noPhase,
      phases.total ?? noPhase,
    );
}

type Passes = Pick<Batch, 'monitors' | 'numbers'>;
const nothing: ReadonlyMap<number, Result> = new Map();

/** A batch of plain passes and of other results, each in order of seq. */
function batchOfBoth(
  { probe, generation, partition, after }: Head,
  passes: Passes,
  others: readonly Result[],
): Batch {
  if (others.length === 0)
    return { probe, generation, partition, after, ...passes, whole: nothing };
  const monitors: string[] = [];
  const numbers: number[] = [];
  const whole = new Map<number, Result>();
  let next = 0;
  const addOthersBefore = (seq: number): void => {
    for (let other = others[next]; other && other.seq < seq; other = others[next]) {
      if (!isRoutine(other)) whole.set(monitors.length, other);
      add(other, monitors, numbers);
      next += 1;
    }
  };
  for (const [place, monitor] of passes.monitors.entries()) {
    const its = passes.numbers.slice(place * width, (place + 1) * width);
    addOthersBefore(its[column.seq] ?? 0);
    monitors.push(monitor);
    numbers.push(...its);
  }
  addOthersBefore(Number.POSITIVE_INFINITY);
  return { probe, generation, partition, after, monitors, numbers, whole };
}

/**
 * The batch, or undefined when it has not the form of one. What nearly all batches are is checked
 * by hand, because a coordinator that catches up feels it: by the schema alone it takes 7.3 µs of
 * CPU for a row, and so 5.8 µs. A test compares both.
 */
export function readBatch(value: unknown): Batch | undefined {
  if (
    isRecord(value) &&
    hasOnly(value, 7) &&
    isHead(value) &&
    arePasses(value.passes) &&
    Array.isArray(value.others)
  ) {
    const { passes } = value;
    if (!isCount(passes.monitors.length + value.others.length)) return undefined;
    const others = readOthers(value.others);
    return others && batchOfBoth(value, passes, others);
  }
  const { success, data } = batchMessage.safeParse(value);
  if (!success || !fits(data.passes) || !isCount(data.passes.monitors.length + data.others.length))
    return undefined;
  return batchOfBoth(data, data.passes, data.others);
}

function hasOnly(value: object, count: number): boolean {
  let found = 0;
  for (const _ in value) found += 1;
  return found === count;
}

function isHead<Value extends Readonly<Record<string, unknown>>>(
  value: Value,
): value is Value & Head {
  return (
    value.v === batchVersion &&
    isId(value.probe) &&
    isId(value.generation) &&
    isWhole(value.partition, 0) &&
    value.partition <= 31 &&
    (value.after === null || isWhole(value.after, 1))
  );
}

/**
 * Reads batches, the one message that comes ten thousand times a second. What plainly has the form
 * that our own reporters write is parsed by hand, in a tenth of the time; whatever else comes is
 * for the schema to judge. A test holds that the two never disagree.
 */
const id = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

function isId(value: unknown): value is string {
  return typeof value === 'string' && id.test(value);
}

function isWhole(value: unknown, least: number): value is number {
  return Number.isSafeInteger(value) && isNumber(value, least);
}

function isNumber(value: unknown, least: number): boolean {
  return typeof value === 'number' && value >= least && value < Number.POSITIVE_INFINITY;
}

type BatchReadingPasses = Pick<Batch, 'monitors' | 'numbers'>;

function arePasses(value: unknown): value is BatchReadingPasses {
  return (
    isRecord(value) &&
    hasOnly(value, 2) &&
    Array.isArray(value.monitors) &&
    Array.isArray(value.numbers) &&
    value.monitors.length <= maxResults &&
    value.monitors.every(isId) &&
    fits({ monitors: value.monitors, numbers: value.numbers })
  );
}

function fits({
  monitors,
  numbers,
}: {
  readonly monitors: readonly unknown[];
  readonly numbers: readonly unknown[];
}): boolean {
  return numbers.length === monitors.length * width && arePassNumbers(numbers);
}

/**
 * Whether the numbers of plain passes, `width` for each, lie between the bounds that the schema of
 * a result sets.
 */
function arePassNumbers(numbers: readonly unknown[]): boolean {
  for (let from = 0; from < numbers.length; from += width) {
    const isTold =
      isWhole(numbers[from + column.seq], 1) &&
      isWhole(numbers[from + column.config_version], 1) &&
      isWhole(numbers[from + column.at], 0) &&
      isNumber(numbers[from + column.took_ms], 0);
    if (!isTold) return false;
    for (let nth = from + column.dns; nth < from + width; nth += 1)
      if (numbers[nth] !== noPhase && !isNumber(numbers[nth], 0)) return false;
  }
  return true;
}

function isCount(count: number): boolean {
  return count >= 1 && count <= maxResults;
}

/**
 * Results that are more than passes cost their schema, but not that of all the others in the batch.
 */
function readOthers(values: readonly unknown[]): readonly Result[] | undefined {
  const others: Result[] = [];
  for (const value of values) {
    if (isPass(value)) others.push(value);
    else {
      const read = resultMessage.safeParse(value);
      if (!read.success) return undefined;
      others.push(read.data);
    }
  }
  return others;
}

/**
 * A pass that nobody asked for: by far the most. What failed has a cause and evidence, which the
 * schema reads.
 */
function isPass(value: unknown): value is Result {
  return (
    isRecord(value) &&
    hasOnly(value, 10) &&
    value.outcome === outcomes[0] &&
    value.cause === null &&
    value.evidence === null &&
    value.look === null &&
    isWhole(value.seq, 1) &&
    isId(value.monitor) &&
    isWhole(value.config_version, 1) &&
    isWhole(value.at, 0) &&
    isNumber(value.took_ms, 0) &&
    arePhases(value.phases)
  );
}

function arePhases(value: unknown): boolean {
  return (
    value === null ||
    (isRecord(value) &&
      hasOnly(value, 5) &&
      isPhase(value.dns) &&
      isPhase(value.tcp) &&
      isPhase(value.tls) &&
      isPhase(value.first_byte) &&
      isPhase(value.total))
  );
}

function isPhase(value: unknown): boolean {
  return value === null || isNumber(value, 0);
}

/**
 * Batches as they are written. Each result has a text of its own, so that whoever sends them has
 * only to join these: that of a plain pass is the array of its monitor and its numbers, that of any
 * other the whole result as an object.
 */
export function wholeText(seq: number, result: Omit<Result, 'seq'>): string {
  return `{"seq":${seq},${JSON.stringify(result).slice(1)}`;
}

/** The short text of a plain pass; undefined for what is more than that. */
export function passText(seq: number, result: Omit<Result, 'seq'>): string | undefined {
  const { monitor, config_version, at, took_ms, phases } = result;
  if (phases === null || !isRoutine(result)) return undefined;
  const { dns, tcp, tls, first_byte, total } = phases;
  const told = [
    dns ?? noPhase,
    tcp ?? noPhase,
    tls ?? noPhase,
    first_byte ?? noPhase,
    total ?? noPhase,
  ];
  return JSON.stringify([monitor, seq, config_version, at, took_ms, ...told]);
}

/** The body of a batch of these results, in order of seq. */
export function batchText(
  { probe, generation, partition, after }: Head,
  texts: readonly string[],
): string {
  const short = texts.filter(isShort);
  // A monitor's id has no comma.
  const monitors = short.map((text) => text.slice(1, text.indexOf(','))).join(',');
  const numbers = short.map((text) => text.slice(text.indexOf(',') + 1, -1)).join(',');
  const others = texts.filter((text) => !isShort(text)).join(',');
  return joinedText({ probe, generation, partition, after }, monitors, numbers, others);
}

function isShort(text: string): boolean {
  return text.startsWith('[');
}

/** The body of a batch, of the texts of its lists. */
export function joinedText(
  { probe, generation, partition, after }: Head,
  monitors: string,
  numbers: string,
  others: string,
): string {
  const head = `{"v":${batchVersion},"probe":"${probe}","generation":"${generation}","partition":${partition},"after":${after}`;
  return `${head},"passes":{"monitors":[${monitors}],"numbers":[${numbers}]},"others":[${others}]}`;
}
