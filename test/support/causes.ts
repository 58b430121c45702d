import type { Queryable } from '../../coordinator/database/statement.ts';
import { newId } from '../../shared/base/crypto.ts';

/** A cause that lasts, with these incidents. An organisation may be given several. */
export async function makeCause(
  sql: Queryable,
  organisation: string,
  ...incidents: readonly string[]
): Promise<string> {
  const id = newId();
  await sql`insert into causes (id, organisation_id, kind, value, manners, began_at, found_at, passing,
      others_failing, others)
    values (${id}, ${organisation}, 'zone', ${`${id.slice(-8)}.example`}, '{name}', now(), now(), 0, 0, 41)`;
  await sql`insert into cause_members (incident_id, cause_id, organisation_id)
    select i, ${id}, ${organisation} from unnest(${incidents}::uuid[]) as i`;
  return id;
}
