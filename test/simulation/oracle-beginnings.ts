import type { Incident } from '../../coordinator/core/types.ts';
import { recent } from './oracle-views.ts';
import type { Made } from './result-record.ts';

/** How an open incident is dated, by rules 3 and 10. */

const minute = 60_000;

/** What must be so of every open incident, whatever came when. `over`: when the last incident of this monitor ended, and when that was decided. */
export type Dated = {
  readonly incident: Incident;
  readonly decided: readonly Made[];
  readonly turn_ms: number;
  readonly over: { readonly at: number; readonly decided_at: number };
};

/** What was decided while the incident before it was open belongs to that one, also if it is dated to have ended sooner. */
const isItsOwn = ({ over }: Dated, { at, decided_at }: Made): boolean => at >= over.at && (decided_at ?? 0) > over.decided_at;

const passes = (decided: readonly Made[], from: number, to: number): boolean =>
  decided.some(({ outcome, at }) => outcome === 'ok' && at >= from && at <= to);

/** Rule 10: what its continent alone saw before others passed is another matter than what is confirmed later. */
const wasLonely = ({ incident: { started_at, confirmed_at, seen }, decided }: Dated): boolean =>
  confirmed_at !== null &&
  decided.some(
    (first) =>
      first.outcome === 'fail' &&
      first.continent === seen?.continent &&
      first.at < started_at &&
      decided.some(({ outcome, continent, at }) => outcome === 'ok' && continent !== seen.continent && at > first.at && at < confirmed_at),
  );

/** Rule 3: nobody failed shortly before it began, if nobody passed in between. */
const faultsOfBeginning = (dated: Dated): string[] => {
  const { incident, decided, turn_ms, over } = dated;
  const { id, started_at, seen } = incident;
  const since = Math.max(started_at - Math.min(minute, 2 * turn_ms), over.at);
  const earlier = decided.find(
    (made) =>
      made.outcome === 'fail' && made.at > since && made.at < started_at && isItsOwn(dated, made) && !passes(decided, made.at, started_at),
  );
  if (earlier?.continent === seen?.continent && wasLonely(dated)) return [];
  return earlier ? [`incident ${id} began at ${started_at}, although ${earlier.continent} failed at ${earlier.at} already`] : [];
};

/**
 * Rules 3 and 10: nobody else failed between its beginning and its confirmation, within a minute of a failure of yet another continent. What
 * the incident before it had seen until its end belongs to that one.
 */
const faultsOfConfirmation = (dated: Dated): string[] => {
  const { incident, decided } = dated;
  const { id, started_at, seen, confirmed_at, confirmed } = incident;
  if (!seen || !confirmed || confirmed_at === null || passes(decided, started_at, confirmed_at)) return [];
  const failures = decided.filter(
    (made) => made.outcome === 'fail' && made.at >= started_at && made.at < confirmed_at && isItsOwn(dated, made),
  );
  const earlier = failures.find(
    (second) =>
      second.continent !== seen.continent &&
      failures.some((first) => first.continent !== second.continent && first.at <= second.at && second.at - first.at <= minute),
  );
  return earlier ? [`incident ${id} was confirmed at ${confirmed_at}, although ${earlier.continent} failed at ${earlier.at} already`] : [];
};

export const faultsOfDates = (dated: Dated): string[] => {
  const known = { ...dated, decided: recent(dated.decided, 2_000) };
  return [...faultsOfBeginning(known), ...faultsOfConfirmation(known)];
};

/** Rule 10: after a refutation the lonely failure is another matter than the outage that is confirmed. */
export const lonelyBefore = (incident: Incident, decided: readonly Made[], fresh: readonly Made[]): string[] => {
  const { started_at, seen, confirmed_at } = incident;
  const isBetween = ({ at }: Made): boolean => at > started_at && at < (confirmed_at ?? 0);
  const known = recent(decided).filter((made) => !fresh.includes(made) && !made.stale && isBetween(made));
  const refuted = known.find((made) => made.outcome === 'ok' && made.continent !== seen?.continent);
  const failedAgain = known.find((made) => made.outcome === 'fail' && made.continent === seen?.continent);
  return refuted && failedAgain
    ? [`it was confirmed from its first failure, although ${refuted.continent} passed at ${refuted.at} while it went on failing`]
    : [];
};
