import type { Queryable } from './store-database.ts';
import type { Statement } from './store-sql-statements.ts';

/** What the owner of a partition knew at `takenAt`, as it packed it. */
export type StoredCheckpoint = { readonly takenAt: number; readonly state: Uint8Array };

export const readCheckpoint = async (sql: Queryable, partition: number): Promise<StoredCheckpoint | undefined> => {
  const [row] = await sql<{ taken_at: Date; state: Uint8Array }[]>`select taken_at, state from checkpoints where partition = ${partition}`;
  return row && { takenAt: row.taken_at.getTime(), state: row.state };
};

export const writeCheckpoint = (sql: Queryable, partition: number, checkpoint: StoredCheckpoint): Statement =>
  sql`insert into checkpoints (partition, taken_at, state) values (${partition}, ${new Date(checkpoint.takenAt)}, ${checkpoint.state})
    on conflict (partition) do update set taken_at = excluded.taken_at, state = excluded.state`;
