import type { Queryable } from './store-database.ts';
import { enqueue } from './store-outbox.ts';

export type SetAside = {
  readonly id: number;
  readonly subject: string;
  readonly reason: string;
  readonly at: Date;
  readonly bytes: number;
  /** How often it was worked on again in vain. */
  readonly attempts: number;
  /** Since when it waits to be worked on again; null when nobody asked. */
  readonly retry_asked_at: Date | null;
};

/** A message that could not be worked on, kept for the operator to look at. */
export const setAside = async (sql: Queryable, message: { subject: string; reason: string; data: Uint8Array }): Promise<void> => {
  await sql`insert into set_aside (subject, reason, data) values (${message.subject}, ${message.reason}, ${message.data})`;
};

const columns = 'id, subject, reason, at, octet_length(data) as bytes, attempts, retry_asked_at';

/** The newest first. */
export const allSetAside = (sql: Queryable): Promise<SetAside[]> =>
  sql<SetAside[]>`select ${sql.unsafe(columns)} from set_aside order by id desc limit 1000`;

export const setAsideById = async (sql: Queryable, id: number): Promise<(SetAside & { readonly data: Uint8Array }) | undefined> => {
  const [row] = await sql<(SetAside & { data: Uint8Array })[]>`select ${sql.unsafe(columns)}, data from set_aside where id = ${id}`;
  return row;
};

/** Has one or all of them worked on again by the owners of their partitions; gives those that this was asked for. */
export const retrySetAside = async (sql: Queryable, id: number | null): Promise<number[]> => {
  // Results and pings both carry their partition as the third word of their subject.
  const rows = await sql<{ id: number; partition: number }[]>`
    update set_aside set retry_asked_at = now()
    where retry_asked_at is null and split_part(subject, '.', 3) ~ '^[0-9]+$' ${id === null ? sql`` : sql`and id = ${id}`}
    returning id, split_part(subject, '.', 3)::int as partition`;
  for (const row of rows) await enqueue(sql, { topic: 'set_aside', payload: { id: row.id }, partition: row.partition, organisation: null });
  return rows.map((row) => row.id).toSorted((a, b) => a - b);
};

/** It failed once more. */
export const keepSetAside = async (sql: Queryable, id: number, reason: string): Promise<void> => {
  await sql`update set_aside set reason = ${reason}, attempts = attempts + 1, retry_asked_at = null where id = ${id}`;
};

/** Forgets one or all of them; gives those that are gone. */
export const dropSetAside = async (sql: Queryable, id: number | null): Promise<number[]> => {
  const rows = await sql<{ id: number }[]>`delete from set_aside ${id === null ? sql`` : sql`where id = ${id}`} returning id`;
  return rows.map((row) => row.id).toSorted((a, b) => a - b);
};
