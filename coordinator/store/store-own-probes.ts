import type { Continent } from '../../shared/base/continents.ts';
import type { Queryable } from './store-database.ts';

/** The private probes of an organisation, as it ends them. */

export type OwnProbe = { readonly id: string; readonly name: string; readonly continent: Continent };

/** One that is not ended; of a transaction that ends it nobody else can. */
export const lockedOwnProbe = async (sql: Queryable, organisation: string, id: string): Promise<OwnProbe | undefined> => {
  const [row] = await sql<OwnProbe[]>`
    select id, name, continent from probes where id = ${id} and organisation_id = ${organisation} and revoked_at is null for update`;
  return row;
};

const mostNamed = 50;

/** The monitors that it alone may check. */
export const monitorsOfProbe = async (
  sql: Queryable,
  organisation: string,
  probe: string,
): Promise<{ readonly monitors: readonly { readonly id: string; readonly name: string }[]; readonly monitor_count: number }> => {
  const rows = await sql<{ id: string; name: string; count: number }[]>`
    select id, name, (count(*) over ())::int as count from monitors where organisation_id = ${organisation} and config ->> 'probe' = ${probe}
    order by name, id limit ${mostNamed}`;
  return { monitors: rows.map(({ id, name }) => ({ id, name })), monitor_count: rows[0]?.count ?? 0 };
};
