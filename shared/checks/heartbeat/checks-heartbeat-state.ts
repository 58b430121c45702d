import type { PingCall } from './checks-heartbeat-address.ts';

/** One ping, as far as lateness is concerned. */
export type Ping = {
  readonly id: string;
  readonly kind: PingCall['kind'];
  readonly exit_code: number | null;
  readonly at: number;
  readonly rid: string | null;
};

export type Mark = { readonly id: string; readonly at: number; readonly exit_code: number | null };

/** A run by its `rid`; runs without one are all the same run. */
export type Run = { readonly rid: string | null; readonly at: number };

/**
 * What the pings of one monitor come to: all that its deadline depends on. It is the last value on the bus and in the database, whatever
 * became of the pings themselves, and small however many there were.
 */
export type PingState = {
  readonly v: 1;
  /** The version of the monitor's config that it counts under, as far as it is known, and whether the monitor is paused. */
  readonly terms: number | null;
  readonly paused: boolean;
  /** Nothing before this instant counts: when the monitor was resumed, or its terms were changed. */
  readonly from: number | null;
  readonly good: Mark | null;
  readonly bad: Mark | null;
  /** Which of the two came last; times cannot tell when both fell into one millisecond. */
  readonly latest: 'good' | 'bad' | null;
  /** Begins of runs that have not ended, oldest first. */
  readonly open: readonly Run[];
  /** Runs that ended lately, by the time of their end: a start that arrives after its own end is none. */
  readonly ended: readonly Run[];
};

export const noPings: PingState = {
  v: 1,
  terms: null,
  paused: false,
  from: null,
  good: null,
  bad: null,
  latest: null,
  open: [],
  ended: [],
};

/** More runs at once than this are not told apart: the oldest are forgotten, but for the one that the first deadline counts from. */
const mostRuns = 16;

const mostOf = (open: readonly Run[], good: Mark | null): readonly Run[] => {
  if (open.length <= mostRuns) return open;
  return good === null ? [...open.slice(0, 1), ...open.slice(1 - mostRuns)] : open.slice(-mostRuns);
};

/**
 * Two ping receivers date the start and the end of one named run by clocks that differ a little: an end so little before its start is its end all the
 * same. Runs without a name are told apart by their times alone.
 */
const earsDiffer = 250;
const slack = (rid: string | null): number => (rid === null ? 0 : earsDiffer);

const sameRun = (rid: string | null) => (run: Run) => run.rid === rid;

/** A run that begins again without having ended is one more that has not ended: its first begin is what its limit counts from. */
const started = (state: PingState, { rid, at }: Run): PingState => {
  if (state.ended.some((run) => run.rid === rid && run.at + slack(rid) >= at)) return state;
  if (state.open.some((run) => run.rid === rid && run.at === at)) return state;
  const open = [...state.open, { rid, at }].toSorted((one, other) => one.at - other.at);
  return { ...state, open: mostOf(open, state.good) };
};

/**
 * The state after one more ping, and how long the run took that it ended. A repeat changes nothing; a ping that arrives late counts as
 * what it was then.
 */
export const foldPing = (state: PingState, ping: Ping): { readonly state: PingState; readonly run_ms: number | null } => {
  if (ping.kind === 'log' || ping.id === state.good?.id || ping.id === state.bad?.id) return { state, run_ms: null };
  if (ping.kind === 'start') return { state: started(state, ping), run_ms: null };

  const isOver = (run: Run): boolean => run.rid === ping.rid && run.at <= ping.at + slack(ping.rid);
  const run = state.open.findLast(isOver);
  const open = run ? state.open.filter((one) => !isOver(one)) : state.open;
  const lastEnd = Math.max(ping.at, state.ended.find(sameRun(ping.rid))?.at ?? 0);
  const ended = [...state.ended.filter((one) => one.rid !== ping.rid), { rid: ping.rid, at: lastEnd }].slice(-mostRuns);
  const mark: Mark = { id: ping.id, at: ping.at, exit_code: ping.exit_code };
  const side = ping.kind === 'success' ? 'good' : 'bad';
  const other = side === 'good' ? state.bad : state.good;
  const newer = mark.at >= (state[side]?.at ?? 0);
  const latest = newer && mark.at >= (other?.at ?? 0) ? side : state.latest;
  const next: PingState = { ...state, open, ended, latest, [side]: newer ? mark : state[side] };
  return { state: next, run_ms: run ? Math.max(0, ping.at - run.at) : null };
};

const latestOf = (good: Mark | null, bad: Mark | null, tie: PingState['latest']): PingState['latest'] => {
  if (good && bad) return good.at === bad.at ? tie : good.at > bad.at ? 'good' : 'bad';
  return good ? 'good' : bad ? 'bad' : null;
};

/** What is left without all that is dated later than that: the clock that dated it was wrong, and would hide what comes until then. */
export const notAfter = (state: PingState, latest: number): PingState => {
  const inTime = <Dated extends { readonly at: number }>(one: Dated | null): one is Dated => one !== null && one.at <= latest;
  const marks = [state.good, state.bad, ...state.open, ...state.ended];
  if (marks.every((mark) => mark === null || inTime(mark))) return state;
  const [good, bad] = [inTime(state.good) ? state.good : null, inTime(state.bad) ? state.bad : null];
  const [open, ended] = [state.open.filter(inTime), state.ended.filter(inTime)];
  return { ...state, good, bad, latest: latestOf(good, bad, state.latest), open, ended };
};

const laterOf = (a: Mark | null, b: Mark | null): Mark | null => (a !== null && (b === null || a.at >= b.at) ? a : b);

/** What two records of the same monitor say together, as after a bus was wiped: `known` from the database, `seen` on the bus since. */
export const mergePings = (known: PingState, seen: PingState): PingState => {
  const good = laterOf(seen.good, known.good);
  const bad = laterOf(seen.bad, known.bad);
  const ended = [...known.ended, ...seen.ended]
    .filter(
      (run, index, all) => !all.some((other, at) => other.rid === run.rid && (other.at > run.at || (other.at === run.at && at < index))),
    )
    .toSorted((a, b) => a.at - b.at)
    .slice(-mostRuns);
  const base: PingState = {
    v: 1,
    terms: known.terms === null || seen.terms === null ? (known.terms ?? seen.terms) : Math.max(known.terms, seen.terms),
    paused: seen.terms === null ? known.paused : seen.paused,
    from: known.from === null || seen.from === null ? (known.from ?? seen.from) : Math.max(known.from, seen.from),
    good,
    bad,
    latest: latestOf(good, bad, seen.latest ?? known.latest),
    open: [],
    ended,
  };
  return [...known.open, ...seen.open].reduce<PingState>(started, base);
};

/**
 * The state under the monitor's present terms. What changed them, and the end of a pause, give the job its whole time anew: silence that
 * was agreed is not held against it.
 */
export const underTerms = (state: PingState, terms: { readonly version: number; readonly paused: boolean }, now: number): PingState => {
  const { version, paused } = terms;
  if (state.terms !== null && state.terms > version) return state;
  if (state.terms === version && state.paused === paused) return state;
  const anew = (state.terms !== null && state.terms < version) || (state.paused && !paused);
  return { ...state, terms: version, paused, from: anew ? Math.max(now, state.from ?? 0) : state.from };
};
