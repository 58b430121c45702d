import { storable } from '../../shared/base/names.ts';
import type { Kind } from '../../shared/checks/kinds.ts';
import type { Queryable } from '../database/connect.ts';
import { enqueueAll, type MonitorChange } from '../database/outbox.ts';
import { countOf, searchText, utcText } from '../database/sql.ts';
import { bytesText, insertRows, updateRows } from '../database/table.ts';
import { orNotFound } from '../gate/context.ts';
import { inPages } from '../gate/cursors.ts';
import { announceAliases, followHeartbeats } from '../heartbeats/alias-queries.ts';
import { announceKeys, forgetUnderPingKeys } from '../heartbeats/ping-key-queries.ts';
import {
  changedColumns,
  insertedColumns,
  type MonitorRow,
  monitorRecord,
  type StoredMonitor,
  shownNames,
  type WrittenMonitor,
} from './row.ts';

export type AssignedRow = {
  readonly id: string;
  readonly key: number;
  readonly type: Kind;
  readonly config_version: number;
  readonly interval_s: number;
  readonly continents: readonly unknown[] | null;
  readonly probe: string | null;
  readonly places: readonly string[] | null;
  readonly has_secrets: boolean;
};

/** Every monitor that should be checked now, with the data of its assignment, in pages. */
export function assignedRows(sql: Queryable): AsyncGenerator<AssignedRow[]> {
  return inPages(
    0,
    ({ key }) => key,
    (after) => sql<AssignedRow[]>`
      select id, key, type, config_version, interval_s, config -> 'continents' as continents,
        config ->> 'probe' as probe, places,
        secrets is not null as has_secrets
      from monitors where paused_at is null and key > ${after} order by key limit 1000`,
  );
}

/** Changes of monitors that are not published yet. */
export async function openMonitorLines(sql: Queryable): Promise<number> {
  return countOf(sql`select count(*) from outbox where topic = 'monitor' and done_at is null`);
}

/** A change of several monitors at once, or a new window, as the audit log has it. */
export type LastChange = {
  /** Of its entry. */
  readonly key: number;
  readonly at: number;
  readonly operation: string;
  readonly changed: {
    readonly about: { readonly monitor_id?: string; readonly id?: string };
    readonly before: {
      readonly groups?: readonly { readonly monitor: string; readonly group: string | null }[];
      readonly tags?: readonly { readonly monitor: string; readonly tags: readonly string[] }[];
      readonly mutes?: readonly {
        readonly monitor: string;
        readonly until: string | null;
        readonly until_resolved: boolean;
      }[];
    };
    readonly after?: {
      readonly paused?: readonly string[];
      readonly resumed?: readonly string[];
      readonly group?: string | null;
      /** The tag. */
      readonly added?: string;
      readonly removed?: string;
      readonly deleted?: readonly string[];
      readonly muted?: boolean;
      /** Those that were muted, or unmuted. */
      readonly monitors?: readonly string[];
    };
  };
};

/** A user's last change on a page, which may be an undo. */
export async function lastChangeBy(
  sql: Queryable,
  organisation: string,
  user: string,
  since: number,
): Promise<LastChange | undefined> {
  const [row] = await sql<LastChange[]>`
    select key, at, operation, changed from audit_log where organisation_id = ${organisation}
      and user_id = ${user} and through = 'page' and at > ${new Date(since)} and operation in
        ('changeMonitors', 'deleteMonitor', 'createMaintenanceWindow', 'undoChange')
    order by key desc limit 1`;
  return row;
}

/** Whether anyone changed this maintenance window after that entry. */
export async function isWindowChangedSince(
  sql: Queryable,
  organisation: string,
  window: string,
  key: number,
): Promise<boolean> {
  const rows = await sql`select from audit_log where organisation_id = ${organisation}
    and key > ${key} and changed->'about'->>'window_id' = ${window} limit 1`;
  return rows.length > 0;
}

export type News = Pick<MonitorChange, 'change' | 'restored'> & {
  /** False, unless it is said. */
  readonly what_is_checked_changed?: boolean;
};

/**
 * For the owners of their partitions, who close open incidents and announce the changes to the
 * probes.
 */
export function notifyOwners(
  sql: Queryable,
  organisation: string,
  all: readonly (News & { readonly id: string; readonly partition: number })[],
): Promise<void> {
  return enqueueAll(
    sql,
    all.map(({ id, partition, ...news }) => {
      const payload: MonitorChange = { monitor: id, what_is_checked_changed: false, ...news };
      return { topic: 'monitor', partition, organisation, payload };
    }),
  );
}

/**
 * A heartbeat's token: its fingerprint, to verify pings, and the token itself, encrypted, for the
 * monitor's page.
 */
export type PingTokenRow = {
  readonly fingerprint: string;
  readonly monitor: string;
  readonly box: Buffer;
};

/** Announces to the ping receivers, before monitors are deleted, that their keys are not valid. */
export async function endPingTokens(
  sql: Queryable,
  organisation: string,
  monitors: readonly string[],
): Promise<void> {
  const rows = await sql<{ key: string }[]>`
    delete from beat_tokens where monitor_id = any(${monitors}::uuid[])
      and organisation_id = ${organisation}
    returning encode(fingerprint, 'hex') as key`;
  await forgetUnderPingKeys(sql, organisation, monitors);
  await announceAliases(sql, organisation, monitors);
  await announceKeys(sql, organisation, rows);
}

/** The encrypted token in force of a heartbeat monitor. */
export async function pingTokenBox(
  sql: Queryable,
  organisation: string,
  monitor: string,
): Promise<Uint8Array | undefined> {
  const [row] = await sql<{ token: Uint8Array }[]>`
    select token from beat_tokens where monitor_id = ${monitor}
      and organisation_id = ${organisation} and until is null`;
  return row?.token;
}

/**
 * Gives the token in force an end. Tokens that were rotated out before end no later.
 * `insertPingTokens` writes the next one. Returns false when there was none.
 */
export async function retirePingTokens(
  sql: Queryable,
  organisation: string,
  monitor: string,
  until: number,
): Promise<boolean> {
  const rows = await sql<{ key: string }[]>`
    update beat_tokens set until = ${new Date(until)}
    where monitor_id = ${monitor} and organisation_id = ${organisation}
      and (until is null or until > ${new Date(until)})
    returning encode(fingerprint, 'hex') as key`;
  await announceKeys(sql, organisation, rows);
  return rows.length > 0;
}

/** Writes new monitors by one statement; of heartbeats, the addresses under ping keys follow. */
export async function insertMonitors(
  sql: Queryable,
  organisation: string,
  monitors: readonly WrittenMonitor[],
): Promise<void> {
  await insertRows(sql, 'monitors', insertedColumns, organisation, monitors.map(monitorRecord));
  await followHeartbeats(sql, organisation, monitors);
}

/**
 * Writes changed monitors by one statement. `paused_at` is the transaction's time, which is also
 * that of the outbox line: the engine writes the same moment to the ledger.
 */
export async function updateMonitors(
  sql: Queryable,
  organisation: string,
  monitors: readonly WrittenMonitor[],
): Promise<void> {
  await updateRows(sql, 'monitors', changedColumns, organisation, monitors.map(monitorRecord), [
    'paused_at = case when r.enabled then null else coalesce(t.paused_at, now()) end',
  ]);
  await followHeartbeats(sql, organisation, monitors);
}

/** Sets their groups from now on (rule 26: cover follows membership). */
export async function writeMemberships(
  sql: Queryable,
  organisation: string,
  moves: readonly { readonly monitor: string; readonly group: string | null }[],
): Promise<void> {
  if (moves.length === 0) return;
  const all = moves.map(({ monitor }) => monitor);
  await sql`update group_memberships set ended_at = now() where monitor_id = any(${all}::uuid[])
    and ended_at is null`;
  const rows = moves.filter(({ group }) => group !== null);
  if (rows.length === 0) return;
  await sql`
    insert into group_memberships (organisation_id, monitor_id, group_id, began_at)
    select ${organisation}, r.monitor, r."group", now()
    from jsonb_to_recordset(${JSON.stringify(rows)}::text::jsonb) as r (monitor uuid,
      "group" uuid)`;
}

/** Writes the tokens and announces their keys to the ping receivers. */
export async function insertPingTokens(
  sql: Queryable,
  organisation: string,
  tokens: readonly PingTokenRow[],
): Promise<void> {
  if (tokens.length === 0) return;
  const columns = { fingerprint: 'bytea', monitor_id: 'uuid', token: 'bytea' } as const;
  const rows = tokens.map(({ fingerprint, monitor, box }) => ({
    fingerprint: `\\x${fingerprint}`,
    monitor_id: monitor,
    token: bytesText(box),
  }));
  await insertRows(sql, 'beat_tokens', columns, organisation, rows);
  await announceKeys(
    sql,
    organisation,
    tokens.map(({ fingerprint }) => ({ key: fingerprint })),
  );
}

export async function monitorById(
  sql: Queryable,
  organisation: string,
  id: string,
): Promise<MonitorRow> {
  const [row] = await sql<
    MonitorRow[]
  >`select ${shown(sql)} from monitors m where m.organisation_id = ${organisation}
    and m.id = ${id}`;
  return orNotFound(row, 'monitor_not_found');
}

function shown(sql: Queryable) {
  return sql`m.xmin as version, m.key, ${sql.unsafe(shownNames)},
    ${utcText(sql, 'm.created_at')} as created_at`;
}

/** Under the organisation's lock, so that no one else changes it meanwhile. */
export async function monitorForChange(
  sql: Queryable,
  organisation: string,
  id: string,
): Promise<StoredMonitor> {
  const [row] = await monitorsForChange(sql, organisation, [id]);
  return orNotFound(row, 'monitor_not_found');
}

/** Those with these ids, and those that programs call so, as far as there are any. */
export async function monitorsForChange(
  sql: Queryable,
  organisation: string,
  ids: readonly string[],
  external: readonly (string | null)[] = [],
): Promise<StoredMonitor[]> {
  const called = external.flatMap((text) => text?.trim() || []).filter(storable);
  if (ids.length + called.length === 0) return [];
  return sql<StoredMonitor[]>`
    select ${shown(sql)}, m.partition, m.places, m.secrets, m.config_version
    from monitors m where m.organisation_id = ${organisation}
      and (m.id = any(${ids}::uuid[]) or m.external_id = any(${called}::text[])) order by m.key`;
}

/** The monitors of the organisation with these external ids. */
export async function monitorsCalled(
  sql: Queryable,
  organisation: string,
  external: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  if (external.length === 0) return new Map();
  const rows = await sql<{ id: string; external_id: string }[]>`
    select id, external_id from monitors where organisation_id = ${organisation}
      and external_id = any(${external}::text[])`;
  return new Map(rows.map(({ id, external_id }) => [external_id, id]));
}

export async function countMonitors(sql: Queryable, organisation: string): Promise<number> {
  return countOf(sql`select count(*) from monitors where organisation_id = ${organisation}`);
}

/** `words`: its group and tags, by which it is found too. */
export function monitorChoices(
  sql: Queryable,
  organisation: string,
): Promise<{ readonly id: string; readonly name: string; readonly words: string }[]> {
  return sql<{ id: string; name: string; words: string }[]>`
    select m.id, m.name, concat_ws(' ', g.name, nullif(array_to_string(m.tags, ' '), '')) as words
    from monitors m
      left join groups g on g.id = m.group_id and g.organisation_id = m.organisation_id
    where m.organisation_id = ${organisation} order by lower(m.name), m.id`;
}

const maxSame = 5;

/** Those that check the same address. A heartbeat has none: its target is a note. */
export function monitorsAt(
  sql: Queryable,
  organisation: string,
  type: string,
  target: string,
): Promise<{ readonly id: string; readonly name: string }[]> {
  return type === 'heartbeat' || target === ''
    ? Promise.resolve([])
    : sql<{ id: string; name: string }[]>`
        select id, name from monitors where organisation_id = ${organisation} and type = ${type}
          and target = ${searchText(target)} order by key limit ${maxSame}`;
}

export async function isNameUsed(
  sql: Queryable,
  organisation: string,
  name: string,
): Promise<boolean> {
  return (
    (
      await sql`select 1 from monitor_status where organisation_id = ${organisation}
      and name_folded = lower(${name}) limit 1`
    ).length > 0
  );
}
