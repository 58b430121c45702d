import { subtract } from '../../shared/base/time.ts';
import type { Effect, Gap, MonitorState, Watched } from './types.ts';

/**
 * Unknown time (rule 22) is time that no usable result covers. A result covers two intervals plus
 * the timeout from its start. So the order in which results arrive makes no difference: a late
 * original takes its time out of a gap that was written before.
 */
export function allowedSilence({
  interval_ms,
  timeout_ms,
}: Pick<Watched, 'interval_ms' | 'timeout_ms'>): number {
  return 2 * interval_ms + timeout_ms;
}

type Covered = Pick<MonitorState, 'covered_until' | 'gaps'>;
type Change = { readonly covered: Covered; readonly effects: readonly Effect[] };

/** Time from `from` to `to` was observed. */
export function cover(
  state: Covered & { readonly watched: Watched },
  from: number,
  to: number,
): Change {
  const { covered_until, gaps, watched } = state;
  const last = gaps.at(-1);
  // Nearly every result: it continues the covered time and touches no gap.
  if (from <= covered_until && (!last || (last.to !== null && last.to <= from)))
    return { covered: { covered_until: Math.max(covered_until, to), gaps }, effects: [] };
  const open = gaps.findLast((gap) => gap.to === null);
  const tail = open?.from ?? covered_until;
  const closed = gaps.filter((gap) => gap.to !== null);
  const left = subtract(
    [
      ...closed.map((gap) => ({ from: gap.from, to: gap.to ?? gap.from })),
      { from: tail, to: Number.POSITIVE_INFINITY },
    ],
    [{ from, to }],
  );
  const end = left.at(-1)?.from ?? tail;
  const intervalAt = (time: number) =>
    gaps.find((gap) => gap.from <= time && (gap.to === null || time < gap.to))?.interval_ms ??
    watched.interval_ms;
  const after: Gap[] = left
    .filter(({ to: until }) => Number.isFinite(until))
    .map((gap) => ({ from: gap.from, to: gap.to, interval_ms: intervalAt(gap.from) }));
  if (open && end === open.from) after.push(open);
  return { covered: { covered_until: end, gaps: after }, effects: changed(gaps, after) };
}

function changed(before: readonly Gap[], after: readonly Gap[]): Effect[] {
  const put = after
    .filter((gap) => !before.some(({ from, to }) => from === gap.from && to === gap.to))
    .map(row);
  const drop = before
    .filter((gap) => !after.some(({ from }) => from === gap.from))
    .map(({ from }) => from);
  return put.length + drop.length > 0 ? [{ is: 'ledger', kind: 'unknown', put, drop }] : [];
}

function row({ from, to, interval_ms }: Gap) {
  return { began_at: from, ended_at: to, interval_ms };
}

/**
 * From this time on earlier results say nothing: until the next check the status is unknown (rule
 * 18).
 */
export function forgetFrom(state: Covered & { readonly watched: Watched }, at: number): Change {
  const { covered_until, gaps, watched } = state;
  if (gaps.some((gap) => gap.to === null)) return { covered: { covered_until, gaps }, effects: [] };
  // A result that did not know of the change ended a gap that ends later.
  const reopened = gaps.find((gap) => gap.to !== null && gap.to > at);
  const open = {
    from: Math.min(reopened?.from ?? covered_until, at),
    to: null,
    interval_ms: reopened?.interval_ms ?? watched.interval_ms,
  };
  const after = [...gaps.filter((gap) => gap.from < open.from), open];
  return { covered: { covered_until: open.from, gaps: after }, effects: changed(gaps, after) };
}

/**
 * A gap is written a little after it began, because results take time to arrive. Its start is exact
 * all the same.
 */
export const gapNoticed = 5_000;

/** Older gaps are history: no original arrives so late. */
const remembered = 8 * 86_400_000;

/**
 * Time has come to `now`: a gap opens where covered time ended, and old gaps are forgotten (here,
 * not in the ledger).
 */
export function passTime(state: Covered & { readonly watched: Watched }, now: number): Change {
  const { covered_until, gaps, watched } = state;
  const kept = gaps.some((gap) => gap.to !== null && gap.to < now - remembered)
    ? gaps.filter((gap) => gap.to === null || gap.to >= now - remembered)
    : gaps;
  if (now < covered_until + gapNoticed || kept.some((gap) => gap.to === null))
    return { covered: { covered_until, gaps: kept }, effects: [] };
  const after = [...kept, { from: covered_until, to: null, interval_ms: watched.interval_ms }];
  return { covered: { covered_until, gaps: after }, effects: changed(kept, after) };
}
