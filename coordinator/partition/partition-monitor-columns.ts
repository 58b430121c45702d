import type { Outage } from '../domain/decision-types.ts';

/** The numbers of a partition's monitors that are well, a column for each. */

/** What a monitor that is well is told by. */
export const columnNames = [
  'key',
  'target',
  'version',
  'changedAt',
  'due',
  'created',
  'paused',
  'clock',
  'covered',
  'from',
  'ping',
  'downFrom',
  'downTo',
] as const;
export type Column = (typeof columnNames)[number];

export const noTime = Number.NaN;
export const timeOf = (value: number | undefined): number | null => (value === undefined || Number.isNaN(value) ? null : value);

export const outageOf = (from: number | undefined, to: number | undefined): Outage | null => {
  const [began, ended] = [timeOf(from), timeOf(to)];
  return began === null || ended === null ? null : { from: began, to: ended };
};

export const makeColumns = (length: number): Record<Column, Float64Array> => ({
  key: new Float64Array(length),
  target: new Float64Array(length),
  version: new Float64Array(length),
  changedAt: new Float64Array(length),
  due: new Float64Array(length).fill(Number.POSITIVE_INFINITY),
  created: new Float64Array(length),
  paused: new Float64Array(length),
  clock: new Float64Array(length),
  covered: new Float64Array(length),
  from: new Float64Array(length),
  ping: new Float64Array(length),
  downFrom: new Float64Array(length).fill(noTime),
  downTo: new Float64Array(length).fill(noTime),
});
