import type { Config } from '../../shared/checks/assignment.ts';
import type { Kind } from '../../shared/checks/kinds.ts';
import type { Monitor } from '../domain/monitor.ts';
import type { Labels } from '../domain/monitor-labels.ts';
import type { Queryable } from './store-database.ts';
import { enqueue, type MonitorChange } from './store-outbox.ts';
import { utcText } from './store-sql-utc-text.ts';

/** A monitor as lists and answers show it. */
export type ShownMonitor = {
  /** Another one after every change of the row. */
  readonly version: string;
  readonly key: number;
  readonly id: string;
  readonly name: string;
  readonly type: Kind;
  readonly target: string;
  readonly interval_s: number;
  readonly enabled: boolean;
  readonly config: Config;
  readonly group_id: string | null;
  readonly affects_group_status: boolean;
  readonly external_id: string | null;
  readonly tags: readonly string[];
  /** As utcText() gives it. */
  readonly created_at: string;
};

const shown = (sql: Queryable) =>
  sql`xmin as version, key, id, name, type, target, interval_s, enabled, config, group_id, affects_group_status, external_id, tags, ${utcText(sql, 'created_at')} as created_at`;

export const monitorById = async (sql: Queryable, organisation: string, id: string): Promise<ShownMonitor | undefined> => {
  const [row] = await sql<ShownMonitor[]>`select ${shown(sql)} from monitors where organisation_id = ${organisation} and id = ${id}`;
  return row;
};

/** What only a change needs besides what is shown. */
export type StoredMonitor = ShownMonitor & {
  readonly partition: number;
  readonly secrets: Uint8Array | null;
  readonly config_version: number;
};

/** Under the organisation's lock, so that nobody else changes it meanwhile. */
export const monitorForChange = async (sql: Queryable, organisation: string, id: string): Promise<StoredMonitor | undefined> => {
  const [row] = await sql<StoredMonitor[]>`
    select ${shown(sql)}, partition, secrets, config_version from monitors where organisation_id = ${organisation} and id = ${id}`;
  return row;
};

/** Which monitors of the organisation have these external ids. */
export const monitorsCalled = async (
  sql: Queryable,
  organisation: string,
  external: readonly string[],
): Promise<ReadonlyMap<string, string>> => {
  if (external.length === 0) return new Map();
  const rows = await sql<{ id: string; external_id: string }[]>`
    select id, external_id from monitors where organisation_id = ${organisation} and external_id = any(${[...external]}::text[])`;
  return new Map(rows.map(({ id, external_id }) => [external_id, id]));
};

/** As monitorForChange(), of several. */
export const monitorsForChange = (sql: Queryable, organisation: string, ids: readonly string[]): Promise<StoredMonitor[]> =>
  sql<StoredMonitor[]>`
    select ${shown(sql)}, partition, secrets, config_version from monitors
    where organisation_id = ${organisation} and id = any(${[...ids]}::uuid[])`;

export const countMonitors = async (sql: Queryable, organisation: string): Promise<number> => {
  const [row] = await sql<{ count: number }[]>`select count(*) as count from monitors where organisation_id = ${organisation}`;
  return row?.count ?? 0;
};

/** Those of these ids that are monitors of the organisation. */
export const monitorsAmong = async (sql: Queryable, organisation: string, ids: readonly string[]): Promise<ReadonlySet<string>> => {
  if (ids.length === 0) return new Set();
  const rows = await sql<{ id: string }[]>`
    select id from monitors where organisation_id = ${organisation} and id = any(${[...ids]}::uuid[])`;
  return new Set(rows.map(({ id }) => id));
};

export const monitorChoices = (sql: Queryable, organisation: string): Promise<{ readonly id: string; readonly name: string }[]> =>
  sql<{ id: string; name: string }[]>`select id, name from monitors where organisation_id = ${organisation} order by lower(name), id`;

/** The running number that big tables know it by. */
export const monitorKey = async (sql: Queryable, organisation: string, id: string): Promise<number | undefined> => {
  const [row] = await sql<{ key: number }[]>`select key from monitors where organisation_id = ${organisation} and id = ${id}`;
  return row?.key;
};

export const insertMonitor = async (
  sql: Queryable,
  id: string,
  partition: number,
  monitor: Monitor,
  secrets: Buffer | null,
  { external_id, tags }: Labels,
): Promise<ShownMonitor> => {
  const { organisation, name, kind, target, interval_s, config, group, affects_group_status } = monitor;
  const rows = await sql<ShownMonitor[]>`
    insert into monitors (id, organisation_id, partition, name, type, target, interval_s, config, secrets, group_id, affects_group_status,
      external_id, tags)
    values (${id}, ${organisation}, ${partition}, ${name}, ${kind}, ${target}, ${interval_s}, ${JSON.stringify(config)}::text::jsonb,
      ${secrets}, ${group}, ${affects_group_status}, ${external_id}, ${[...tags]}::text[])
    returning ${shown(sql)}`;
  return only(rows);
};

/** `paused_at` is the transaction's time, which is that of the outbox line, too: the engine writes the same moment to the ledger. */
export const updateMonitor = async (
  sql: Queryable,
  id: string,
  monitor: Monitor,
  secrets: Buffer | null,
  { external_id, tags }: Labels,
): Promise<ShownMonitor> => {
  const { name, target, interval_s, enabled, config, group, affects_group_status, config_version } = monitor;
  const rows = await sql<ShownMonitor[]>`
    update monitors set name = ${name}, target = ${target}, interval_s = ${interval_s}, enabled = ${enabled},
      config = ${JSON.stringify(config)}::text::jsonb, secrets = ${secrets}, group_id = ${group},
      affects_group_status = ${affects_group_status}, config_version = ${config_version}, external_id = ${external_id}, tags = ${[...tags]}::text[],
      paused_at = ${enabled ? null : sql`coalesce(paused_at, now())`}
    where id = ${id} returning ${shown(sql)}`;
  return only(rows);
};

const only = <Row>([row]: readonly Row[]): Row => {
  if (row === undefined) throw new Error('a row that was just written did not come back');
  return row;
};

/** The row, and what refers to it, goes now; its results and rollups are remembered as to be removed in small bites. */
export const removeMonitor = async (sql: Queryable, monitor: Pick<StoredMonitor, 'id' | 'key'>): Promise<void> => {
  await sql`insert into forgotten_monitors (monitor_key, monitor_id) values (${monitor.key}, ${monitor.id})`;
  await sql`delete from monitors where id = ${monitor.id}`;
};

/** For the owner of its partition, who closes what is open and tells the probes. */
export const tellOwner = (
  sql: Queryable,
  of: { readonly organisation: string; readonly partition: number },
  payload: MonitorChange,
): Promise<void> => enqueue(sql, { topic: 'monitor', payload, partition: of.partition, organisation: of.organisation });

/** Which group the monitor is in from now on (rule 26: cover follows membership). */
export const writeMembership = async (sql: Queryable, organisation: string, monitor: string, group: string | null): Promise<void> => {
  await sql`update group_memberships set ended_at = now() where monitor_id = ${monitor} and ended_at is null`;
  if (group === null) return;
  await sql`insert into group_memberships (organisation_id, monitor_id, group_id, began_at) values (${organisation}, ${monitor}, ${group}, now())`;
};
