import type { Phases, Result } from '../checks/checks-result.ts';

/**
 * A batch of results as it is worked on. Nearly all are passes of which nothing but numbers matters: they stand in one array, because an object
 * for each would cost more than all that is done with it. A result is named by its place in the batch.
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
export const column = { seq: 0, config_version: 1, at: 2, took_ms: 3, dns: 4, tcp: 5, tls: 6, first_byte: 7, total: 8 } as const;
export const width = 9;
export const noPhase = -1;

const numberAt = ({ numbers }: Batch, place: number, nth: number): number => numbers[place * width + nth] ?? 0;
export const seqAt = (batch: Batch, place: number): number => numberAt(batch, place, column.seq);
export const versionAt = (batch: Batch, place: number): number => numberAt(batch, place, column.config_version);
export const startAt = (batch: Batch, place: number): number => numberAt(batch, place, column.at);
export const tookAt = (batch: Batch, place: number): number => numberAt(batch, place, column.took_ms);
/** A phase by its column; NaN when there is none of it, or when the result is no plain pass. */
export const phaseAt = (batch: Batch, place: number, nth: number): number => {
  const value = numberAt(batch, place, nth);
  return value === noPhase ? Number.NaN : value;
};

export const lastSeqOf = (batch: Batch): number => seqAt(batch, batch.monitors.length - 1);

/** Whether it is nothing but a pass with its times: nobody asked for it, and it has nothing to show. */
export const isPlain = ({ outcome, cause, evidence, look, other_looks, phases }: Omit<Result, 'seq'>): boolean =>
  outcome === 'ok' && cause === null && evidence === null && look === null && other_looks === undefined && phases !== null;

const phaseOf = (value: number): number | null => (value === noPhase ? null : value);

/** The result at a place, as an object. */
export const resultAt = (batch: Batch, place: number): Result => {
  const whole = batch.whole.get(place);
  if (whole) return whole;
  const [seq = 0, config_version = 0, at = 0, took_ms = 0, dns = 0, tcp = 0, tls = 0, first_byte = 0, total = 0] = batch.numbers.slice(
    place * width,
    (place + 1) * width,
  );
  const phases: Phases = {
    dns: phaseOf(dns),
    tcp: phaseOf(tcp),
    tls: phaseOf(tls),
    first_byte: phaseOf(first_byte),
    total: phaseOf(total),
  };
  const monitor = batch.monitors[place] ?? '';
  return { seq, monitor, config_version, at, took_ms, outcome: 'ok', cause: null, phases, evidence: null, look: null };
};

/** Puts a result behind those that are there. */
const add = (result: Result, monitors: string[], numbers: number[]): void => {
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
};

type Head = Pick<Batch, 'probe' | 'generation' | 'partition' | 'after'>;

/** A batch of these results, which are in order of seq. */
export const batchOf = ({ probe, generation, partition, after }: Head, results: readonly Result[]): Batch => {
  const monitors: string[] = [];
  const numbers: number[] = [];
  const whole = new Map<number, Result>();
  for (const result of results) {
    if (!isPlain(result)) whole.set(monitors.length, result);
    add(result, monitors, numbers);
  }
  return { probe, generation, partition, after, monitors, numbers, whole };
};

type Passes = Pick<Batch, 'monitors' | 'numbers'>;
const nothing: ReadonlyMap<number, Result> = new Map();

/** A batch of plain passes and of other results, each in order of seq. */
export const batchOfBoth = ({ probe, generation, partition, after }: Head, passes: Passes, others: readonly Result[]): Batch => {
  if (others.length === 0) return { probe, generation, partition, after, ...passes, whole: nothing };
  const monitors: string[] = [];
  const numbers: number[] = [];
  const whole = new Map<number, Result>();
  let next = 0;
  const addOthersBefore = (seq: number): void => {
    for (let other = others[next]; other && other.seq < seq; other = others[next]) {
      if (!isPlain(other)) whole.set(monitors.length, other);
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
};
