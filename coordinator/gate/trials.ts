import type { Queryable } from '../database/connect.ts';
import { countOf } from '../database/sql.ts';

/** Counts one more trial of an organisation, and returns how many it made lately, including it. */
export async function countTrial(
  sql: Queryable,
  organisation: string,
  kind: 'config' | 'channel',
  { now, withinMs }: { readonly now: number; readonly withinMs: number },
): Promise<number> {
  const those = sql`organisation_id = ${organisation} and kind = ${kind}`;
  await sql`delete from trials where ${those} and at <= ${new Date(now - withinMs)}`;
  await sql`insert into trials (organisation_id, kind, at)
    values (${organisation}, ${kind}, ${new Date(now)})`;
  return countOf(sql`select count(*) from trials where ${those}`);
}
