import { type OwnDay, type OwnSum, type RecordReaders, settledDays, sumOf } from '../domain/own-record.ts';
import type { Sql } from '../store/store-database.ts';
import { countDay, countedDays, ownDays } from '../store/store-own-record-days.ts';

/** What the house tells of itself, from memory: one coordinator counts the days that are over, and each reads them from time to time. */
export type OwnRecord = {
  readonly tick: () => Promise<void>;
  /** Undefined for whom it is not open. */
  readonly shown: (isSignedIn: boolean) => ShownRecord | undefined;
};

export type ShownRecord = { readonly days: readonly OwnDay[]; readonly sum: OwnSum };

/** So many days are shown. */
const shownDays = 90;

type Parts = {
  readonly sql: Sql;
  readonly clock: { readonly now: () => number };
  /** For how long raw results are kept, which tell whether others agreed. */
  readonly rawDays: number;
  readonly isLeader: () => boolean;
  readonly readers: RecordReaders;
};

export const createOwnRecord = ({ sql, clock, rawDays, isLeader, readers }: Parts): OwnRecord => {
  let shown: ShownRecord = { days: [], sum: sumOf([]) };
  return {
    tick: async () => {
      if (isLeader()) {
        const known = await countedDays(sql);
        for (const day of settledDays(clock.now(), rawDays)) if (!known.has(day)) await countDay(sql, day);
      }
      const days = await ownDays(sql, shownDays);
      shown = { days, sum: sumOf(days) };
    },
    shown: (isSignedIn) => (readers === 'everyone' || (readers === 'users' && isSignedIn) ? shown : undefined),
  };
};
