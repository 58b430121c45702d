import type { Sql } from '../store/store-database.ts';
import { openNotice } from '../store/store-notices.ts';
import { writeDropped } from '../store/store-probes.ts';
import { inTransaction } from '../store/store-sql-transactions.ts';
import type { Present } from './probes-presence.ts';

/**
 * What probes had to drop because nobody fetched it (rule 6: counted and reported). A probe counts from its start on; how far that is known stands in
 * the database, so that another leader does not tell it again.
 */
export type DroppedResults = {
  readonly hear: (present: Present) => void;
  /** For the leader alone. */
  readonly tick: () => Promise<void>;
};

type Parts = { readonly sql: Sql; readonly onDropped: (probe: string, message: string) => void };

export const createDroppedResults = ({ sql, onDropped }: Parts): DroppedResults => {
  const said = new Map<string, { readonly name: string; readonly session: string; readonly dropped: number }>();
  const known = new Map<string, string>();
  return {
    hear: ({ probe, message }) => {
      const { session = message.generation, spool } = message;
      if (spool.dropped > 0) said.set(probe.id, { name: probe.name, session, dropped: spool.dropped });
    },
    tick: async () => {
      for (const [probe, { name, session, dropped }] of said) {
        const word = `${session} ${dropped}`;
        if (known.get(probe) === word) continue;
        const message = `The probe ${name} had to drop results since its start (${dropped.toLocaleString('en')}): its spool was full or damaged`;
        const isNews = await inTransaction(sql, async (transaction) => {
          if (!(await writeDropped(transaction, probe, session, dropped))) return false;
          await openNotice(transaction, 'results_dropped', probe, message);
          return true;
        });
        known.set(probe, word);
        if (isNews) onDropped(probe, message);
      }
    },
  };
};
