import type { Incident } from '../../coordinator/domain/incident-types.ts';
import { type Known, newest, recent } from './oracle-views.ts';
import type { Made } from './record.ts';

/** Where an incident begins, by rules 3 and 10. */

/** Rule 3: an older failure that came while it was unconfirmed has moved the beginning back; not across a pass, and not further than a view lasts. */
export const faultsOfBeginning = (
  before: Incident,
  after: Incident,
  { decided }: Known,
  fresh: readonly Made[],
  turn_ms: number,
): string[] => {
  const seen = before.seen?.continent;
  if (before.confirmed_at !== null || after.seen?.continent !== seen) return [];
  const earlier = fresh.filter((made) => {
    if (made.outcome !== 'fail' || made.continent !== seen) return false;
    if (made.at >= after.started_at || made.at < before.started_at - 2 * turn_ms) return false;
    const around = recent(decided).filter((other) => other.continent === made.continent && other !== made);
    const parted = around.some((other) => other.outcome === 'ok' && other.at > made.at && other.at <= after.started_at);
    return !parted && newest(around, () => true)?.outcome === 'fail';
  });
  return earlier.map(({ at }) => `incident ${after.id} began at ${after.started_at}, although its continent failed at ${at} already`);
};

/** Rule 10: after a refutation the lonely failure is another matter than the outage that is confirmed. */
export const lonelyBefore = (incident: Incident, decided: readonly Made[], fresh: readonly Made[]): string[] => {
  const { started_at, seen } = incident;
  const known = recent(decided).filter((made) => !fresh.includes(made) && !made.stale && made.at > started_at);
  const refuted = known.find((made) => made.outcome === 'ok' && made.continent !== seen?.continent);
  const failedAgain = known.find((made) => made.outcome === 'fail' && made.continent === seen?.continent);
  return refuted && failedAgain
    ? [`it was confirmed from its first failure, although ${refuted.continent} passed at ${refuted.at} while it went on failing`]
    : [];
};
