import type { Queryable } from './store-database.ts';

export type Table = { readonly name: string; readonly columns: readonly string[] };

/** What lets somebody in, and mails that wait: what was used, ended or sent since the backup must not come back. */
export const lettingIn: readonly string[] = [
  ...['second_steps', 'passkey_challenges', 'sessions', 'sign_in_links', 'attempts', 'invitations', 'sign_ups', 'email_verifications'],
  ...['password_resets', 'mails', 'oauth_records', 'connections', 'probe_invitations'],
];

/** What belongs to running coordinators or to this one database, and is made anew where a backup is restored; and what lets somebody in. */
const leftOut = [
  ...['migrations', 'installation', 'leases', 'coordinators', 'refutations', 'rate_windows', 'monitor_status', 'monitor_counts', 'events'],
  ...['kept_answers', ...lettingIn],
];

/** Every table with its columns, those first that others refer to. Days of results are part of their parent. */
export const tablesInOrder = async (sql: Queryable): Promise<Table[]> => {
  const rows = await sql<{ name: string; columns: string[]; needs: string[] }[]>`
    select c.relname as name,
      array(select a.attname::text from pg_attribute a
        where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = '' order by a.attnum) as columns,
      array(select distinct r.relname::text from pg_constraint k join pg_class r on r.oid = k.confrelid
        where k.conrelid = c.oid and k.contype = 'f' and k.confrelid <> c.oid) as needs
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = current_schema() and c.relkind in ('r', 'p') and not c.relispartition and c.relname <> all(${leftOut})
    order by c.relname`;
  const ordered: Table[] = [];
  let waiting = [...rows];
  while (waiting.length > 0) {
    const placed = new Set(ordered.map(({ name }) => name));
    const ready = waiting.filter(({ needs }) => needs.every((need) => placed.has(need) || leftOut.includes(need)));
    if (ready.length === 0) throw new Error(`these tables refer to each other in a circle: ${waiting.map(({ name }) => name).join(', ')}`);
    ordered.push(...ready.map(({ name, columns }) => ({ name, columns })));
    waiting = waiting.filter((row) => !ready.includes(row));
  }
  return ordered;
};

export const appliedMigrations = async (sql: Queryable): Promise<string[]> =>
  (await sql<{ name: string }[]>`select name from migrations order by name`).map(({ name }) => name);
