import { isoText } from '../../shared/base/time.ts';
import type { CauseParams } from '../../shared/checks/result.ts';
import type { Queryable } from '../database/connect.ts';
import { countOf, jsonText } from '../database/sql.ts';
import type { MonitorKey } from '../results/reading.ts';
import type { BurnWindows } from './burn.ts';
import type { ObjectivePeriod } from './model.ts';

export type ObjectiveRow = {
  readonly key: number;
  readonly id: string;
  readonly name: string;
  readonly monitor: string | null;
  readonly group: string | null;
  readonly tag: string | null;
  readonly monitor_name: string | null;
  readonly group_name: string | null;
  readonly target: number;
  readonly latency_ms: number | null;
  readonly period: ObjectivePeriod;
  readonly on_status_pages: boolean;
  readonly created_at: number;
  /** The monitors that it is of now. */
  readonly monitors: readonly string[];
};

/** Of `o`, for statements. */
export const shownNames =
  'o.id, o.name, o.monitor_id as monitor, o.group_id as group, o.tag, o.target, o.latency_ms, o.period, o.on_status_pages, o.created_at';

function columns(sql: Queryable) {
  return sql`o.key, ${sql.unsafe(shownNames)}, ${membersOf(sql)} as monitors,
    (select name from monitors where id = o.monitor_id) as monitor_name,
    (select name from groups where id = o.group_id) as group_name`;
}

function membersOf(sql: Queryable) {
  return sql`array(select m.id from monitors m where ${isMember(sql)})`;
}

/** Whether objective `o` is of monitor `m`. */
function isMember(sql: Queryable) {
  return sql`m.organisation_id = o.organisation_id
    and (o.monitor_id is null or m.id = o.monitor_id)
    and (o.group_id is null or m.group_id = o.group_id)
    and (o.tag is null or m.tags @> array[o.tag])`;
}

export function objectivePage(
  sql: Queryable,
  organisation: string,
  after: number,
  limit: number,
): Promise<ObjectiveRow[]> {
  return sql<ObjectiveRow[]>`
    select ${columns(sql)} from objectives o where o.organisation_id = ${organisation}
      and o.key > ${after} order by o.key limit ${limit}`;
}

/** Those that a status page of these monitors shows: it has all that one is of. */
export function publishedObjectives(
  sql: Queryable,
  organisation: string,
  monitors: readonly string[],
): Promise<ObjectiveRow[]> {
  return sql<ObjectiveRow[]>`
    select * from (select ${columns(sql)} from objectives o
      where o.organisation_id = ${organisation} and o.on_status_pages) as o
    where monitors <> '{}' and monitors <@ ${monitors}::uuid[] order by key`;
}

export async function objectiveById(
  sql: Queryable,
  organisation: string,
  id: string,
): Promise<ObjectiveRow | undefined> {
  const [row] = await sql<ObjectiveRow[]>`
    select ${columns(sql)} from objectives o where o.organisation_id = ${organisation}
      and o.id = ${id}`;
  return row;
}

export function countObjectives(sql: Queryable, organisation: string): Promise<number> {
  return countOf(sql`select count(*) from objectives where organisation_id = ${organisation}`);
}

type NewObjective = Pick<
  ObjectiveRow,
  | 'id'
  | 'name'
  | 'monitor'
  | 'group'
  | 'tag'
  | 'target'
  | 'latency_ms'
  | 'period'
  | 'on_status_pages'
>;

export async function insertObjective(
  sql: Queryable,
  organisation: string,
  { id, name, monitor, group, tag, target, latency_ms, period, on_status_pages }: NewObjective,
  at: number,
): Promise<void> {
  await sql`
    insert into objectives (id, organisation_id, name, monitor_id, group_id, tag, target, latency_ms,
      period, on_status_pages, created_at)
    values (${id}, ${organisation}, ${name}, ${monitor}, ${group}, ${tag}, ${target},
      ${latency_ms}, ${period}, ${on_status_pages}, ${new Date(at)})`;
}

type Changeable = 'name' | 'target' | 'period' | 'on_status_pages';

export async function updateObjective(
  sql: Queryable,
  organisation: string,
  { id, name, target, period, on_status_pages }: Pick<ObjectiveRow, 'id' | Changeable>,
): Promise<void> {
  await sql`update objectives set name = ${name}, target = ${target}, period = ${period},
      on_status_pages = ${on_status_pages}
    where organisation_id = ${organisation} and id = ${id}`;
}

export async function removeObjective(
  sql: Queryable,
  organisation: string,
  id: string,
): Promise<void> {
  await sql`delete from objectives where organisation_id = ${organisation} and id = ${id}`;
}

export type WatchedObjective = Pick<
  ObjectiveRow,
  'id' | 'name' | 'target' | 'latency_ms' | 'monitors'
>;

/** The objectives of everyone of response times, or with a monitor that was down since a moment. */
export function objectivesBurning(sql: Queryable, since: number): Promise<WatchedObjective[]> {
  return sql<WatchedObjective[]>`
    select o.id, o.name, o.target, o.latency_ms, ${membersOf(sql)} as monitors from objectives o
    where o.latency_ms is not null or exists (select from incidents i join monitors m on m.id = i.monitor_id
      where i.organisation_id = o.organisation_id and ${isMember(sql)}
        and i.confirmed_at is not null
        and (i.resolved_at is null or i.resolved_at > ${new Date(since)}))
    order by o.key`;
}

type MemberKey = MonitorKey & { readonly id: string };

/** Of monitors that the caller may see. */
export function keysOf(sql: Queryable, monitors: readonly string[]): Promise<MemberKey[]> {
  return sql<MemberKey[]>`
    select id, key, partition from monitors where id = any(${monitors}::uuid[])`;
}

export type OpenBurn = {
  readonly id: string;
  readonly objective: string;
  readonly code: BurnWindows['code'];
};

export function openBurns(sql: Queryable): Promise<OpenBurn[]> {
  return sql<OpenBurn[]>`
    select id, objective_id as objective, code from warnings
    where ended_at is null and objective_id is not null order by key`;
}

export type NewBurn = OpenBurn & { readonly monitor: string; readonly details: CauseParams };

/**
 * Ends these warnings and begins those, each with its alert. What another coordinator began or ended
 * at the same time is told once, by the other.
 */
export async function writeBurns(
  sql: Queryable,
  { begun, ended }: { readonly begun: readonly NewBurn[]; readonly ended: readonly string[] },
  now: number,
): Promise<void> {
  const at = isoText(now);
  if (ended.length > 0)
    await sql`
      with ended as (update warnings set ended_at = greatest(${at}::timestamptz, confirmed_at)
        where id = any(${ended}::uuid[]) and ended_at is null
        returning id, organisation_id, monitor_id, details)
      insert into alerts (organisation_id, monitor_id, warning_id, event, details, state)
      select organisation_id, monitor_id, id, 'warning_over', details, 'due' from ended`;
  if (begun.length > 0)
    await sql`
      with begun as (
        insert into warnings (id, organisation_id, monitor_id, objective_id, code, details,
          began_at, confirmed_at)
        select w.id, o.organisation_id, m.id, o.id, w.code, w.details, ${at}::timestamptz,
          ${at}::timestamptz
        from json_to_recordset(${jsonText(begun)}::text::json) as w (id uuid, objective uuid,
          monitor uuid, code text, details jsonb)
          join objectives o on o.id = w.objective
          join monitors m on m.id = w.monitor and m.organisation_id = o.organisation_id
        order by o.key, w.code
        on conflict (objective_id, code) where ended_at is null and objective_id is not null
          do nothing
        returning id, organisation_id, monitor_id, details)
      insert into alerts (organisation_id, monitor_id, warning_id, event, details, state)
      select organisation_id, monitor_id, id, 'warning', details, 'due' from begun`;
}
