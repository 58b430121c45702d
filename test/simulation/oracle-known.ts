import type { Continent } from '../../shared/base/continents.ts';
import type { Made } from './database.ts';
import type { Outages } from './oracle-regional.ts';

/**
 * What the oracle knows to have been decided about one monitor, kept in its own way: it shares
 * nothing with the core.
 */
export type Known = {
  /** The version of what is checked that results are held against. */
  version: number;
  /** Results of this version that say something of the target, as they were decided. */
  decided: Made[];
  /** Results before this moment belong to a life before a pause. */
  since: number;
  isPaused: boolean;
  /** The same with what regional places saw, which decides nothing (rule 45). */
  all: Made[];
  regional: readonly Continent[];
  /** The same before this round, and at any step of it. */
  regionalBefore: readonly Continent[];
  regionalMeanwhile: readonly Continent[];
  /** Failures of who is regional. */
  aside: readonly Made[];
  regionalInOutage: readonly Continent[];
  /** When a probe was last quarantined: what it saw counted until then. */
  distrustedAt: number;
  /** The last confirmed outage that ended. */
  lastDown: Outages['last'];
};

/** A start so far ahead tells of the probe's clock. */
const ahead = 5_000;

export const saysSomething = (made: Made): boolean =>
  made.outcome !== 'unknown' &&
  !made.quarantined &&
  made.decided_at !== null &&
  made.at <= made.decided_at + ahead;

/** Without what was seen at a time that is not yet. */
export const forgetAhead = (list: readonly Made[], now: number): Made[] =>
  list.filter(({ at }) => at <= now + ahead);

/** The newest by start, of those that satisfy; of two that started together the failure. */
export const newest = (list: readonly Made[], fits: (made: Made) => boolean): Made | undefined => {
  let best: Made | undefined;
  for (
    let index = list.length - 1, looked = 0;
    index >= 0 && looked < 400;
    index -= 1, looked += 1
  ) {
    const made = list[index];
    if (!made || !fits(made)) continue;
    if (!best || made.at > best.at || (made.at === best.at && made.outcome === 'fail')) best = made;
  }
  return best;
};

export const newestByContinent = (list: readonly Made[], places: readonly Continent[]): Made[] =>
  places.flatMap((place) => newest(list, ({ continent }) => continent === place) ?? []);

export const recent = (list: readonly Made[], count = 400): readonly Made[] => list.slice(-count);
