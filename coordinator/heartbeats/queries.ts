import type { Config } from '../../shared/checks/assignment.ts';
import { noPings, type Ping, type PingState } from '../../shared/checks/heartbeat/state.ts';
import type { Queryable, Transaction } from '../database/connect.ts';
import { type CursorPlace, inPages } from '../gate/cursors.ts';

/** A heartbeat monitor as its pings need it. */
export type PingMonitor = {
  readonly id: string;
  readonly organisation_id: string;
  readonly partition: number;
  readonly interval_s: number;
  readonly config: Config;
};

export type PingKeyRow = {
  readonly key: string;
  readonly organisation: string;
  readonly monitor: string;
  /** Set when it was rotated out. */
  readonly until: number | null;
};

export type PingRow = {
  readonly id: string;
  readonly monitor: string;
  readonly kind: Ping['kind'];
  readonly exit_code: number | null;
  readonly at: number;
  readonly rid: string | null;
  readonly run_ms: number | null;
  readonly method: string;
  readonly body: string;
  readonly ear: string;
};

/** How many pings of each monitor are kept for its page. */
export const keptPings = 100;

/** The key, whatever `until` says, or undefined. */
export async function pingKey(sql: Queryable, key: string): Promise<PingKeyRow | undefined> {
  const [row] = await sql<PingKeyRow[]>`
    ${keyRows(sql, sql`fingerprint = ${Buffer.from(key, 'hex')}`)}`;
  return row;
}

/** Every key that a ping receiver knows: of tokens and aliases, and those of ping keys. */
function keyRows(sql: Queryable, which: ReturnType<Queryable>) {
  return sql`
  select encode(fingerprint, 'hex') as key, organisation_id as organisation,
    monitor_id as monitor, until
  from (
    select fingerprint, organisation_id, monitor_id, until from beat_tokens
    union all
    select fingerprint, organisation_id, monitor_id, until from ping_key_addresses
    union all
    select creating, organisation_id, id, until from ping_keys
    union all
    select a.fingerprint, a.organisation_id, a.monitor_id, null from ping_aliases a
      join monitors m on m.id = a.monitor_id
  ) keys where ${which}`;
}

export function pingKeysByFingerprint(
  sql: Queryable,
  keys: readonly string[],
): Promise<PingKeyRow[]> {
  return sql<PingKeyRow[]>`${keyRows(
    sql,
    sql`fingerprint in (select decode(k, 'hex') from unnest(${keys}::text[]) as k)`,
  )}`;
}

/** Every key, in pages. */
export function allPingKeys(sql: Queryable): AsyncGenerator<PingKeyRow[]> {
  return inPages(
    '',
    ({ key }) => key,
    (after) => sql<PingKeyRow[]>`
      ${keyRows(sql, sql`fingerprint > decode(${after}, 'hex')`)} order by fingerprint limit 1000`,
  );
}

/**
 * How many heartbeats and keys there are: the bus must have at least as many records and values.
 */
export async function countHeartbeats(sql: Queryable): Promise<{ monitors: number; keys: number }> {
  const [row] = await sql<{ monitors: number; keys: number }[]>`
    select (select count(*) from beat_states) as monitors,
      (select count(*) from beat_tokens) + (select count(*) from ping_key_addresses)
        + (select count(*) from ping_keys)
        + (select count(*) from ping_aliases a join monitors m on m.id = a.monitor_id) as keys`;
  return row ?? { monitors: 0, keys: 0 };
}

export function pingMonitors(sql: Queryable, ids: readonly string[]): Promise<PingMonitor[]> {
  return sql<PingMonitor[]>`
    select id, organisation_id, partition, interval_s, config from monitors
    where id = any(${ids}) and type = 'heartbeat'`;
}

/** The states of these monitors' pings, locked for this transaction. */
export async function lockedStates(
  sql: Transaction,
  monitors: readonly string[],
): Promise<Map<string, PingState>> {
  const ids = [...new Set(monitors)].toSorted();
  // Monitors without a state get one, so that there is a row to lock; monitors deleted meanwhile
  // are left out.
  await sql`insert into beat_states (monitor_id, state)
    select id, ${JSON.stringify(noPings)}::text::jsonb from monitors where id = any(${ids})
      order by id on conflict do nothing`;
  const rows = await sql<{ monitor_id: string; state: PingState }[]>`
    select monitor_id, state from beat_states where monitor_id = any(${ids}) order by monitor_id
    for update`;
  return new Map(rows.map(({ monitor_id, state }) => [monitor_id, state]));
}

export async function writeStates(
  sql: Transaction,
  states: ReadonlyMap<string, PingState>,
): Promise<void> {
  const rows = [...states].map(([monitor, state]) => ({ monitor, state }));
  if (rows.length === 0) return;
  await sql`update beat_states b set state = s.state
    from json_to_recordset(${JSON.stringify(rows)}::text::json) as s (monitor uuid, state jsonb)
    where b.monitor_id = s.monitor`;
}

type StoredState = {
  readonly organisation: string;
  readonly monitor: string;
  readonly state: PingState;
};

/** The states of all monitors' pings, in pages. */
export function allStates(sql: Queryable): AsyncGenerator<StoredState[]> {
  return inPages(
    '00000000-0000-0000-0000-000000000000',
    ({ monitor }) => monitor,
    (after) => sql<StoredState[]>`
      select m.organisation_id as organisation, m.id as monitor, b.state from beat_states b
      join monitors m on m.id = b.monitor_id
      where b.monitor_id > ${after} order by b.monitor_id limit 1000`,
  );
}

/** Inserts pings; existing ones stay as they are. Only each monitor's newest are kept. */
export async function writePings(sql: Transaction, pings: readonly PingRow[]): Promise<void> {
  if (pings.length === 0) return;
  const rows = pings.map((ping) => ({ ...ping, at: new Date(ping.at).toISOString() }));
  await sql`insert into beats (id, monitor_id, kind, exit_code, at, rid, run_ms, method, body, ear)
    select b.id, b.monitor, b.kind, b.exit_code, b.at, b.rid, b.run_ms, b.method, b.body, b.ear
    from json_to_recordset(${JSON.stringify(rows)}::text::json) as b (id uuid, monitor uuid,
      kind text, exit_code smallint, at timestamptz,
      rid uuid, run_ms bigint, method text, body text, ear text)
    on conflict (id) do nothing`;
  const monitors = [...new Set(pings.map(({ monitor }) => monitor))];
  await sql`delete from beats where id in (
    select id from unnest(${monitors}::text[]::uuid[]) as m (monitor),
      lateral (select id from beats where monitor_id = m.monitor order by at desc, id desc
        offset ${keptPings}) old)`;
}

/** The kept pings of these monitors without log lines, by monitor. */
export async function keptPingsOf(
  sql: Transaction,
  monitors: readonly string[],
): Promise<ReadonlyMap<string, readonly PingRow[]>> {
  const rows = await sql<PingRow[]>`
    select id, monitor_id as monitor, kind, exit_code, at, rid, run_ms, method, body, ear from beats
    where monitor_id = any(${[...new Set(monitors)]}) and kind <> 'log'`;
  return Map.groupBy(rows, ({ monitor }) => monitor);
}

/** `key` and `place` are its time and its id: its place in the list. */
type ListedPing = Omit<PingRow, 'at' | 'monitor' | 'id'> & {
  readonly key: number;
  readonly place: string;
  readonly at: number;
};

/** The newest pings of a monitor, or those after a place. */
export function newestPings(
  sql: Queryable,
  organisation: string,
  monitor: string,
  { after, most }: { readonly after: CursorPlace | null; readonly most: number },
): Promise<ListedPing[]> {
  return sql<ListedPing[]>`
    select (extract(epoch from b.at) * 1000)::bigint as key, b.id as place, b.kind, b.exit_code, b.at, b.rid, b.run_ms, b.method, b.body, b.ear
    from beats b join monitors m on m.id = b.monitor_id
    where b.monitor_id = ${monitor} and m.organisation_id = ${organisation}
      ${after === null ? sql`` : sql`and (b.at, b.id) < (${new Date(after.key)}, ${after.place})`}
    order by b.at desc, b.id desc limit ${most}`;
}

/**
 * Deletes and returns keys that were rotated out long ago. Ping receivers refuse them from `until`
 * on. But a ping from before may still be on a ping receiver's disk or on the bus, and is
 * recognized by its key.
 */
export function endOldPingKeys(sql: Queryable): Promise<{ key: string; organisation: string }[]> {
  return sql<{ key: string; organisation: string }[]>`
    with tokens as (delete from beat_tokens where until <= now() - interval '30 days'
        returning fingerprint, organisation_id),
      addresses as (delete from ping_key_addresses where until <= now() - interval '30 days'
        returning fingerprint, organisation_id),
      keys as (delete from ping_keys where until <= now() - interval '30 days'
        returning creating, organisation_id)
    select encode(fingerprint, 'hex') as key, organisation_id as organisation
    from (table tokens union all table addresses union all table keys) gone`;
}
