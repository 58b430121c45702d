import { newId } from '../../shared/base/crypto.ts';
import type { Clock } from '../../shared/base/time.ts';
import { decideCauses, leastMembers } from '../core/causes.ts';
import type { Sql } from '../database/connect.ts';
import { inTransaction } from '../database/sql.ts';
import {
  failingMonitors,
  knownCauses,
  organisationsToJudge,
  passingMonitors,
  writeCauses,
} from './queries.ts';
import { failingOf, passingOf } from './shares.ts';

/**
 * Finds the common causes of outages, one organisation after the other (rules 48 to 50). The leader
 * does it. It keeps nothing: what it found is in the database, and each tick judges anew by what the
 * incidents' evidence says.
 */
export function createCauseFinder({ sql, clock, isLeader }: Dependencies) {
  const judge = async (organisation: string): Promise<void> => {
    const now = clock.now();
    const [known, failing, passing] = await Promise.all([
      knownCauses(sql, organisation),
      failingMonitors(sql, organisation),
      passingMonitors(sql, organisation),
    ]);
    const { kept, found } = decideCauses(
      known,
      failing.map(failingOf),
      passing.map((one) => passingOf(one, now)),
    );
    const write = { organisation, now, kept, found: found.map((one) => ({ ...one, id: newId() })) };
    if (known.length + found.length > 0)
      await inTransaction(sql, (transaction) => writeCauses(transaction, write));
  };
  return {
    tick: async (): Promise<void> => {
      if (!isLeader()) return;
      for (const organisation of await organisationsToJudge(sql, leastMembers))
        await judge(organisation);
    },
  };
}

type Dependencies = {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly isLeader: () => boolean;
};
