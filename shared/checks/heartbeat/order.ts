import type { BeatTerms } from './config.ts';
import { judgeBeats } from './deadline.ts';
import { type Beat, type BeatState, foldBeat, noBeats } from './state.ts';

/** The time up to a good beat, and since when it had gone wrong by then; null when it had not. */
export type Stretch = { readonly next_good_at: number; readonly fails_at: number | null };

/** Where a beat stands among the others in order of time (rule 20): ears hand over what they kept, and databases come back, in any order. */
export type Place<Known extends Beat> = {
  /** Of a bad beat: since when it has gone wrong by then, which is a deadline if one had passed before it. Of others: when it came. */
  readonly began_at: number;
  /** The next good beat after it, as far as any is known. */
  readonly next_good_at: number | null;
  /** Of a good beat or a start: since when it had gone wrong by the next good one; null when it had not. */
  readonly fails_at: number | null;
  /** The same of the further good ones that the limit of a run that it begins reaches to. */
  readonly later: readonly Stretch[];
  /** Bad beats between it and the last of these good ones. */
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
  const since = others.filter(({ at }) => at > beat.at);
  const next_good_at = since.find(({ kind }) => kind === 'success')?.at ?? null;
  // A run that began may be the one that lasted too long after any good beat, until the first one after its limit.
  const felt = beat.kind === 'start' ? beat.at + (terms.max_run_ms ?? 0) : beat.at;
  const last_good_at = since.find(({ kind, at }) => kind === 'success' && at > felt)?.at ?? Number.POSITIVE_INFINITY;
  const between = since.filter(({ at }) => at < last_good_at);

  let state: BeatState = { ...noBeats, from };
  let wrong: number | null = null;
  const judgeAt = (at: number): void => {
    const judged = judgeBeats(state, terms, at);
    if (judged.is === 'failing') wrong = Math.min(wrong ?? judged.since, judged.since);
  };
  const stretches: Stretch[] = [];
  const take = (one: Beat): void => {
    judgeAt(one.at);
    if (one.kind === 'success' && one.at > beat.at) stretches.push({ next_good_at: one.at, fails_at: wrong });
    state = foldBeat(state, one).state;
    if (one.kind === 'success') wrong = null;
    else if (one.kind === 'fail') wrong = Math.min(wrong ?? one.at, one.at);
  };
  for (const one of others) if (one.at < beat.at) take(one);
  take(beat);
  const began_at = beat.kind === 'fail' ? (wrong ?? beat.at) : beat.at;
  for (const one of since) if (one.at <= last_good_at) take(one);
  const [first, ...later] = beat.kind === 'success' || beat.kind === 'start' ? stretches : [];
  return { began_at, next_good_at, fails_at: first?.fails_at ?? null, later, bad: between.filter(({ kind }) => kind === 'fail') };
};
