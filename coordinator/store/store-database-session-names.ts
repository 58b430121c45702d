import type { Queryable } from './store-database.ts';

const name = 'antipode coordinator';

/** What a coordinator calls its connections: with a mark of each SECRET_KEY that it knows, by which a replacement sees whom it would leave behind. */
export const sessionNameOf = (keyMarks: readonly string[]): string => [name, ...keyMarks].join(' ');

/**
 * Where coordinators are connected from that do not know the key of this mark; none of an earlier version says what it knows. One that has asked for
 * nothing for a minute is gone with its machine, which the database may notice hours later.
 */
export const addressesWithoutKey = async (sql: Queryable, keyMark: string): Promise<readonly string[]> => {
  const rows = await sql<{ address: string }[]>`
    select distinct coalesce(host(client_addr), 'this machine') as address from pg_stat_activity
    where datname = current_database() and split_part(application_name, ' ', 1) || ' ' || split_part(application_name, ' ', 2) = ${name}
      and not ${keyMark} = any(string_to_array(application_name, ' ')) and state_change > now() - interval '1 minute'
    order by address`;
  return rows.map(({ address }) => address);
};
