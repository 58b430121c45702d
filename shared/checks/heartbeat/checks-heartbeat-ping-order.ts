import type { PingTerms } from './checks-heartbeat-config.ts';
import { judgePings } from './checks-heartbeat-deadline.ts';
import { foldPing, noPings, type Ping, type PingState } from './checks-heartbeat-state.ts';

/** The time up to a good ping, and since when it had gone wrong by then; null when it had not. */
export type Stretch = { readonly next_good_at: number; readonly fails_at: number | null };

/** Where a ping stands among the others in order of time (rule 20): ping receivers hand over what they kept, and databases come back, in any order. */
export type Place<Known extends Ping> = {
  /** Of a bad ping: since when it has gone wrong by then, which is a deadline if one had passed before it. Of others: when it came. */
  readonly began_at: number;
  /** The next good ping after it, as far as any is known. */
  readonly next_good_at: number | null;
  /** Of a good ping or a start: since when it had gone wrong by the next good one; null when it had not. */
  readonly fails_at: number | null;
  /** The same of the further good ones that the limit of a run that it begins reaches to. */
  readonly later: readonly Stretch[];
  /** Bad pings between it and the last of these good ones. */
  readonly bad: readonly Known[];
};

/** `known`: all pings of the monitor that are known, of any order; `from`: nothing before this instant counts (checks-heartbeat-state.ts). */
export const placeOf = <Known extends Ping>(
  ping: Ping,
  known: readonly Known[],
  from: PingState['from'],
  terms: PingTerms,
): Place<Known> => {
  const others = known.filter(({ id, at }) => id !== ping.id && at >= (from ?? 0)).toSorted((a, b) => a.at - b.at);
  const since = others.filter(({ at }) => at > ping.at);
  const next_good_at = since.find(({ kind }) => kind === 'success')?.at ?? null;
  // A run that began may be the one that lasted too long after any good ping, until the first one after its limit.
  const felt = ping.kind === 'start' ? ping.at + (terms.max_run_ms ?? 0) : ping.at;
  const last_good_at = since.find(({ kind, at }) => kind === 'success' && at > felt)?.at ?? Number.POSITIVE_INFINITY;
  const between = since.filter(({ at }) => at < last_good_at);

  let state: PingState = { ...noPings, from };
  let wrong: number | null = null;
  const judgeAt = (at: number): void => {
    const judged = judgePings(state, terms, at);
    if (judged.is === 'failing') wrong = Math.min(wrong ?? judged.since, judged.since);
  };
  const stretches: Stretch[] = [];
  const take = (one: Ping): void => {
    judgeAt(one.at);
    if (one.kind === 'success' && one.at > ping.at) stretches.push({ next_good_at: one.at, fails_at: wrong });
    state = foldPing(state, one).state;
    if (one.kind === 'success') wrong = null;
    else if (one.kind === 'fail') wrong = Math.min(wrong ?? one.at, one.at);
  };
  for (const one of others) if (one.at < ping.at) take(one);
  take(ping);
  const began_at = ping.kind === 'fail' ? (wrong ?? ping.at) : ping.at;
  for (const one of since) if (one.at <= last_good_at) take(one);
  const [first, ...later] = ping.kind === 'success' || ping.kind === 'start' ? stretches : [];
  return { began_at, next_good_at, fails_at: first?.fails_at ?? null, later, bad: between.filter(({ kind }) => kind === 'fail') };
};
