import type { Queryable } from '../database/connect.ts';
import { enqueueAll } from '../database/outbox.ts';
import { countOf } from '../database/sql.ts';

export type PingKeyEntry = {
  readonly id: string;
  /** Its place in the list. */
  readonly key: number;
  readonly name: string;
  readonly shown: string;
  readonly created_at: number;
  readonly until: number | null;
};

type NewPingKey = {
  readonly id: string;
  readonly name: string;
  readonly shown: string;
  /** Hexadecimal, as `creating`. */
  readonly fingerprint: string;
  readonly creating: string;
  readonly created_at: number;
};

const entry = 'id, key, name, shown, created_at, until';

export function pingKeyPage(
  sql: Queryable,
  organisation: string,
  before: number,
  limit: number,
): Promise<PingKeyEntry[]> {
  return sql<PingKeyEntry[]>`
    select ${sql.unsafe(entry)} from ping_keys
    where organisation_id = ${organisation} and key < ${before} order by key desc limit ${limit}`;
}

export async function pingKeyById(
  sql: Queryable,
  organisation: string,
  id: string,
): Promise<PingKeyEntry | undefined> {
  const [row] = await sql<PingKeyEntry[]>`
    select ${sql.unsafe(entry)} from ping_keys where organisation_id = ${organisation} and id = ${id}`;
  return row;
}

/** How many count now or still count for a while. */
export async function countPingKeys(
  sql: Queryable,
  organisation: string,
  now: number,
): Promise<number> {
  return countOf(sql`
    select count(*)::int from ping_keys
    where organisation_id = ${organisation} and (until is null or until > ${new Date(now)})`);
}

/** Writes it with the addresses of the heartbeats that there are. */
export async function insertPingKey(
  sql: Queryable,
  organisation: string,
  { id, name, shown, fingerprint, creating, created_at }: NewPingKey,
): Promise<void> {
  await sql`
    insert into ping_keys (id, organisation_id, name, shown, fingerprint, creating, created_at)
    values (${id}, ${organisation}, ${name}, ${shown}, decode(${fingerprint}, 'hex'),
      decode(${creating}, 'hex'), ${new Date(created_at)})`;
  await announceKeys(sql, organisation, [{ key: creating }]);
  await followNames(sql, organisation, sql`k.id = ${id}`);
}

/** Gives it an end, if it does not end sooner, and its addresses with it. */
export async function endPingKeyAt(
  sql: Queryable,
  organisation: string,
  id: string,
  until: number,
): Promise<void> {
  const rows = await sql<{ key: string }[]>`
    with ended as (update ping_keys set until = ${new Date(until)}
        where organisation_id = ${organisation} and id = ${id}
          and (until is null or until > ${new Date(until)})
        returning id, creating),
      addresses as (update ping_key_addresses a set until = ${new Date(until)} from ended
        where a.ping_key_id = ended.id returning a.fingerprint)
    select encode(fingerprint, 'hex') as key from addresses
    union all select encode(creating, 'hex') from ended`;
  await announceKeys(sql, organisation, rows);
}

/**
 * After these heartbeats were written: their addresses under each ping key, by the external ids
 * that they have now.
 */
export function nameUnderPingKeys(
  sql: Queryable,
  organisation: string,
  monitors: readonly string[],
): Promise<void> {
  return monitors.length === 0
    ? Promise.resolve()
    : followNames(sql, organisation, sql`m.id = any(${monitors}::uuid[])`, monitors);
}

/** Those of deleted monitors end. */
export async function forgetUnderPingKeys(
  sql: Queryable,
  organisation: string,
  monitors: readonly string[],
): Promise<void> {
  return announceKeys(
    sql,
    organisation,
    await sql<{ key: string }[]>`
      delete from ping_key_addresses
      where organisation_id = ${organisation} and monitor_id = any(${monitors}::uuid[])
      returning encode(fingerprint, 'hex') as key`,
  );
}

/** `monitors`: those whose former names end. */
async function followNames(
  sql: Queryable,
  organisation: string,
  which: ReturnType<Queryable>,
  monitors: readonly string[] = [],
): Promise<void> {
  // The name as namedFingerprint hashes it. Of two monitors that swap their names in one batch
  // each row moves, so that a row ends only where nobody has its name any more.
  const rows = await sql<{ key: string }[]>`
    with named as (
        select sha256(k.fingerprint || convert_to('/' || m.external_id, 'UTF8')) as fingerprint,
          k.id as ping_key_id, m.id as monitor_id, k.until
        from ping_keys k join monitors m on m.organisation_id = k.organisation_id
        where k.organisation_id = ${organisation} and m.type = 'heartbeat'
          and m.external_id is not null and ${which}),
      gone as (
        delete from ping_key_addresses a
        where a.organisation_id = ${organisation} and a.monitor_id = any(${monitors}::uuid[])
          and not exists (select from named n where n.fingerprint = a.fingerprint)
        returning a.fingerprint),
      come as (
        insert into ping_key_addresses as a
          (fingerprint, organisation_id, ping_key_id, monitor_id, until)
        select fingerprint, ${organisation}, ping_key_id, monitor_id, until from named
        on conflict (fingerprint) do update set monitor_id = excluded.monitor_id
          where a.monitor_id <> excluded.monitor_id
        returning a.fingerprint)
    select encode(fingerprint, 'hex') as key from (table gone union all table come) changed`;
  await announceKeys(sql, organisation, rows);
}

/** Their keys at ping receivers change: what is published is what the database says then. */
export function announceKeys(
  sql: Queryable,
  organisation: string,
  keys: readonly { readonly key: string }[],
): Promise<void> {
  return enqueueAll(
    sql,
    keys.map(({ key }) => ({
      topic: 'ping_key' as const,
      partition: null,
      organisation,
      payload: { key },
    })),
  );
}

/** Of which organisation ping keys are, and by what their addresses are known. */
export async function creatingPingKeys(
  sql: Queryable,
  ids: readonly string[],
): Promise<readonly CreatingPingKey[]> {
  return ids.length === 0
    ? []
    : sql<CreatingPingKey[]>`
      select id, name, until, organisation_id as organisation,
        encode(fingerprint, 'hex') as fingerprint
      from ping_keys where id = any(${ids}::uuid[])`;
}

type CreatingPingKey = Pick<PingKeyEntry, 'id' | 'name' | 'until'> & {
  readonly organisation: string;
  readonly fingerprint: string;
};

/** Those of an organisation that ends. False when there are none. */
export async function endPingKeysOf(sql: Queryable, organisation: string): Promise<boolean> {
  const rows = await sql<{ key: string }[]>`
    delete from ping_keys where organisation_id = ${organisation}
    returning encode(creating, 'hex') as key`;
  await announceKeys(sql, organisation, rows);
  return rows.length > 0;
}
