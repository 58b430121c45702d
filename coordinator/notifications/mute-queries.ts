import { newId } from '../../shared/base/crypto.ts';
import type { Interval } from '../../shared/base/time.ts';
import type { Queryable } from '../database/connect.ts';
import { ms } from '../database/sql.ts';

/** When notifications are muted (rule 36): of a whole organisation, or of one monitor. */

/**
 * When a mute `u` ends. One that lasts until an outage is resolved still holds at that moment, so
 * that what it held is not sent then.
 */
function muteEnd(sql: Queryable) {
  return sql`
  least(u.until, coalesce(u.ended_at, u.until), case when u.until_resolved then (
    select min(i.resolved_at) + interval '1 millisecond' from incidents i
    where i.monitor_id = u.monitor_id and i.confirmed_at is not null
      and i.resolved_at >= u.began_at) end)`;
}

/** The mute of an organisation, if there is one; also for statements. */
export function muteOf(sql: Queryable, organisation: string, at: number) {
  return sql<{ readonly until: number; readonly by: string | null }[]>`
  select u.until, ${byName(sql)} as by from mutes u left join users p on p.id = u.muted_by
  where u.organisation_id = ${organisation} and u.monitor_id is null and u.ended_at is null
    and u.until > ${new Date(at)}
  order by u.until desc limit 1`;
}

function byName(sql: Queryable) {
  return sql`coalesce(nullif(p.name, ''), p.email)`;
}

/** Of a mute that lasts until someone ends it. */
const never = Date.parse('9999-01-01T00:00:00Z');

export type MonitorMute = {
  readonly monitor: string;
  /** Null: until someone ends it, or the outage is resolved. */
  readonly until: number | null;
  readonly until_resolved: boolean;
  readonly by: string | null;
};

/** Of a monitor `m`, in a statement; `until` in milliseconds. */
export type MuteColumn = Omit<MonitorMute, 'monitor' | 'until'> & { readonly until: number | null };

export function muteColumn(sql: Queryable, at: number) {
  return sql`(
  select json_build_object('until', case when u.until < ${new Date(never)} then ${ms(sql, 'u.until')} end,
    'until_resolved', u.until_resolved, 'by', ${byName(sql)})
  ${ofMutedMonitors(sql, at)} and u.monitor_id = m.id limit 1) as muted`;
}

/** Of those that mute a monitor now; there is at most one of each. */
function ofMutedMonitors(sql: Queryable, at: number) {
  return sql`
  from mutes u left join users p on p.id = u.muted_by
  where u.until > ${new Date(at)} and u.ended_at is null and ${muteEnd(sql)} > ${new Date(at)}`;
}

/** Those of these monitors that are muted by themselves. */
export async function monitorMutes(
  sql: Queryable,
  organisation: string,
  monitors: readonly string[],
  at: number,
): Promise<readonly MonitorMute[]> {
  const rows = await sql<(MonitorMute & { readonly until: number })[]>`
    select u.monitor_id as monitor, u.until, u.until_resolved, ${byName(sql)} as by
    ${ofMutedMonitors(sql, at)} and u.organisation_id = ${organisation}
      and u.monitor_id = any(${monitors}::uuid[])`;
  return rows.map((row) => ({ ...row, until: row.until < never ? row.until : null }));
}

/** When these organisations are muted, and these monitors alone. */
export async function mutesOf(
  sql: Queryable,
  { organisations, monitors }: { organisations: readonly string[]; monitors: readonly string[] },
  since: number,
): Promise<ReadonlyMap<string, readonly Interval[]>> {
  const rows = await sql<{ of: string; from: number; to: number }[]>`
    select coalesce(u.monitor_id, u.organisation_id) as of, u.began_at as from,
      ${muteEnd(sql)} as to
    from mutes u where u.organisation_id = any(${organisations}::uuid[])
      and (u.monitor_id is null or u.monitor_id = any(${monitors}::uuid[]))
      and u.until > ${new Date(since)}`;
  return Map.groupBy(rows, ({ of }) => of);
}

/** The newest mute of each of these monitors. `ended_at`: null until someone ends or replaces it. */
export function newestMutes(sql: Queryable, organisation: string, monitors: readonly string[]) {
  return sql<
    { readonly monitor: string; readonly began_at: number; readonly ended_at: number | null }[]
  >`
  select distinct on (monitor_id) monitor_id as monitor, began_at, ended_at from mutes
  where organisation_id = ${organisation} and monitor_id = any(${monitors}::uuid[])
  order by monitor_id, began_at desc`;
}

/**
 * There is one mute at a time of an organisation, and of each monitor: a new one replaces it. Held
 * steps are decided again. `monitors`: null for that of the organisation.
 */
export async function endMute(
  sql: Queryable,
  organisation: string,
  at: number,
  monitors: readonly string[] | null = null,
): Promise<void> {
  await sql`update mutes set ended_at = ${new Date(at)}, until = ${new Date(at)}
    where organisation_id = ${organisation} and ${ofMonitors(sql, monitors)}
      and ended_at is null and until > ${new Date(at)}`;
  await sql`update alert_steps set look_at = ${new Date(at)} where organisation_id = ${organisation}
    ${monitors === null ? sql`` : sql`and ${ofMonitors(sql, monitors)}`}
    and state = 'held' and holds -> -1 ->> 0 = 'mute'
    and look_at > ${new Date(at)}`;
}

function ofMonitors(sql: Queryable, monitors: readonly string[] | null) {
  return monitors === null ? sql`monitor_id is null` : sql`monitor_id = any(${monitors}::uuid[])`;
}

type NewMute = {
  readonly organisation: string;
  readonly user: string | null;
  readonly at: number;
};

export async function beginMute(
  sql: Queryable,
  { organisation, user, at, until }: NewMute & { readonly until: number },
): Promise<void> {
  await endMute(sql, organisation, at);
  await sql`insert into mutes (id, organisation_id, began_at, until, muted_by)
    values (${newId()}, ${organisation}, ${new Date(at)}, ${new Date(until)}, ${user})`;
}

export async function muteMonitors(
  sql: Queryable,
  { organisation, user, at }: NewMute,
  mutes: readonly Pick<MonitorMute, 'monitor' | 'until' | 'until_resolved'>[],
): Promise<void> {
  await endMute(
    sql,
    organisation,
    at,
    mutes.map(({ monitor }) => monitor),
  );
  for (const { monitor, until, until_resolved } of mutes)
    await sql`
      insert into mutes (id, organisation_id, monitor_id, began_at, until, until_resolved, muted_by)
      values (${newId()}, ${organisation}, ${monitor}, ${new Date(at)}, ${new Date(until ?? never)}, ${until_resolved},
        ${user})`;
}
