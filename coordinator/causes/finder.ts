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
 * does it. What it found is in the database; it keeps only when it judged, so that outages that last
 * cost nothing.
 */
export function createCauseFinder({ sql, clock, isLeader }: Dependencies) {
  let judged = new Map<string, Judged>();
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
      const organisations = await organisationsToJudge(sql, leastMembers);
      judged = new Map(
        organisations.flatMap(({ id }) => {
          const known = judged.get(id);
          return known ? [[id, known]] : [];
        }),
      );
      for (const { id, standing } of organisations) {
        const [last, now] = [judged.get(id), clock.now()];
        const isChanged = last?.standing !== standing;
        const since = isChanged ? now : last.since;
        if (!isChanged && (now - since > settledMs || now - last.at < againMs)) continue;
        await judge(id);
        judged.set(id, { standing, since, at: now });
      }
    },
  };
}

type Judged = { readonly standing: string; readonly since: number; readonly at: number };

/** What passes is heard of by and by: for so long, and so often, it is judged though nothing else changed. */
const settledMs = 600_000;
const againMs = 5_000;

type Dependencies = {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly isLeader: () => boolean;
};
