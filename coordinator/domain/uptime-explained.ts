import { clip, type Interval, subtract, union } from '../../shared/base/time.ts';

export const states = ['paused', 'maintenance', 'down', 'unknown', 'up'] as const;
export type State = (typeof states)[number];

/** What made a stretch count as it does; a gap has no more to tell, and time that is up needs no cause. */
export type Cause =
  | { readonly is: 'pause' }
  | { readonly is: 'window'; readonly id: string; readonly name: string | null }
  | { readonly is: 'incident'; readonly id: string }
  | { readonly is: 'gap' };

export type Caused = Interval & { readonly cause: Cause };

export type Stretch = Interval & { readonly state: State; readonly cause: Cause | null };

/** As uptime() takes it, each interval with its cause. */
export type ExplainedInput = {
  readonly window: Interval;
  readonly created_at: number;
  readonly paused: readonly Caused[];
  readonly cover: readonly Caused[];
  readonly down: readonly Caused[];
  readonly unknown: readonly Caused[];
};

/** Sorted and disjoint; where two overlap, the one that began first has the time. */
const inTurn = (given: readonly Caused[]): Caused[] => {
  const turn: Caused[] = [];
  let covered = Number.NEGATIVE_INFINITY;
  for (const each of given.toSorted((a, b) => a.from - b.from || a.to - b.to)) {
    const from = Math.max(each.from, covered);
    if (from < each.to) turn.push({ ...each, from });
    covered = Math.max(covered, each.to);
  }
  return turn;
};

/** The parts of `given` that lie in `left`; both sorted and disjoint. */
const partsIn = (left: readonly Interval[], given: readonly Caused[]): Caused[] => {
  const parts: Caused[] = [];
  let first = 0;
  for (const each of given) {
    while (first < left.length && (left[first]?.to ?? 0) <= each.from) first += 1;
    for (let place = first; place < left.length; place += 1) {
      const free = left[place];
      if (!free || free.from >= each.to) break;
      parts.push({ ...each, from: Math.max(each.from, free.from), to: Math.min(each.to, free.to) });
    }
  }
  return parts;
};

/** Rule 43: the stretches behind the sum of rule 21, in order of time, without a hole from the later of creation and the window's start until its end. */
export const explained = ({ window, created_at, paused, cover, down, unknown }: ExplainedInput): Stretch[] => {
  const whole = { from: Math.max(window.from, created_at), to: window.to };
  let left = union([whole]);
  const stretches: Stretch[] = [];
  const claims = [
    ['paused', paused],
    ['maintenance', cover],
    ['down', down],
    ['unknown', unknown],
  ] as const;
  for (const [state, intervals] of claims) {
    const claimed = inTurn(intervals);
    for (const part of partsIn(left, claimed)) stretches.push({ from: part.from, to: part.to, state, cause: part.cause });
    left = subtract(left, union(clip(claimed, whole)));
  }
  for (const { from, to } of left) stretches.push({ from, to, state: 'up', cause: null });
  return stretches.toSorted((a, b) => a.from - b.from);
};
