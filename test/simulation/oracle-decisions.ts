import type { Incident } from '../../coordinator/core/types.ts';
import type { Continent } from '../../shared/base/continents.ts';
import { type Known, newest, newestByContinent } from './oracle-views.ts';
import type { Made } from './result-record.ts';
import type { Round } from './round.ts';

/** What each decision must lead to at once, by rules 4, 10, 11, 12 and 17: not only what stands in the incidents, but what does not. */

export type Decided = {
  readonly monitor: number;
  readonly known: Known;
  readonly places: readonly Continent[];
  readonly able: readonly Continent[];
  readonly interval_ms: number;
  /** What this round decided of it, in that order. */
  readonly fresh: readonly Made[];
  /** The incident that was open before, and is after. */
  readonly before: Incident | undefined;
  readonly after: Incident | undefined;
  /** When others were last asked about it, this round included. */
  readonly askedAt: number;
};

const together = 60_000;
const live = 10_000;
/** Questions are a second apart; what was asked in the same second counts. */
const askedLately = 1_000;

const isFail = ({ outcome }: Made): boolean => outcome === 'fail';

/** Views that are not older than two turns at this time. */
const viewsOf = (known: readonly Made[], { places, able, interval_ms }: Decided, now: number): Made[] =>
  newestByContinent(known, places).filter(({ at }) => now - at <= 2 * Math.max(1, able.length) * interval_ms);

const clockOf = (known: readonly Made[]): number => known.slice(-200).reduce((latest, { at }) => Math.max(latest, at), 0);

/** Rules 10 and 12: with what was decided last, two that fail together confirm, and two that pass end it. */
const standsTooLong = (of: Decided): string[] => {
  const { known, fresh, before, after, places, able } = of;
  const last = fresh.at(-1);
  if (!last || last.stale || before?.id !== after?.id || !after || places.length < 2) return [];
  if (newest(known.decided, ({ continent }) => continent === last.continent) !== last) return [];
  const views = viewsOf(known.decided, of, clockOf(known.decided));
  const failing = views.filter(isFail);
  if (after.confirmed_at === null) {
    const pairs = failing.filter((made) =>
      failing.some(({ continent, at }) => continent !== made.continent && Math.abs(at - made.at) <= together),
    );
    return isFail(last) && pairs.length >= 2 ? [`it is not confirmed, although ${pairs.length} continents failed within a minute`] : [];
  }
  const passing = views.filter(({ outcome, at }) => outcome === 'ok' && at >= after.started_at).length;
  const isOver = failing.length <= 1 && (passing >= 2 || (passing > 0 && passing >= able.length));
  return !isFail(last) && isOver ? [`it stays open, although ${failing.length} fail and ${passing} of ${able.length} pass`] : [];
};

/** Rule 11: each further failure asks all others again. */
const wasNotAsked = ({ known, fresh, before, after, able, askedAt }: Decided, now: number): string[] => {
  if (!after || after.confirmed_at !== null || before?.id !== after.id || after.seen === null) return [];
  const failed = fresh.find(
    (made) =>
      isFail(made) &&
      !made.stale &&
      now - made.at < live &&
      newest(known.decided, ({ continent }) => continent === made.continent) === made,
  );
  const others = failed && able.some((place) => place !== failed.continent);
  return others && now - askedAt > askedLately ? [`it failed again at ${failed.at}, and nobody was asked since ${askedAt}`] : [];
};

/** Rule 4: a "down" goes out for an outage that two continents see, not for one that is over in one of them. */
const wasToldAlone = (of: Decided, round: Round): string[] => {
  const { monitor, known, fresh, places } = of;
  const isTold = round.effects.some(({ monitor: about, effect }) => about === monitor && effect.is === 'alert' && effect.event === 'down');
  if (!isTold || places.length < 2) return [];
  const before = known.decided.slice(0, known.decided.length - fresh.length);
  const wide = { ...of, able: places };
  const steps = [before, ...fresh.map((_, index) => [...before.slice(-600), ...fresh.slice(0, index + 1)])];
  const areTwo = steps.some((one) => viewsOf(one, wide, round.decidedAt).filter(isFail).length >= 2);
  return areTwo ? [] : ['a "down" was raised, although fewer than two continents fail'];
};

export const faultsOfDecision = (of: Decided, round: Round): string[] => {
  const { monitor, known, before, after } = of;
  const faults = [...standsTooLong(of), ...wasNotAsked(of, round.decidedAt), ...wasToldAlone(of, round)];
  if (known.isPaused && after && !before) faults.push('it was opened while the monitor is paused');
  return faults.map((fault) => `monitor ${monitor}, incident ${after?.id ?? before?.id}, at ${round.decidedAt}: ${fault}`);
};
