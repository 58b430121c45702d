import { isRecord } from '../base/json-record.ts';
import { outcomes, type Result } from '../checks/checks-result.ts';
import { type Batch, batchOf, batchOfBoth, column, noPhase, width } from './bus-batch.ts';
import { type BatchMessage, batchMessage, denseBatchMessage, mostResults, resultMessage } from './bus-messages.ts';

/**
 * Reads batches, the one message that comes ten thousand times a second. What plainly has the form that our own reporters write is told by
 * hand, in a tenth of the time; whatever else comes is for the schema to judge. A test holds that the two never disagree.
 */
const id = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

const isId = (value: unknown): value is string => typeof value === 'string' && id.test(value);
const isNumber = (value: unknown, least: number): boolean =>
  typeof value === 'number' && value >= least && value < Number.POSITIVE_INFINITY;
const isWhole = (value: unknown, least: number): value is number => Number.isSafeInteger(value) && isNumber(value, least);
const isPhase = (value: unknown): boolean => value === null || isNumber(value, 0);

const hasOnly = (value: object, count: number): boolean => {
  let found = 0;
  for (const _ in value) found += 1;
  return found === count;
};

const arePhases = (value: unknown): boolean =>
  value === null ||
  (isRecord(value) &&
    hasOnly(value, 5) &&
    isPhase(value.dns) &&
    isPhase(value.tcp) &&
    isPhase(value.tls) &&
    isPhase(value.first_byte) &&
    isPhase(value.total));

/** A pass that nobody asked for: by far the most. What failed has a cause and evidence, which the schema reads. */
const isPass = (value: unknown): value is Result =>
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
  arePhases(value.phases);

type Head = Pick<Batch, 'probe' | 'generation' | 'partition' | 'after'>;

const isHead = <Value extends Readonly<Record<string, unknown>>>(value: Value): value is Value & Head =>
  isId(value.probe) &&
  isId(value.generation) &&
  isWhole(value.partition, 0) &&
  value.partition <= 31 &&
  (value.after === null || isWhole(value.after, 1));

const isPlainBatch = (value: unknown): value is BatchMessage =>
  isRecord(value) &&
  hasOnly(value, 6) &&
  value.v === 1 &&
  isHead(value) &&
  Array.isArray(value.results) &&
  value.results.length >= 1 &&
  value.results.length <= mostResults &&
  value.results.every(isPass);

/** Whether the numbers of plain passes, `width` for each, lie between the bounds that the schema of a result sets. */
const arePassNumbers = (numbers: readonly unknown[]): boolean => {
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
};

type Passes = Pick<Batch, 'monitors' | 'numbers'>;

const fits = ({ monitors, numbers }: { readonly monitors: readonly unknown[]; readonly numbers: readonly unknown[] }): boolean =>
  numbers.length === monitors.length * width && arePassNumbers(numbers);

const arePasses = (value: unknown): value is Passes =>
  isRecord(value) &&
  hasOnly(value, 2) &&
  Array.isArray(value.monitors) &&
  Array.isArray(value.numbers) &&
  value.monitors.length <= mostResults &&
  value.monitors.every(isId) &&
  fits({ monitors: value.monitors, numbers: value.numbers });

/** Results that are more than passes cost their schema, but not that of all the others in the batch. */
const readOthers = (values: readonly unknown[]): readonly Result[] | undefined => {
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
};

const isCount = (count: number): boolean => count >= 1 && count <= mostResults;

const readDense = (value: unknown): Batch | undefined => {
  if (isRecord(value) && hasOnly(value, 7) && isHead(value) && arePasses(value.passes) && Array.isArray(value.others)) {
    const { passes } = value;
    if (!isCount(passes.monitors.length + value.others.length)) return undefined;
    const others = readOthers(value.others);
    return others && batchOfBoth(value, passes, others);
  }
  const { success, data } = denseBatchMessage.safeParse(value);
  if (!success || !fits(data.passes) || !isCount(data.passes.monitors.length + data.others.length)) return undefined;
  return batchOfBoth(data, data.passes, data.others);
};

/** The batch, or undefined when it has not the form of one. */
export const readBatch = (value: unknown): Batch | undefined => {
  if (isPlainBatch(value)) return batchOf(value, value.results);
  if (isRecord(value) && value.v === 2) return readDense(value);
  const { success, data } = batchMessage.safeParse(value);
  return success ? batchOf(data, data.results) : undefined;
};
