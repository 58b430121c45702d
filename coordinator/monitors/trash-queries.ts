import type { Queryable } from '../database/connect.ts';
import { announceAliases } from '../heartbeats/alias-queries.ts';
import { announceKeys, nameUnderPingKeys } from '../heartbeats/ping-key-queries.ts';
import { ownName } from '../people/queries.ts';
import { forgetParents } from './dependency-queries.ts';
import { endPingTokens, notifyOwners } from './queries.ts';

/** How long deleted monitors can be restored. */
export const trashDays = 7;

/** What is encrypted in a row, by table: it is kept apart, where a rotation of keys finds it. */
const boxes: Readonly<Record<string, string>> = { monitors: 'secrets', beat_tokens: 'token' };

type Key = {
  readonly columns: readonly string[];
  readonly of: string;
  readonly referenced: readonly string[];
  /** What becomes null when the referenced row is gone; null: this row goes with it. */
  readonly cleared: readonly string[] | null;
};

/** A table whose rows go with their monitor, and how they are found from it (`r0`). */
type Part = {
  readonly source: string;
  readonly from: string;
  readonly depth: number;
  readonly columns: readonly string[];
  readonly keys: readonly Key[];
};

/** As the trash names who deleted. */
export async function deleterName(
  sql: Queryable,
  { user }: { readonly user: string | null },
): Promise<string> {
  return user === null ? 'the operator' : ((await ownName(sql, user)) ?? 'a member');
}

/**
 * Moves monitors of an organisation with all their rows into the trash. Their ping addresses end,
 * and the owners of their partitions are notified.
 */
export async function trashMonitors(
  sql: Queryable,
  organisation: string,
  monitors: readonly { readonly id: string; readonly partition: number }[],
  by: string,
): Promise<void> {
  const ids = monitors.map(({ id }) => id);
  if (ids.length === 0) return;
  await sql`
    insert into deleted_monitors (monitor_id, monitor_key, organisation_id, name, type, target,
      deleted_by)
    select id, key, organisation_id, name, type, target, ${by} from monitors
    where organisation_id = ${organisation} and id = any(${ids}::uuid[]) order by key`;
  for (const { source, from, depth } of await partsOfMonitors(sql)) {
    const box = boxes[source];
    const row = `to_jsonb(r${depth})${box === undefined ? '' : ` - '${box}'`}`;
    await sql`
      insert into deleted_rows (monitor_id, source, row, box)
      select r0.id, ${source}, ${sql.unsafe(row)},
        ${sql.unsafe(box === undefined ? 'null::bytea' : `r${depth}.${box}`)}
      from ${sql.unsafe(from)}
      where r0.organisation_id = ${organisation} and r0.id = any(${ids}::uuid[])`;
  }
  await endPingTokens(sql, organisation, ids);
  await notifyOwners(
    sql,
    organisation,
    monitors.map(({ id, partition }) => ({ id, partition, change: 'deleted' })),
  );
  await sql`delete from monitors where organisation_id = ${organisation}
    and id = any(${ids}::uuid[])`;
  await forgetParents(sql, organisation, { monitors: ids });
}

/** Counted and kept by the database itself, from the others. */
const derived: readonly string[] = ['monitor_status'];

/**
 * Read from the catalogue, so that a table that comes later is kept too. Those that others refer to
 * come first.
 */
function partsOfMonitors(sql: Queryable): Promise<Part[]> {
  return sql<Part[]>`
  with recursive keys as (
    select k.conrelid as child, k.confrelid as parent, k.confdeltype = 'c' as cascades,
      array(select a.attname::text from unnest(k.conkey) with ordinality n (number, nth)
        join pg_attribute a on a.attrelid = k.conrelid and a.attnum = n.number order by nth) as own,
      array(select a.attname::text from unnest(k.confkey) with ordinality n (number, nth)
        join pg_attribute a on a.attrelid = k.confrelid and a.attnum = n.number
        order by nth) as other,
      array(select a.attname::text from unnest(coalesce(k.confdelsetcols, k.conkey)) n (number)
        join pg_attribute a on a.attrelid = k.conrelid and a.attnum = n.number) as cleared
    from pg_constraint k where k.contype = 'f'
      and k.connamespace = current_schema()::regnamespace),
  tree as (
    select 'monitors'::regclass::oid as source, 'monitors r0' collate "C" as from, 0 as depth
    union all
    select k.child, format('%s join %s r%s on r%s.%I = r%s.%I', t.from, k.child::regclass,
      t.depth + 1, t.depth + 1, k.own[1], t.depth, k.other[1]), t.depth + 1
    from tree t join keys k on k.parent = t.source and k.cascades and cardinality(k.own) = 1)
  select distinct on (t.depth, t.source) t.source::regclass::text as source, t.from, t.depth,
    array(select quote_ident(a.attname) from pg_attribute a where a.attrelid = t.source
      and a.attnum > 0 and not a.attisdropped and a.attgenerated = '' order by a.attnum) as columns,
    coalesce((select jsonb_agg(jsonb_build_object('columns', k.own, 'of', k.parent::regclass::text,
        'referenced', k.other, 'cleared', case when not k.cascades then k.cleared end))
      from keys k where k.child = t.source), '[]') as keys
  from tree t where t.source::regclass::text <> all(${derived}) order by t.depth, t.source`;
}

export type DeletedMonitor = {
  readonly id: string;
  readonly key: number;
  readonly name: string;
  readonly type: string;
  readonly target: string;
  readonly external_id: string | null;
  readonly deleted_at: number;
  readonly deleted_by: string;
};

/** The one that was deleted last comes first. */
export function deletedMonitors(
  sql: Queryable,
  organisation: string,
  before: number,
  limit: number,
): Promise<DeletedMonitor[]> {
  return sql<DeletedMonitor[]>`
  select ${shown(sql)} from deleted_monitors d where d.organisation_id = ${organisation}
    and d.key < ${before} order by d.key desc limit ${limit}`;
}

function shown(sql: Queryable) {
  return sql`d.monitor_id as id, d.key, d.name, d.type, d.target,
  d.deleted_at, d.deleted_by, (select r.row ->> 'external_id' from deleted_rows r
    where r.monitor_id = d.monitor_id and r.source = 'monitors') as external_id`;
}

/** Those of these that are in the trash; nobody else restores or purges them meanwhile. */
export function deletedAmong(
  sql: Queryable,
  organisation: string,
  ids: readonly string[],
): Promise<DeletedMonitor[]> {
  return sql<DeletedMonitor[]>`
  select ${shown(sql)} from deleted_monitors d where d.organisation_id = ${organisation}
    and d.monitor_id = any(${ids}::uuid[]) order by d.key for update of d`;
}

/**
 * Puts them back as they were. What refers to a page, a window or a channel that is gone since is
 * left out. The time in the trash was not checked, as in a pause; open incidents and
 * warnings ended when it began.
 */
export async function restoreMonitors(
  sql: Queryable,
  organisation: string,
  ids: readonly string[],
): Promise<void> {
  const parts = await partsOfMonitors(sql);
  for (const part of parts) {
    // The events of its past were told when they happened; that it is there again is news.
    if (part.source !== 'monitors') await sql`set local antipode.restoring = 'on'`;
    await putBack(sql, part, parts, organisation, ids);
  }
  await markTrashTime(sql, ids);
  await sql`set local antipode.restoring = 'off'`;
  await nameUnderPingKeys(sql, organisation, ids);
  await announceAliases(sql, organisation, ids);
  await announceRestored(sql, organisation, ids);
  await sql`delete from deleted_monitors where organisation_id = ${organisation}
    and monitor_id = any(${ids}::uuid[])`;
}

async function putBack(
  sql: Queryable,
  { source, columns, keys }: Part,
  parts: readonly Part[],
  organisation: string,
  ids: readonly string[],
): Promise<void> {
  const of = sql`d.organisation_id = ${organisation} and r.monitor_id = any(${ids}::uuid[])
    and r.source = ${source}`;
  const rows = sql`deleted_rows r join deleted_monitors d on d.monitor_id = r.monitor_id`;
  const [one] = await sql<{ names: string[] }[]>`
    select array(select quote_ident(k) from jsonb_object_keys(r.row) k) as names
    from ${rows} where ${of} limit 1`;
  if (one === undefined) return;
  const box = boxes[source];
  // A column that came since has its default.
  const known = columns.filter((name) => one.names.includes(name) || name === box);
  const exists = ({ of: parent, columns: own, referenced }: Key): string =>
    `exists (select from ${parent} p where ${own.map((name, nth) => `p.${referenced[nth]} = t.${name}`).join(' and ')})`;
  const values = known.map((name) => {
    if (name === box) return 'r.box';
    const key = keys.find(({ cleared }) => cleared?.includes(name) === true);
    return key === undefined ? `t.${name}` : `case when ${exists(key)} then t.${name} end`;
  });
  const needed = keys.filter(
    ({ cleared, of: parent }) => cleared === null && !parts.some((part) => part.source === parent),
  );
  const complete = needed.map(
    (key) =>
      ` and (${key.columns.map((name) => `t.${name} is null`).join(' or ')} or ${exists(key)})`,
  );
  await sql`
    insert into ${sql.unsafe(`${source} (${known.join(', ')})`)} overriding system value
    select ${sql.unsafe(values.join(', '))} from ${rows}
      cross join lateral jsonb_populate_record(null::${sql.unsafe(source)}, r.row) t
    where ${of} ${sql.unsafe(complete.join(''))} order by r.id`;
}

/** `notes.deleted` of core/incident.ts, which the engine may have had no time to write. */
const endedWords = 'the monitor was deleted';

async function markTrashTime(sql: Queryable, ids: readonly string[]): Promise<void> {
  const among = sql`d.monitor_id = any(${ids}::uuid[])`;
  // Subscribers hear no more of an outage whose end nobody saw.
  await sql`
    insert into status_page_told (page_id, incident_id, event, told_at)
    select t.page_id, t.incident_id, 'over', now() from status_page_told t
    join incidents i on i.id = t.incident_id join deleted_monitors d on d.monitor_id = i.monitor_id
    where ${among} and i.resolved_at is null and t.event = 'began' on conflict do nothing`;
  await sql`update incidents i set note = ${endedWords},
    resolved_at = greatest(d.deleted_at, i.started_at, i.confirmed_at)
    from deleted_monitors d where ${among} and i.monitor_id = d.monitor_id
      and i.resolved_at is null`;
  // The engine begins without any: what is seen again begins anew.
  await sql`update warnings w set ended_at = greatest(d.deleted_at, w.confirmed_at)
    from deleted_monitors d where ${among} and w.monitor_id = d.monitor_id
      and w.ended_at is null`;
  await sql`update ledger l set ended_at = greatest(d.deleted_at, l.began_at)
    from deleted_monitors d where ${among} and l.monitor_id = d.monitor_id
      and l.kind = 'unknown' and l.ended_at is null`;
  // A monitor that was paused stays so from then on, as its ledger has it.
  await sql`update monitors m set paused_at = l.began_at from ledger l
    where m.id = any(${ids}::uuid[]) and m.paused_at is not null and l.monitor_id = m.id
      and l.kind = 'paused' and l.ended_at is null`;
  await sql`
    insert into ledger (monitor_id, kind, began_at, ended_at, interval_s)
    select m.id, 'paused', d.deleted_at, greatest(now(), d.deleted_at), m.interval_s
    from deleted_monitors d join monitors m on m.id = d.monitor_id
    where ${among} and m.paused_at is null on conflict do nothing`;
  // As after a pause: the silence of a job meanwhile does not count against it.
  await sql`update beat_states set state = jsonb_set(state, '{paused}', 'true')
    where monitor_id = any(${ids}::uuid[])`;
  await sql`update group_memberships g set ended_at = greatest(d.deleted_at, g.began_at)
    from deleted_monitors d where ${among} and g.monitor_id = d.monitor_id and g.ended_at is null
      and not exists (select from groups where id = g.group_id)`;
  await sql`delete from beat_tokens where monitor_id = any(${ids}::uuid[]) and until <= now()`;
}

/** To the owners of their partitions, and of heartbeats to the ping receivers. */
async function announceRestored(
  sql: Queryable,
  organisation: string,
  ids: readonly string[],
): Promise<void> {
  const monitors = await sql<
    { id: string; partition: number; unchecked_since: number; is_paused: boolean }[]
  >`
    select m.id, m.partition, coalesce(m.paused_at, d.deleted_at) as unchecked_since,
      m.paused_at is not null as is_paused
    from monitors m join deleted_monitors d on d.monitor_id = m.id
    where m.organisation_id = ${organisation} and m.id = any(${ids}::uuid[]) order by m.key`;
  await notifyOwners(
    sql,
    organisation,
    monitors.map(({ id, partition, unchecked_since, is_paused }) => ({
      id,
      partition,
      change: 'restored',
      restored: { unchecked_since, is_paused },
    })),
  );
  const tokens = await sql<{ key: string }[]>`
    select encode(fingerprint, 'hex') as key from beat_tokens
    where monitor_id = any(${ids}::uuid[])`;
  await announceKeys(sql, organisation, tokens);
}

export function purgeMonitors(
  sql: Queryable,
  organisation: string,
  ids: readonly string[],
): Promise<number> {
  return purge(
    sql,
    sql`select monitor_id from deleted_monitors where organisation_id = ${organisation}
      and monitor_id = any(${ids}::uuid[])`,
  );
}

/**
 * Deletes them for ever. Their checks and figures are marked to be deleted. Returns how
 * many there were.
 */
async function purge(sql: Queryable, which: ReturnType<Queryable>): Promise<number> {
  return (
    await sql`
      with gone as (delete from deleted_monitors where monitor_id in (${which})
        returning monitor_key, monitor_id),
      aliases as (delete from ping_aliases where monitor_id in (select monitor_id from gone))
      insert into forgotten_monitors (monitor_key, monitor_id)
      select monitor_key, monitor_id from gone`
  ).count;
}

/** Some that an organisation has in the trash. */
export function purgeOrganisation(
  sql: Queryable,
  organisation: string,
  limit: number,
): Promise<number> {
  return purge(
    sql,
    sql`select monitor_id from deleted_monitors where organisation_id = ${organisation}
      order by key limit ${limit}`,
  );
}

/** Some of those whose time in the trash is over. */
export function purgeOld(sql: Queryable, before: number, limit: number): Promise<number> {
  return purge(
    sql,
    sql`select monitor_id from deleted_monitors where deleted_at < ${new Date(before)}
      order by deleted_at limit ${limit}`,
  );
}
