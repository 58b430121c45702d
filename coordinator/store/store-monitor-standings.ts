import type { Kind } from '../../shared/checks/kinds.ts';
import type { Standing } from '../domain/monitor-standing.ts';
import type { Status } from '../domain/monitor-status.ts';
import type { Queryable } from './store-database.ts';
import { ms } from './store-maintenance-cover.ts';
import type { ShownMonitor } from './store-monitors.ts';
import { literally, lookedFor, wordsOf } from './store-search-words.ts';
import { utcText } from './store-sql-utc-text.ts';

/** Monitors with how they are: what a row keeps, and the newest that was seen, from one reading. */

/** What was seen since the row was written. */
type Sighting = Pick<Standing, 'last_result_at' | 'begins_anew_at'>;
/** What is asked of heartbeats alone: a page without any does not pay for it. */
type Beating = Pick<Standing, 'last_fail_at' | 'last_beat_at'>;

export type Sighted = Sighting & Pick<StandingMonitor, 'id' | 'type' | 'version' | 'place'>;

const noBeats: Beating = { last_fail_at: null, last_beat_at: null };
/** The same as columns: nearly all rows stay as they come. */
const withoutBeats = (sql: Queryable) => sql`null::float8 as last_fail_at, null::float8 as last_beat_at`;

/** With what their pings and judgements came to by now. */
export const withBeats = async <Row extends Pick<StandingMonitor, 'id' | 'type' | keyof Beating>>(
  sql: Queryable,
  organisation: string,
  rows: readonly Row[],
): Promise<readonly Row[]> => {
  const ids = rows.flatMap(({ id, type }) => (type === 'heartbeat' ? [id] : []));
  if (ids.length === 0) return rows;
  const found = await sql<(Beating & { readonly id: string })[]>`
    select m.id, (select ${ms(sql, 'r.at')} from results r where r.monitor_key = m.key and r.outcome = 1 order by r.at desc limit 1) as last_fail_at,
      (select ${ms(sql, 'max(b.at)')} from beats b where b.monitor_id = m.id and b.kind in ('success', 'fail')) as last_beat_at
    from monitors m where m.organisation_id = ${organisation} and m.id = any(${ids}::uuid[])`;
  const of = new Map(found.map(({ id, last_fail_at, last_beat_at }) => [id, { last_fail_at, last_beat_at }]));
  return rows.map((row) => (row.type === 'heartbeat' ? { ...row, ...(of.get(row.id) ?? noBeats) } : row));
};

export type StandingMonitor = Omit<ShownMonitor, 'created_at'> &
  Standing & {
    /** As utcText() gives it. */
    readonly created_at: string;
    /** Where it stands in the list that it was read for; null where its running number says so. */
    readonly place: string | null;
  };

export type MonitorFilter = {
  /** As the row keeps it: silence that nobody has noticed yet is not in it. */
  readonly status: Status | null;
  readonly type: Kind | null;
  readonly group: string | null;
  readonly enabled: boolean | null;
  readonly tag: string | null;
  readonly external_id: string | null;
  /** Every word of it stands in name, target or group, or in a tag. */
  readonly text: string;
};

export const monitorSorts = ['created', 'name', 'changed'] as const;
export type MonitorSort = (typeof monitorSorts)[number];

/** The row after which a page begins. */
export type After = { readonly key: number; readonly place: string | null };

export type MonitorList = {
  readonly organisation: string;
  readonly filter: MonitorFilter;
  readonly sort: MonitorSort;
  readonly after: After | null;
  readonly most: number;
};

/** What the database's own clock wrote has parts of a millisecond, which are left out wherever it is read as a Date. */
const whole = (sql: Queryable, column: string) => ms(sql, `date_trunc('milliseconds', ${column})`);

const version = (sql: Queryable) => sql`m.xmin::text || ' ' || s.xmin::text as version`;

const settings = (
  sql: Queryable,
) => sql`${version(sql)}, m.key, m.id, m.name, m.type, m.target, m.interval_s, m.enabled, m.config, m.group_id,
  m.affects_group_status, m.external_id, m.tags, ${utcText(sql, 'm.created_at')} as created_at, s.status, s.seen, ${whole(sql, 's.since')} as since,
  ${whole(sql, 'm.created_at')} as created`;

const sighting = (sql: Queryable) => sql`
  (select ${ms(sql, 'r.at')} from results r where r.monitor_key = m.key and r.outcome < 2 order by r.at desc limit 1) as last_result_at,
  ${ms(sql, 'anew.at')} as begins_anew_at`;

/** What its partition has yet to decide about is mostly nothing, and read once for all rows. */
const from = (sql: Queryable, organisation: string) => sql`
  from monitor_status s join monitors m on m.id = s.monitor_id left join (
    select o.payload->>'monitor' as monitor, min(o.created_at) as at from outbox o
    where o.done_at is null and o.topic = 'monitor' and o.organisation_id = ${organisation}
      and (o.payload->>'change' = 'resumed' or o.payload->>'what_is_checked_changed' = 'true')
    group by 1) anew on anew.monitor = m.id::text`;

const matching = (sql: Queryable, { organisation, filter }: MonitorList) => {
  const { status, type, group, enabled, tag, external_id, text } = filter;
  // Most monitors have no tags, and theirs are not put together.
  const words = wordsOf(text).map((word) => {
    const part = `%${literally(word)}%`;
    return sql`and (s.words like ${part} or (m.tags <> '{}' and array_to_string(m.tags, ' ') like ${part}))`;
  });
  return sql`m.organisation_id = ${organisation} and s.organisation_id = ${organisation}
    ${status === null ? sql`` : sql`and s.status = ${status}`}
    ${type === null ? sql`` : sql`and m.type = ${type}`}
    ${group === null ? sql`` : sql`and m.group_id = ${group}`}
    ${tag === null ? sql`` : sql`and m.tags @> array[${lookedFor(tag)}::text]`}
    ${external_id === null ? sql`` : sql`and m.external_id = ${lookedFor(external_id)}`}
    ${enabled === null ? sql`` : enabled ? sql`and m.enabled` : sql`and not m.enabled and s.status = 'paused'`}
    ${words.reduce((all, each) => sql`${all} ${each}`, sql``)}`;
};

/** Keys by the table whose index has them in this order: a status is an index of the one, all else of the other. */
const keyOf = (sql: Queryable, { status, enabled }: MonitorFilter) =>
  status !== null || enabled === false ? sql`s.monitor_key` : sql`m.key`;

/**
 * As a number of the statement itself: of a parameter the database expects a tenth of all rows, so that it takes a plan for every call to be cheaper
 * than one for all, and makes one each time.
 */
const limited = (sql: Queryable, most: number) => sql`limit ${sql.unsafe(String(Math.trunc(most)))}`;

const rest = (sql: Queryable, list: MonitorList) => {
  const { sort, after, most, filter } = list;
  if (sort === 'name') {
    const further = after === null ? sql`` : sql`and (s.name_folded, s.monitor_key) > (${after.place}, ${after.key})`;
    return sql`where ${matching(sql, list)} ${further} order by s.name_folded, s.monitor_key ${limited(sql, most)}`;
  }
  if (sort === 'changed') {
    const further = after === null ? sql`` : sql`and (s.since, s.monitor_key) < (${after.place}::text::timestamptz, ${after.key})`;
    return sql`where ${matching(sql, list)} ${further} order by s.since desc, s.monitor_key desc ${limited(sql, most)}`;
  }
  const key = keyOf(sql, filter);
  return sql`where ${matching(sql, list)} and ${key} > ${after?.key ?? 0} order by ${key} ${limited(sql, most)}`;
};

const place = (sql: Queryable, sort: MonitorSort) =>
  sort === 'name' ? sql`s.name_folded as place` : sort === 'changed' ? sql`s.since::text as place` : sql`null::text as place`;

export const standingPage = async (sql: Queryable, list: MonitorList): Promise<readonly StandingMonitor[]> => {
  const rows = await sql<StandingMonitor[]>`
    select ${settings(sql)}, ${sighting(sql)}, ${withoutBeats(sql)}, ${place(sql, list.sort)} ${from(sql, list.organisation)} ${rest(sql, list)}`;
  return withBeats(sql, list.organisation, rows);
};

/** Which rows a page holds, in which versions, and what was seen of them. */
export const sightedPage = (sql: Queryable, list: MonitorList): Promise<Sighted[]> =>
  sql<Sighted[]>`
    select m.id, m.type, ${version(sql)}, ${sighting(sql)}, ${place(sql, list.sort)} ${from(sql, list.organisation)} ${rest(sql, list)}`;

export const standingMonitor = async (sql: Queryable, organisation: string, id: string): Promise<StandingMonitor | undefined> => {
  const rows = await sql<StandingMonitor[]>`
    select ${settings(sql)}, ${sighting(sql)}, ${withoutBeats(sql)}, null::text as place ${from(sql, organisation)} where m.organisation_id = ${organisation} and m.id = ${id}`;
  const [row] = await withBeats(sql, organisation, rows);
  return row;
};
