import { isRecord } from '../base/record.ts';
import { outcomes } from '../checks/result.ts';
import { type BatchMessage, batchMessage } from './messages.ts';

/**
 * Reads batches, the one message that comes ten thousand times a second. What plainly has the form that our own reporters write is told by
 * hand, in a tenth of the time; whatever else comes is for the schema to judge. A test holds that the two never disagree.
 */
const id = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

const isId = (value: unknown): boolean => typeof value === 'string' && id.test(value);
const isNumber = (value: unknown, least: number): boolean =>
  typeof value === 'number' && value >= least && value < Number.POSITIVE_INFINITY;
const isWhole = (value: unknown, least: number): boolean => Number.isSafeInteger(value) && isNumber(value, least);
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
const isPass = (value: unknown): boolean =>
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

const isPlainBatch = (value: unknown): value is BatchMessage =>
  isRecord(value) &&
  hasOnly(value, 6) &&
  value.v === 1 &&
  isId(value.probe) &&
  isId(value.generation) &&
  isWhole(value.partition, 0) &&
  Number(value.partition) <= 31 &&
  (value.after === null || isWhole(value.after, 1)) &&
  Array.isArray(value.results) &&
  value.results.length >= 1 &&
  value.results.length <= 500 &&
  value.results.every(isPass);

/** The batch, or undefined when it has not the form of one. */
export const readBatch = (value: unknown): BatchMessage | undefined => {
  if (isPlainBatch(value)) return value;
  const read = batchMessage.safeParse(value);
  return read.success ? read.data : undefined;
};
