import type { Log } from '../../shared/base/log.ts';
import type { Clock } from '../../shared/base/time.ts';
import { lastWordMs } from '../domain/organisation-ending.ts';
import type { Sql } from '../store/store-database.ts';
import { type Bite, endOrganisation, organisationsToEnd, warnOfEnd } from '../store/store-ended-organisations.ts';
import { inTransaction } from '../store/store-sql-transactions.ts';

/** Small enough that nobody waits for it: a monitor takes its incidents, their evidence and its ledger along. */
const usualBite: Bite = { rows: 10_000, monitors: 20 };

/** Mails the owners of organisations that end soon, and deletes those whose days are over. */
export type Farewells = { readonly tick: (isTime: () => boolean) => Promise<void> };

export const createFarewells = ({
  sql,
  clock,
  log,
  bite = usualBite,
}: {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly log: Log;
  readonly bite?: Bite;
}): Farewells => ({
  tick: async (isTime) => {
    const at = new Date(clock.now());
    const soon = new Date(at.getTime() + lastWordMs);
    while (isTime() && (await inTransaction(sql, (transaction) => warnOfEnd(transaction, at, soon))));
    for (const id of await organisationsToEnd(sql, at))
      for (let state: 'more' | 'later' | 'gone' = 'more'; state === 'more' && isTime(); ) {
        state = await inTransaction(sql, (transaction) => endOrganisation(transaction, id, at, bite));
        if (state === 'gone') log.info({ organisation: id }, 'an organisation whose days were over is deleted');
      }
  },
});
