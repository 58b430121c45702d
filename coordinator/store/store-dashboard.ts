import type { Cause } from '../../shared/checks/result.ts';
import type { Status } from '../domain/monitor-status.ts';
import type { Queryable } from './store-database.ts';
import { literally, lookedFor, wordsOf } from './store-search-words.ts';

/** What a dashboard asks: counts by status, and one page of monitors, filtered and sorted by the database (monitor_status, migration 018). */

/** Monitors that maintenance covers at this moment. Mostly there are none. */
export const coveredNow = async (sql: Queryable, organisation: string, now: number): Promise<readonly string[]> => {
  const rows = await sql<{ id: string }[]>`
    with covering as (
      select w.id from maintenance_windows w join maintenance_occurrences o on o.window_id = w.id
      where w.organisation_id = ${organisation} and w.deleted_at is null and o.began_at <= ${new Date(now)} and o.ended_at > ${new Date(now)})
    select s.monitor_id as id from monitor_status s
    where s.organisation_id = ${organisation} and s.status <> 'paused' and s.monitor_id in (
      select mm.monitor_id from covering c join maintenance_monitors mm on mm.window_id = c.id
      union select gm.monitor_id from covering c join maintenance_groups mg on mg.window_id = c.id
        join group_memberships gm on gm.group_id = mg.group_id and gm.ended_at is null)`;
  return rows.map(({ id }) => id);
};

/** As people are shown it: maintenance goes before whatever it covers. */
export type ShownStatus = Status | 'maintenance';

export type StatusCounts = Readonly<Partial<Record<ShownStatus, number>>>;

/** Most monitors are up: those are not counted one by one, they are what is left of all (monitor_counts, migration 028). */
export const countStatuses = async (sql: Queryable, organisation: string, covered: readonly string[]): Promise<StatusCounts> => {
  const rows = await sql<{ status: ShownStatus | 'all'; count: number }[]>`
    select status, count(*) as count from monitor_status
    where organisation_id = ${organisation} and status in ('down', 'verifying', 'pending', 'paused') and not monitor_id = any(${[...covered]}::uuid[])
    group by status
    union all select 'all', coalesce(sum(monitors), 0) from monitor_counts where organisation_id = ${organisation}`;
  const { all = 0, ...counts } = Object.fromEntries(rows.map(({ status, count }) => [status, count]));
  const others = rows.reduce((sum, { status, count }) => (status === 'all' ? sum : sum + count), covered.length);
  return { ...counts, maintenance: covered.length, up: Math.max(0, all - others) };
};

export type DashboardSort = 'state' | 'name' | 'response' | 'downtime' | 'changed';

export type DashboardFilter = {
  readonly status: ShownStatus | null;
  /** Every word of it stands in name, target or group. */
  readonly search: string;
  readonly group: string | null;
  readonly tag: string | null;
};

export type DashboardPlace = { readonly sort: DashboardSort; readonly offset: number; readonly most: number; readonly since: number };

const matching = (sql: Queryable, organisation: string, { status, search, group, tag }: DashboardFilter, covered: readonly string[]) => {
  const isCovered = sql`s.monitor_id = any(${[...covered]}::uuid[])`;
  const ofStatus =
    status === null
      ? sql``
      : status === 'maintenance'
        ? sql`and ${isCovered}`
        : covered.length === 0
          ? sql`and s.status = ${status}`
          : sql`and s.status = ${status} and not ${isCovered}`;
  const ofWords = wordsOf(search).map((word) => sql`and s.words like ${`%${literally(word)}%`}`);
  return sql`s.organisation_id = ${organisation} ${ofStatus} ${group === null ? sql`` : sql`and s.group_id = ${group}`}
    ${tag === null ? sql`` : sql`and s.monitor_id in (select id from monitors where organisation_id = ${organisation} and tags @> array[${lookedFor(tag)}::text])`}
    ${ofWords.reduce((all, each) => sql`${all} ${each}`, sql``)}`;
};

export const countMatching = async (
  sql: Queryable,
  organisation: string,
  filter: DashboardFilter,
  covered: readonly string[],
): Promise<number> => {
  const [row] = await sql<{ count: number }[]>`
    select count(*) as count from monitor_status s where ${matching(sql, organisation, filter, covered)}`;
  return row?.count ?? 0;
};

const worst = (sql: Queryable) => sql`s.status in ('down', 'verifying')`;

/** A monitor of a page, and its group: what else is asked for begins with these. */
export type Found = { readonly id: string; readonly group: string | null };

const found = (sql: Queryable) => sql`s.monitor_id as id, s.group_id as "group"`;

/** Trouble first, the newest first; then by group and name. Each half is read from its own index. */
const byState = async (
  sql: Queryable,
  organisation: string,
  filter: DashboardFilter,
  covered: readonly string[],
  { offset, most }: DashboardPlace,
): Promise<readonly Found[]> => {
  const where = matching(sql, organisation, filter, covered);
  const inTrouble = (): Promise<Found[]> => sql<Found[]>`
    select ${found(sql)} from monitor_status s where ${where} and ${worst(sql)}
    order by s.status, s.since desc, s.place offset ${offset} limit ${most}`;
  const others = (from: number): Promise<Found[]> => sql<Found[]>`
    select ${found(sql)} from monitor_status s where ${where} and not ${worst(sql)} order by s.place offset ${from} limit ${most}`;
  // The first page, which most people look at, needs no count, and asks for both halves at once.
  if (offset === 0) return (await Promise.all([inTrouble(), others(0)])).flat().slice(0, most);
  const [count] = await sql<{ troubled: number }[]>`select count(*) as troubled from monitor_status s where ${where} and ${worst(sql)}`;
  const troubled = count?.troubled ?? 0;
  const first = offset < troubled ? await inTrouble() : [];
  if (first.length === most) return first;
  return [...first, ...(await others(Math.max(0, offset - troubled)))].slice(0, most);
};

/** Downtime of the last days, the most first; all that had none come after by place. */
const byDowntime = (
  sql: Queryable,
  organisation: string,
  filter: DashboardFilter,
  covered: readonly string[],
  { offset, most, since }: DashboardPlace,
): Promise<Found[]> => sql<Found[]>`
  with downtime as (
    select monitor_id, sum(coalesce(resolved_at, now()) - greatest(started_at, ${new Date(since)})) as down from incidents
    where organisation_id = ${organisation} and confirmed_at is not null and (resolved_at is null or resolved_at > ${new Date(since)})
    group by monitor_id)
  select ${found(sql)} from monitor_status s left join downtime d on d.monitor_id = s.monitor_id
  where ${matching(sql, organisation, filter, covered)}
  order by d.down desc nulls last, s.place offset ${offset} limit ${most}`;

/** The monitors of one page, in their order. */
export const dashboardPage = async (
  sql: Queryable,
  organisation: string,
  filter: DashboardFilter,
  covered: readonly string[],
  place: DashboardPlace,
): Promise<readonly Found[]> => {
  const { sort, offset, most } = place;
  const where = matching(sql, organisation, filter, covered);
  const page = sql`offset ${offset} limit ${most}`;
  if (sort === 'state') return byState(sql, organisation, filter, covered, place);
  if (sort === 'downtime') return byDowntime(sql, organisation, filter, covered, place);
  if (sort === 'response')
    return sql<Found[]>`select ${found(sql)} from monitor_status s where ${where} order by s.response_ms desc nulls last, s.place ${page}`;
  if (sort === 'changed')
    return sql<Found[]>`select ${found(sql)} from monitor_status s where ${where} order by s.since desc, s.monitor_id ${page}`;
  return sql<Found[]>`select ${found(sql)} from monitor_status s where ${where} order by s.name_folded, s.monitor_id ${page}`;
};

export type DashboardRow = {
  readonly id: string;
  readonly name: string;
  readonly type: string;
  readonly target: string;
  readonly enabled: boolean;
  readonly interval_s: number;
  readonly group_id: string | null;
  readonly group_name: string | null;
  readonly tags: readonly string[];
  /** Of the open incident. */
  readonly incident: string | null;
  readonly cause: Cause | null;
  readonly seen_continent: string | null;
  /** Mean response times of the last hours, oldest first, or of the newest looks where there are no hours yet; null where there was none. */
  readonly hours: readonly (number | null)[] | null;
  readonly looks: readonly number[] | null;
};

const sparkHours = 24;
const sparkLooks = 40;
const hour = 3_600_000;

/** What a row shows beside its history. */
export const dashboardRows = (sql: Queryable, organisation: string, ids: readonly string[], now: number): Promise<DashboardRow[]> => {
  const from = new Date(Math.floor(now / hour) * hour - sparkHours * hour);
  return sql<DashboardRow[]>`
    select m.id, m.name, m.type, m.target, m.enabled, m.interval_s, m.group_id, g.name as group_name, m.tags, i.id as incident, i.cause, i.seen_continent, r.hours,
      case when r.hours is null then (
        select array_agg(took_ms order by at) from (
          select x.took_ms, x.at from results x where x.monitor_key = m.key and x.outcome = 0 order by x.at desc limit ${sparkLooks}) newest)
      end as looks
    from monitors m
    left join groups g on g.id = m.group_id
    left join incidents i on i.monitor_id = m.id and i.resolved_at is null
    left join lateral (
      select array_agg(mean order by at) as hours from (
        select hour as at, sum(took_sum) / nullif(sum(ok), 0) as mean from rollups
        where monitor_key = m.key and hour >= ${from} group by hour) each_hour
      having count(mean) > 2) r on true
    where m.organisation_id = ${organisation} and m.id = any(${[...ids]}::uuid[])`;
};

export type GroupStanding = {
  readonly id: string;
  /** What its members are; whether those count that are so. */
  readonly members: readonly { readonly status: Status; readonly affects_group_status: boolean }[];
  readonly count: number;
};

/** Which statuses there are among the members of each of these groups, without a look at every member. */
export const groupStandings = (sql: Queryable, organisation: string, groups: readonly string[]): Promise<GroupStanding[]> =>
  groups.length === 0
    ? Promise.resolve([])
    : sql<GroupStanding[]>`
        select g.id, coalesce(c.monitors, 0) as count,
          (select coalesce(jsonb_agg(jsonb_build_object('status', t.status, 'affects_group_status', a.affects)), '[]')
            from unnest(array['down', 'verifying', 'pending', 'up', 'paused']) t (status) cross join unnest(array[true, false]) a (affects)
            cross join lateral (
              select from monitor_status s where s.group_id = g.id and s.affects = a.affects and s.status = t.status limit 1) one) as members
        from groups g left join monitor_counts c on c.organisation_id = g.organisation_id and c.group_id = g.id
        where g.organisation_id = ${organisation} and g.id = any(${[...groups]}::uuid[])`;

/** The names of the first few that are in trouble, and since when the newest change is. */
export const troubledNames = async (
  sql: Queryable,
  organisation: string,
  status: 'down' | 'verifying',
  covered: readonly string[],
  most: number,
): Promise<readonly string[]> => {
  const rows = await sql<{ name: string }[]>`
    select m.name from monitor_status s join monitors m on m.id = s.monitor_id
    where s.organisation_id = ${organisation} and s.status = ${status} and not s.monitor_id = any(${[...covered]}::uuid[])
    order by s.since desc limit ${most}`;
  return rows.map(({ name }) => name);
};

export const newestChange = async (sql: Queryable, organisation: string): Promise<Date | undefined> => {
  const [row] = await sql<{ since: Date }[]>`
    select since from monitor_status where organisation_id = ${organisation} order by since desc limit 1`;
  return row?.since;
};

export const openIncidents = async (sql: Queryable, organisation: string): Promise<number> => {
  const [row] = await sql<{ open: number }[]>`
    select count(*) as open from incidents where organisation_id = ${organisation} and resolved_at is null`;
  return row?.open ?? 0;
};

export type DashboardProbe = { readonly name: string; readonly continent: string; readonly well: boolean };

/** Who checks for this organisation, and whether they are heard. */
export const dashboardProbes = (sql: Queryable, organisation: string): Promise<DashboardProbe[]> =>
  sql<DashboardProbe[]>`
    select p.name, p.continent, p.quarantined_at is null and p.doubted_at is null and not exists (
      select 1 from notices n where n.kind = 'probe_lost' and n.subject = p.id::text and n.ended_at is null) as well
    from probes p
    where p.revoked_at is null and p.last_seen_at is not null and (p.organisation_id is null or p.organisation_id = ${organisation})
    order by p.continent, p.name limit 24`;

/** A monitor that has results was seen, also when no stretch says so (migration 018). */
export const markSeen = async (sql: Queryable): Promise<void> => {
  await sql`select mark_seen()`;
};
