import type { Queryable } from './store-database.ts';

/** Counts one more trial of this organisation, and gives how many there were in the last minute, with this one. */
export const countTrial = async (sql: Queryable, organisation: string, now: Date): Promise<number> => {
  const since = new Date(now.getTime() - 60_000);
  await sql`delete from trials where organisation_id = ${organisation} and at <= ${since}`;
  await sql`insert into trials (organisation_id, at) values (${organisation}, ${now})`;
  const [row] = await sql<{ count: number }[]>`select count(*) as count from trials where organisation_id = ${organisation}`;
  return row?.count ?? 0;
};
