import { hostname } from 'node:os';
import type { Sql } from '../store/store-database.ts';
import { endNotice, endNoticesOfGone, openNotice } from '../store/store-notices.ts';
import type { DatabaseClock } from './house-database-clock.ts';

/** A notice for as long as this coordinator's clock and the database's differ. Each says so of itself; the one that leads ends those of the gone. */
export const createClockNotice = (parts: {
  readonly sql: Sql;
  readonly owner: string;
  readonly clock: Pick<DatabaseClock, 'differenceMs'>;
  readonly isLeader: () => boolean;
}): { readonly tick: () => Promise<void> } => {
  const { sql, owner, clock, isLeader } = parts;
  let isOpen = false;
  return {
    tick: async () => {
      const difference = clock.differenceMs();
      if (difference !== undefined && !isOpen) {
        const seconds = Math.round(Math.abs(difference) / 100) / 10;
        const how = `${seconds} s ${difference > 0 ? 'ahead of' : 'behind'} the database's`;
        await openNotice(sql, 'clock_differs', owner, `The clock of the coordinator on ${hostname()} is ${how}, by which it dates instead`);
      }
      if (difference === undefined && isOpen) await endNotice(sql, 'clock_differs', owner);
      isOpen = difference !== undefined;
      if (isLeader()) await endNoticesOfGone(sql, 'clock_differs');
    },
  };
};
