import type { DescribedSides } from '../../../shared/base/sides.ts';
import { type PhaseTimes, verdictSentence } from '../../../shared/base/text.ts';
import { notice } from '../../web/elements.ts';
import type { Html, IconName, Part } from '../../web/html.ts';

/** What an incident is judged by, as its page and its link show it. */
type Judged = {
  readonly scope: string | null;
  readonly layer: string | null;
  readonly cause: string | null;
  readonly sides: DescribedSides | null;
  readonly state: 'down' | 'verifying' | 'up';
  /** Of the check that failed first. */
  readonly phases: PhaseTimes | null;
};

/** A job has no target to check: only its pings tell its state. */
export function isOfJob({ layer }: { readonly layer: string | null }): boolean {
  return layer === 'heartbeat';
}

/** Where it breaks and why, in the colour of its state. */
export type Verdict = {
  readonly state: 'down' | 'verifying' | 'unknown';
  readonly symbol: IconName;
  readonly title: Part;
  readonly why: Part;
};

/** `below`: what follows the cause. */
export function verdictOf(judged: Judged, below?: Part): Verdict {
  const { cause, state, phases } = judged;
  // The title says from where something is down; once it is over, nothing else does.
  const seen = state === 'down' ? { ...judged, scope: null } : judged;
  const sentence = isOfJob(judged) && cause !== null ? cause : verdictSentence(seen, phases);
  return {
    ...(state === 'up' ? { state: 'unknown', symbol: 'check' } : { state, symbol: state }),
    title: sentence ?? cause,
    why: below ?? (sentence === undefined || sentence === cause ? null : cause),
  };
}

/** For those who have its link; undefined where nothing is known. */
export function verdictNotice(judged: Judged): Html | undefined {
  const { state, symbol, title, why } = verdictOf(judged);
  return title === null ? undefined : notice(state, title, why, symbol);
}
