import type { Roster } from '../../shared/checks/assignment.ts';
import { couldHold } from './continent-reach.ts';
import { allRules, type Rules } from './decision-rules.ts';
import type { MonitorState, SeenResult, Watched } from './decision-types.ts';

/**
 * What need not wait for a hand-over (rule 4). Of a monitor that is well, and that nobody who has handed over saw failing before, an outage
 * that begins now is decided at once: all that others may still bring is that they saw it sooner, and that only dates it anew (incident-dating.ts).
 * What else is known of a monitor (that it failed meanwhile, that it was down before) can come out otherwise by what comes, and waits: for
 * those who could hold the monitor, because nobody else keeps anything of it. What a private probe says of its monitors waits for nobody.
 */

type InHand = Pick<SeenResult, 'at' | 'outcome' | 'quarantined'>;

/** Whether one of those who are waited for may still bring something of this monitor. */
export const isAwaited = (watched: Watched, awaited: ReadonlySet<string>, roster: Roster): boolean =>
  roster.probes.some((probe) => awaited.has(probe.id) && couldHold(watched, probe, roster));

/** `began`: since when the past has been waited for; `inHand`: all that waits and tells of this monitor; `isMore`: more may come of it. */
export const goesAhead = (
  { incident, watched }: Pick<MonitorState, 'incident' | 'watched'>,
  inHand: readonly InHand[],
  began: number,
  isMore = true,
  rules: Rules = allRules,
): boolean => {
  // Pings that ping receivers kept may still come, and tell that it was not late.
  if (!rules.live_goes_ahead || watched.kind === 'heartbeat') return false;
  if (watched.probe !== null || (!isMore && rules.waits_for_who_may_tell)) return inHand.length > 0;
  if (incident !== null) return false;
  const failures = inHand.filter(({ outcome, quarantined }) => outcome === 'fail' && !quarantined);
  return failures.length > 0 && failures.every(({ at }) => at >= began);
};
