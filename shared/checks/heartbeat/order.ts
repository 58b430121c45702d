import type { BeatTerms } from './config.ts';
import { judgeBeats } from './deadline.ts';
import { type Beat, type BeatState, foldBeat, noBeats } from './state.ts';

/** Where a beat stands among the others in order of time (rule 20): ears hand over what they kept, and databases come back, in any order. */
export type Place<Known extends Beat> = {
  /** Of a bad beat: since when it has gone wrong by then, which is a deadline if one had passed before it. Of others: when it came. */
  readonly began_at: number;
  /** The next good beat after it, as far as any is known. */
  readonly next_good_at: number | null;
  /** Of a good beat or a start: since when it had gone wrong by the next good one; null when it had not. */
  readonly fails_at: number | null;
  /** Bad beats between it and the next good one. */
  readonly bad: readonly Known[];
};

/** `known`: all beats of the monitor that are known, of any order; `from`: nothing before this instant counts (state.ts). */
export const placeOf = <Known extends Beat>(
  beat: Beat,
  known: readonly Known[],
  from: BeatState['from'],
  terms: BeatTerms,
): Place<Known> => {
  const others = known.filter(({ id, at }) => id !== beat.id && at >= (from ?? 0)).toSorted((a, b) => a.at - b.at);
  const next_good_at = others.find(({ kind, at }) => kind === 'success' && at > beat.at)?.at ?? null;
  const between = others.filter(({ at }) => at > beat.at && at < (next_good_at ?? Number.POSITIVE_INFINITY));

  let state: BeatState = { ...noBeats, from };
  let since: number | null = null;
  const judgeAt = (at: number): void => {
    const judged = judgeBeats(state, terms, at);
    if (judged.is === 'failing') since = Math.min(since ?? judged.since, judged.since);
  };
  const take = (one: Beat): void => {
    judgeAt(one.at);
    state = foldBeat(state, one).state;
    if (one.kind === 'success') since = null;
    else if (one.kind === 'fail') since = Math.min(since ?? one.at, one.at);
  };
  for (const one of others) if (one.at < beat.at) take(one);
  take(beat);
  const began_at = beat.kind === 'fail' ? (since ?? beat.at) : beat.at;
  const tells = beat.kind === 'success' || beat.kind === 'start';
  if (tells && next_good_at !== null) {
    for (const one of between) take(one);
    judgeAt(next_good_at);
  }
  return { began_at, next_good_at, fails_at: tells ? since : null, bad: between.filter(({ kind }) => kind === 'fail') };
};
