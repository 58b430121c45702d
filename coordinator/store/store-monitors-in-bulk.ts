import type { Monitor } from '../domain/monitor.ts';
import type { Labels } from '../domain/monitor-labels.ts';
import type { Queryable } from './store-database.ts';
import { enqueueAll } from './store-outbox.ts';
import type { PingTokenRow } from './store-ping-tokens.ts';

/** Many monitors in a few statements, under the organisation's lock. */

export type BulkRow = {
  readonly id: string;
  readonly partition: number;
  readonly monitor: Monitor;
  readonly secrets: Buffer | null;
  readonly labels: Labels;
};

const recordOf = ({ id, partition, monitor, secrets, labels }: BulkRow) => {
  const { name, kind: type, target, interval_s, config, group, affects_group_status, config_version } = monitor;
  const sealed = secrets === null ? null : secrets.toString('base64');
  return { id, partition, name, type, target, interval_s, config, secrets: sealed, group, affects_group_status, config_version, ...labels };
};

const records = (sql: Queryable, rows: readonly BulkRow[]) => sql`
  jsonb_to_recordset(${JSON.stringify(rows.map(recordOf))}::text::jsonb) as r (id uuid, partition smallint, name text, type text, target text,
    interval_s int, config jsonb, secrets text, "group" uuid, affects_group_status boolean, config_version int, external_id text, tags jsonb)`;

const tags = (sql: Queryable) => sql`array(select jsonb_array_elements_text(r.tags))`;

/** In their order. */
export const insertMonitors = async (sql: Queryable, organisation: string, rows: readonly BulkRow[]): Promise<void> => {
  if (rows.length === 0) return;
  await sql`
    insert into monitors (id, organisation_id, partition, name, type, target, interval_s, config, secrets, group_id, affects_group_status,
      external_id, tags)
    select r.id, ${organisation}, r.partition, r.name, r.type, r.target, r.interval_s, r.config, decode(r.secrets, 'base64'), r."group",
      r.affects_group_status, r.external_id, ${tags(sql)}
    from ${records(sql, rows)}`;
};

/** All but whether they are checked. */
export const updateMonitors = async (sql: Queryable, organisation: string, rows: readonly BulkRow[]): Promise<void> => {
  if (rows.length === 0) return;
  await sql`
    update monitors m set name = r.name, target = r.target, interval_s = r.interval_s, config = r.config, secrets = decode(r.secrets, 'base64'),
      group_id = r."group", affects_group_status = r.affects_group_status, config_version = r.config_version,
      external_id = r.external_id, tags = ${tags(sql)}
    from ${records(sql, rows)} where m.id = r.id and m.organisation_id = ${organisation}`;
};

/** Which groups they are in from now on (rule 26: cover follows membership). */
export const writeMemberships = async (
  sql: Queryable,
  organisation: string,
  moves: readonly { readonly monitor: string; readonly group: string | null }[],
): Promise<void> => {
  if (moves.length === 0) return;
  const all = moves.map(({ monitor }) => monitor);
  await sql`update group_memberships set ended_at = now() where monitor_id = any(${all}::uuid[]) and ended_at is null`;
  await sql`
    insert into group_memberships (organisation_id, monitor_id, group_id, began_at)
    select ${organisation}, r.monitor, r."group", now()
    from jsonb_to_recordset(${JSON.stringify(moves)}::text::jsonb) as r (monitor uuid, "group" uuid) where r."group" is not null`;
};

/** Writes the tokens and tells the ping receivers that their keys exist. */
export const insertPingTokens = async (sql: Queryable, organisation: string, tokens: readonly PingTokenRow[]): Promise<void> => {
  if (tokens.length === 0) return;
  const rows = tokens.map(({ fingerprint, monitor, box }) => ({ fingerprint, monitor, box: box.toString('base64') }));
  await sql`
    insert into beat_tokens (fingerprint, organisation_id, monitor_id, token)
    select decode(r.fingerprint, 'hex'), ${organisation}, r.monitor, decode(r.box, 'base64')
    from jsonb_to_recordset(${JSON.stringify(rows)}::text::jsonb) as r (fingerprint text, monitor uuid, box text)`;
  await enqueueAll(
    sql,
    tokens.map(({ fingerprint, monitor }) => ({
      ...{ topic: 'beat_key' as const, partition: null, organisation },
      payload: { key: fingerprint, monitor, until: null },
    })),
  );
};
