import type { Checker } from '../domain/monitor-reach.ts';
import type { Queryable } from './store-database.ts';

/** With the name that people know it by. */
export type NamedChecker = Checker & { readonly name: string };

type Row = Omit<NamedChecker, 'organisation'> & { readonly organisation_id: string | null };

/** The probes that could check something of this organisation, by their rows alone: who is present this second does not matter. */
export const checkersOf = async (sql: Queryable, organisation: string): Promise<readonly NamedChecker[]> => {
  const rows = await sql<Row[]>`
    select id, name, organisation_id, continent, allowed_cidrs from probes
    where revoked_at is null and (organisation_id is null or organisation_id = ${organisation})`;
  return rows.map(({ id, name, organisation_id, continent, allowed_cidrs }) => ({
    id,
    name,
    organisation: organisation_id,
    continent,
    allowed_cidrs,
  }));
};
