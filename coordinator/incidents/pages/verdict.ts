import type { DescribedSides } from '../../../shared/base/sides.ts';
import { type PhaseTimes, verdictSentence } from '../../../shared/base/text.ts';
import { notice } from '../../web/elements.ts';
import type { Html, Part } from '../../web/html.ts';

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

/** Where it breaks and why, in one place. `below`: what follows the cause. */
export function verdictNotice(judged: Judged, below?: Part): Html | undefined {
  const { cause, state, phases } = judged;
  const verdict = isOfJob(judged) && cause !== null ? cause : verdictSentence(judged, phases);
  if (verdict === undefined) return undefined;
  const why = below ?? (verdict === cause ? null : cause);
  return state === 'up' ? notice('unknown', verdict, why, 'check') : notice(state, verdict, why);
}
