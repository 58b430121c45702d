import type { Queryable } from '../database/connect.ts';

/** The identity of this database. */
export const installationId = async (sql: Queryable): Promise<string> => {
  const [row] = await sql<{ id: string }[]>`select id from installation`;
  if (!row) throw new Error('the database has no installation row: it was not made by our migrations');
  return row.id;
};
