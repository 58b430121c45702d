import type { Queryable } from './database.ts';

export const keptKey = async (sql: Queryable, purpose: string): Promise<Uint8Array | undefined> => {
  const [row] = await sql<{ wrapped: Uint8Array }[]>`select wrapped from kept_keys where purpose = ${purpose}`;
  return row?.wrapped;
};

export const writeKeptKey = async (sql: Queryable, purpose: string, wrapped: Uint8Array): Promise<void> => {
  await sql`
    insert into kept_keys (purpose, wrapped) values (${purpose}, ${Buffer.from(wrapped)})
    on conflict (purpose) do update set wrapped = excluded.wrapped`;
};
