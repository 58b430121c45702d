import { wordsOf } from '../../shared/base/names.ts';
import type { Interval } from '../../shared/base/time.ts';
import type { Config } from '../../shared/checks/assignment.ts';
import type { Kind } from '../../shared/checks/kinds.ts';
import type { Queryable } from '../database/connect.ts';
import { escapeLike, limited, ms, searchText, utcText } from '../database/sql.ts';
import { orNotFound } from '../gate/context.ts';
import { type CoverRow, causedCoverFrom, coverColumns, coverFrom } from '../maintenance/cover.ts';
import { placeNameOf, seeingProbes } from '../probes/places.ts';
import type { MonitorKey, Results } from '../results/reading.ts';
import type { OpenWarning } from '../warnings/model.ts';
import { isWarned, warningsColumn } from '../warnings/queries.ts';
import { type MonitorRow, shownNames } from './row.ts';
import type { MonitorHistory, Status, StatusRow, StoredStatus } from './status.ts';

/**
 * Queries of the dashboard: counts by status, and one page of monitors, filtered and sorted by the
 * database (monitor_status).
 */

/** Monitors that maintenance covers at this moment. Usually there are none. */
export async function coveredNow(
  sql: Queryable,
  organisation: string,
  now: number,
): Promise<readonly string[]> {
  const rows = await sql<{ id: string }[]>`
    with covering as (
      select w.id from maintenance_windows w join maintenance_occurrences o on o.window_id = w.id
      where w.organisation_id = ${organisation} and w.deleted_at is null
        and o.began_at <= ${new Date(now)} and o.ended_at > ${new Date(now)})
    select s.monitor_id as id from monitor_status s
    where s.organisation_id = ${organisation} and s.status <> 'paused' and s.monitor_id in (
      select mm.monitor_id from covering c join maintenance_choices mm on mm.window_id = c.id
      union select gm.monitor_id from covering c join maintenance_choices mg on mg.window_id = c.id
        join group_memberships gm on gm.group_id = mg.group_id and gm.ended_at is null)`;
  return rows.map(({ id }) => id);
}

/** Usually none are covered, and a statement without an array is planned only once. */
export function notCovered(sql: Queryable, covered: readonly string[], column: string) {
  return covered.length === 0
    ? sql`true`
    : sql`not ${sql.unsafe(column)} = any(${covered}::uuid[])`;
}

export type StatusCounts = Readonly<Partial<Record<StatusRow, number>>>;

/**
 * How many have each status, and all. Most monitors are up, so these are not counted one by one:
 * they are the rest of all (monitor_counts).
 */
export function rareStatuses(sql: Queryable, organisation: string, covered: readonly string[]) {
  return sql`
  select status, count(*) as count from monitor_status
  where organisation_id = ${organisation} and status in ('down', 'verifying', 'pending', 'paused')
    and ${notCovered(sql, covered, 'monitor_id')}
  group by status
  union all select 'all', coalesce(sum(monitors), 0) from monitor_counts
  where organisation_id = ${organisation} and facet = 'kind'`;
}

/**
 * A monitor with results was observed, even when no stretch says so. Looks at some
 * after this key; returns the last of them, or null at the end.
 */
export async function markSeen(
  sql: Queryable,
  results: Results,
  after: number,
  limit: number,
): Promise<number | null> {
  const rows = await sql<(MonitorKey & { id: string })[]>`
    select m.id, m.key, m.partition
    from monitor_status s join monitors m on m.id = s.monitor_id
    where not s.seen and s.monitor_key > ${after} order by s.monitor_key ${limited(sql, limit)}`;
  const newest = await results.lastVerdicts(sql, rows);
  const seen = rows.flatMap(({ id, key }) => (newest.has(key) ? [id] : []));
  if (seen.length > 0)
    await sql`with seen as (
        update monitor_status set seen = true where monitor_id = any(${seen}::uuid[])
        returning monitor_id)
      select refresh_status(array_agg(monitor_id)) from seen`;
  return rows.length < limit ? null : (rows.at(-1)?.key ?? null);
}

type Stretch = readonly [from: number, to: number | null];

type Row = CoverRow &
  MonitorKey & {
    readonly id: string;
    readonly type: Kind;
    readonly interval_s: number;
    readonly config: Config;
    readonly created_at: number;
    readonly paused_at: number | null;
    readonly ledger: readonly (readonly [kind: 'paused' | 'unknown', ...Stretch])[];
    /** Resolved incidents here were all confirmed; only for an open one does it matter when. */
    readonly incidents: readonly (readonly [...Stretch, confirmed_at: number | null, id: string])[];
    readonly last_beat_at: number | null;
    readonly last_resolved_at: number | null;
    readonly last_gap_ended_at: number | null;
    readonly resumed_at: number | null;
    readonly begins_anew_at: number | null;
  };

/**
 * The histories of some monitors of an organisation since `from`, in one statement and therefore of
 * one moment. Of single checks only the newest is read; they reach back as long as they are stored.
 */
export async function monitorHistories(
  sql: Queryable,
  results: Results,
  organisation: string,
  monitors: readonly string[],
  window: Interval,
): Promise<readonly MonitorHistory[]> {
  const which = sql`w.organisation_id = ${organisation} and ${among(sql, monitors)}`;
  const rows = await withNewest(sql, results, await historyRows(sql, which, window));
  return rows.map((row) => historyFrom(row, window.to));
}

/**
 * The same of what the ledger holds, for actors: of monitors of several organisations, and without
 * silence that was not noticed yet.
 */
export async function ledgerHistories(
  sql: Queryable,
  monitors: readonly string[],
  window: Interval,
): Promise<readonly MonitorHistory[]> {
  const rows = await historyRows(sql, among(sql, monitors), window);
  return rows.map((row) => historyFrom({ ...row, last_result_at: window.to }, window.to));
}

function historyRows(
  sql: Queryable,
  which: ReturnType<typeof among>,
  { from, to: now }: Interval,
): Promise<Row[]> {
  return sql<Row[]>`
    select w.id, w.key, w.partition, w.type, w.interval_s, w.config, w.created_at, w.paused_at,
      l.ledger, l.last_gap_ended_at, l.resumed_at, i.incidents, i.last_resolved_at,
      ${coverColumns(sql, from, now)},
      (select ${ms(sql, 'max(b.at)')} from beats b where b.monitor_id = w.id
        and b.kind in ('success', 'fail')) as last_beat_at,
      (select ${ms(sql, 'min(o.created_at)')} from outbox o where o.done_at is null
        and o.topic = 'monitor' and o.partition = w.partition
        and o.payload->>'monitor' = w.id::text
        and (o.payload->>'change' = 'resumed' or o.payload->>'what_is_checked_changed' = 'true'))
        as begins_anew_at
    from monitors w cross join lateral (
      select coalesce(json_agg(json_build_array(l.kind, ${ms(sql, 'l.began_at')},
          ${ms(sql, 'l.ended_at')}))
          filter (where l.ended_at is null or l.ended_at > ${new Date(from)}), '[]') as ledger,
        ${ms(
          sql,
          `greatest(w.edited_at, max(l.ended_at) filter (where l.kind = 'unknown'
            and (l.began_at <= w.created_at
              or l.began_at <= w.edited_at and l.ended_at >= w.edited_at
              or exists (select from ledger p where p.monitor_id = w.id and p.kind = 'paused'
                and p.ended_at between l.began_at and l.ended_at))))`,
        )} as last_gap_ended_at,
        ${ms(sql, "max(l.ended_at) filter (where l.kind = 'paused')")} as resumed_at
      from ledger l where l.monitor_id = w.id) l cross join lateral (
      select coalesce(json_agg(json_build_array(${ms(sql, 'i.started_at')},
          ${ms(sql, 'i.resolved_at')},
          case when i.resolved_at is null then ${ms(sql, 'i.confirmed_at')} end, i.id))
          filter (where i.resolved_at is null
            or (i.resolved_at > ${new Date(from)} and i.confirmed_at is not null)), '[]') as incidents,
        ${ms(sql, 'max(i.resolved_at)')} as last_resolved_at
      from incidents i where i.monitor_id = w.id) i
    where ${which}`;
}

/**
 * A single monitor is compared by `=`. For an array, the database expects ten rows, so it considers
 * a new plan for every call cheaper than a shared one, and planning takes three times as long as
 * the call.
 */
function among(sql: Queryable, monitors: readonly string[]) {
  const [one] = monitors;
  return one !== undefined && monitors.length === 1
    ? sql`w.id = ${one}`
    : sql`w.id = any(${monitors}::uuid[])`;
}

type Newest = Pick<StoredStatus, 'last_result_at'>;

/**
 * A heartbeat is judged about once in each of its intervals: so many chunks reach back for as long
 * as a failure covers time.
 */
const heartbeatChunks = 4;

/** Adds the newest check of each; of a heartbeat, whose pings cover the rest, the newest failure. */
async function withNewest<Row extends MonitorKey & { readonly type: Kind }>(
  sql: Queryable,
  results: Results,
  rows: readonly Row[],
): Promise<readonly (Row & Newest)[]> {
  const [heartbeats, others] = [true, false].map((are) =>
    rows.filter(({ type }) => (type === 'heartbeat') === are),
  );
  const [failures, verdicts] = await Promise.all([
    results.newest(sql, heartbeats ?? [], {
      since: 0,
      limit: 1,
      outcomes: ['fail'],
      chunks: heartbeatChunks,
    }),
    results.lastVerdicts(sql, others ?? []),
  ]);
  return rows.map((row) => {
    const check = verdicts.get(row.key) ?? failures.get(row.key)?.[0];
    return { ...row, last_result_at: check?.at ?? null };
  });
}

function historyFrom(row: Row & Newest, now: number): MonitorHistory {
  const {
    id,
    type,
    interval_s,
    config,
    last_result_at,
    last_beat_at,
    last_resolved_at,
    last_gap_ended_at,
    resumed_at,
    created_at,
    paused_at,
  } = row;
  const of = (wanted: 'paused' | 'unknown'): Stretch[] =>
    row.ledger.flatMap(([kind, from, to]) => (kind === wanted ? [[from, to]] : []));
  const [unknown, open] = [of('unknown'), row.incidents.find(([, to]) => to === null)];
  return {
    id,
    kind: type,
    interval_s,
    config,
    last_result_at,
    last_beat_at,
    last_resolved_at,
    last_gap_ended_at,
    resumed_at,
    created_at,
    paused_at,
    // The monitor's row has a pause before the ledger does.
    paused: lasting(paused_at === null ? of('paused') : [...of('paused'), [paused_at, null]], now),
    cover: coverFrom(row),
    causedCover: causedCoverFrom(row),
    begins_anew_at: row.begins_anew_at,
    down: row.incidents.flatMap(([from, to, confirmed_at, incident]) =>
      to === null && confirmed_at === null ? [] : [{ from, to: to ?? now, incident }],
    ),
    unknown: lasting(unknown, now),
    incident: open ? { started_at: open[0], confirmed_at: open[2] } : null,
    gap_since: unknown.find(([, to]) => to === null)?.[0] ?? null,
  };
}

function lasting(stretches: readonly Stretch[], now: number): Interval[] {
  return stretches.map(([from, to]) => ({ from, to: to ?? now }));
}

/** What was observed since the row was written. */
type Observation = Pick<StoredStatus, 'last_result_at' | 'begins_anew_at'> & {
  readonly warnings: readonly OpenWarning[] | null;
};
/** Queried for heartbeats only: a page without any does not pay for it. */
type HeartbeatRow = Pick<StoredStatus, 'last_beat_at'>;

/** Monitors with their status: what the row keeps, and the newest observation, from one reading. */
export type ObservedMonitor = Observation &
  MonitorKey &
  Pick<MonitorWithStatus, 'id' | 'type' | 'version' | 'place'>;

/** Adds the present state of their pings. */
export async function withBeats<
  Row extends Pick<MonitorWithStatus, 'id' | 'type' | keyof HeartbeatRow>,
>(sql: Queryable, organisation: string, rows: readonly Row[]): Promise<readonly Row[]> {
  const ids = rows.flatMap(({ id, type }) => (type === 'heartbeat' ? [id] : []));
  if (ids.length === 0) return rows;
  const found = await sql<(HeartbeatRow & { readonly id: string })[]>`
    select m.id, (select ${ms(sql, 'max(b.at)')} from beats b where b.monitor_id = m.id
        and b.kind in ('success', 'fail')) as last_beat_at
    from monitors m where m.organisation_id = ${organisation} and m.id = any(${ids}::uuid[])`;
  const of = new Map(found.map(({ id, last_beat_at }) => [id, last_beat_at]));
  return rows.map((row) =>
    row.type === 'heartbeat' ? { ...row, last_beat_at: of.get(row.id) ?? null } : row,
  );
}

export type MonitorWithStatus = Omit<MonitorRow, 'created_at'> &
  MonitorKey &
  StoredStatus &
  Observation & {
    /** In the format of utcText(). */
    readonly created_at: string;
    /** Its sort key in the list that it was read for; null where the running number is the key. */
    readonly place: string | null;
  };

export type MonitorFilter = {
  /** As the row keeps it: without silence that was not noticed yet. */
  readonly status: Status | null;
  readonly type: Kind | null;
  readonly group: string | null;
  readonly enabled: boolean | null;
  readonly tag: string | null;
  /** A code, or `any`. */
  readonly warning: string | null;
  readonly external_id: string | null;
  /** Every word of it must occur in name, target, group or a tag. */
  readonly text: string;
};

export type MonitorSort = 'created' | 'name' | 'changed';

/** The row after which a page begins. */
export type After = { readonly key: number; readonly place: string | null };

export type MonitorList = {
  readonly organisation: string;
  readonly filter: MonitorFilter;
  readonly sort: MonitorSort;
  readonly after: After | null;
  readonly most: number;
};

/** A partition's undecided changes are usually none, and read once for all rows. */
function from(sql: Queryable, organisation: string) {
  return sql`
  from monitor_status s join monitors m on m.id = s.monitor_id left join (
    select o.payload->>'monitor' as monitor, min(o.created_at) as at from outbox o
    where o.done_at is null and o.topic = 'monitor' and o.organisation_id = ${organisation}
      and (o.payload->>'change' = 'resumed' or o.payload->>'what_is_checked_changed' = 'true')
    group by 1) again on again.monitor = m.id::text`;
}

export async function monitorStatusPage(
  sql: Queryable,
  results: Results,
  list: MonitorList,
): Promise<readonly MonitorWithStatus[]> {
  const rows = await sql<Omit<MonitorWithStatus, 'last_result_at'>[]>`
    select ${settings(sql)}, ${sighting(sql)}, ${withoutBeats(sql)},
      ${place(sql, list.sort)} ${from(sql, list.organisation)} ${rest(sql, list)}`;
  return withBeats(sql, list.organisation, await withNewest(sql, results, rows));
}

function settings(sql: Queryable) {
  return sql`${version(sql)}, m.key, m.partition, ${sql.unsafe(shownNames)},
  ${utcText(sql, 'm.created_at')} as created_at,
  s.status, s.seen, ${whole(sql, 's.since')} as since, ${whole(sql, 'm.created_at')} as created`;
}

function version(sql: Queryable) {
  return sql`m.xmin::text || ' ' || s.xmin::text as version`;
}

/**
 * Times written by the database's clock have fractions of a millisecond, which are dropped wherever
 * a moment is read.
 */
function whole(sql: Queryable, column: string) {
  return ms(sql, `date_trunc('milliseconds', ${column})`);
}

function sighting(sql: Queryable) {
  return sql`${ms(sql, 'again.at')} as begins_anew_at, ${warningsColumn(sql)}`;
}

/** The same as columns: nearly all rows stay as they come. */
function withoutBeats(sql: Queryable) {
  return sql`null::float8 as last_beat_at`;
}

function place(sql: Queryable, sort: MonitorSort) {
  return sort === 'name'
    ? sql`s.name_folded as place`
    : sort === 'changed'
      ? sql`s.since::text as place`
      : sql`null::text as place`;
}

function rest(sql: Queryable, list: MonitorList) {
  const { sort, after, most: limit, filter } = list;
  if (sort === 'name') {
    const further =
      after === null
        ? sql``
        : sql`and (s.name_folded, s.monitor_key) > (${after.place}, ${after.key})`;
    return sql`where ${matchingMonitors(sql, list)} ${further}
      order by s.name_folded, s.monitor_key ${limited(sql, limit)}`;
  }
  if (sort === 'changed') {
    const further =
      after === null
        ? sql``
        : sql`and (s.since, s.monitor_key) < (${after.place}::text::timestamptz, ${after.key})`;
    return sql`where ${matchingMonitors(sql, list)} ${further}
      order by s.since desc, s.monitor_key desc ${limited(sql, limit)}`;
  }
  const key = keyOf(sql, filter);
  return sql`where ${matchingMonitors(sql, list)} and ${key} > ${after?.key ?? 0}
    order by ${key} ${limited(sql, limit)}`;
}

function matchingMonitors(sql: Queryable, { organisation, filter }: MonitorList) {
  const { status, type, group, enabled, tag, warning, external_id, text } = filter;
  const words = wordsOf(text).map((word) => sql`and s.words like ${`%${escapeLike(word)}%`}`);
  return sql`m.organisation_id = ${organisation} and s.organisation_id = ${organisation}
    ${status === null ? sql`` : sql`and s.status = ${status}`}
    ${type === null ? sql`` : sql`and m.type = ${type}`}
    ${group === null ? sql`` : sql`and m.group_id = ${group}`}
    ${tag === null ? sql`` : sql`and m.tags @> array[${searchText(tag)}::text]`}
    ${warning === null ? sql`` : sql`and ${isWarned(sql, warning)}`}
    ${external_id === null ? sql`` : sql`and m.external_id = ${searchText(external_id)}`}
    ${
      enabled === null
        ? sql``
        : enabled
          ? sql`and m.enabled`
          : sql`and not m.enabled
      and s.status = 'paused'`
    }
    ${words.reduce((all, each) => sql`${all} ${each}`, sql``)}`;
}

/**
 * Keys by the table whose index has them in this order: one index for a status, the other for
 * everything else.
 */
function keyOf(sql: Queryable, { status, enabled }: MonitorFilter) {
  return status !== null || enabled === false ? sql`s.monitor_key` : sql`m.key`;
}

/** The rows of a page, their versions, and what was observed since. */
export async function observedPage(
  sql: Queryable,
  results: Results,
  list: MonitorList,
): Promise<readonly ObservedMonitor[]> {
  const rows = await sql<Omit<ObservedMonitor, 'last_result_at'>[]>`
    select m.id, m.key, m.partition, m.type, ${version(sql)}, ${sighting(sql)},
      ${place(sql, list.sort)} ${from(sql, list.organisation)} ${rest(sql, list)}`;
  return withNewest(sql, results, rows);
}

export async function monitorWithStatus(
  sql: Queryable,
  results: Results,
  organisation: string,
  id: string,
): Promise<MonitorWithStatus> {
  const rows = await sql<Omit<MonitorWithStatus, 'last_result_at'>[]>`
    select ${settings(sql)}, ${sighting(sql)}, ${withoutBeats(sql)},
      null::text as place ${from(sql, organisation)} where m.organisation_id = ${organisation}
        and m.id = ${id}`;
  const [row] = await withBeats(sql, organisation, await withNewest(sql, results, rows));
  return orNotFound(row, 'monitor_not_found');
}

export type MonitorFigure = {
  readonly id: string;
  readonly name: string;
  readonly type: string;
  readonly status: Status;
  /** Of the newest check, if it passed; null for heartbeats, and without a recent check. */
  readonly response_ms: number | null;
  /** Where that check was made. */
  readonly place: string | null;
  readonly warnings: readonly OpenWarning[] | null;
  /** Of all monitors. */
  readonly count: number;
};

/** No check is rarer than once a day, and this way few partitions of the table are read. */
const ofLate = 48 * 3_600_000;

/** The oldest monitors of an organisation first, with their present status. */
export async function monitorFigures(
  sql: Queryable,
  results: Results,
  organisation: string,
  limit: number,
  now: number,
): Promise<readonly MonitorFigure[]> {
  const [rows, probes] = await Promise.all([
    sql<(Omit<MonitorFigure, 'response_ms' | 'place'> & MonitorKey)[]>`
    select m.id, m.key, m.partition, m.name, m.type, s.status, ${warningsColumn(sql)}, s.count
    from (select *, count(*) over ()::int as count from monitor_status
      where organisation_id = ${organisation} order by monitor_key limit ${limit}) s
    join monitors m on m.id = s.monitor_id
    order by s.monitor_key`,
    seeingProbes(sql, organisation),
  ]);
  const places = new Map(probes.map((probe) => [probe.key, placeNameOf(probe)]));
  const newest = await results.newest(
    sql,
    rows.filter(({ type }) => type !== 'heartbeat'),
    { since: now - ofLate, limit: 1, outcomes: ['ok', 'fail'], chunks: 1 },
  );
  return rows.map((row) => {
    const [check] = newest.get(row.key) ?? [];
    if (check?.outcome !== 'ok') return { ...row, response_ms: null, place: null };
    return { ...row, response_ms: check.took_ms, place: places.get(check.probe) ?? null };
  });
}
