import { wordsOf } from '../../shared/base/names.ts';
import type { Kind } from '../../shared/checks/kinds.ts';
import type { Place } from '../../shared/checks/places.ts';
import type { Cause, Witness } from '../../shared/checks/result.ts';
import type { CauseRow } from '../causes/model.ts';
import type { Queryable } from '../database/connect.ts';
import { escapeLike, limited, ms, searchText } from '../database/sql.ts';
import { groupChoices } from '../groups/queries.ts';
import { witnessesOf } from '../incidents/writes.ts';
import { type MuteColumn, muteColumn } from '../notifications/mute-queries.ts';
import { flappingMemoryMs, type Outage } from '../notifications/policy.ts';
import type { MonitorKey, Results } from '../results/reading.ts';
import type { OpenWarning } from '../warnings/model.ts';
import { isWarned, warningsColumn } from '../warnings/queries.ts';
import { type ListedRow, listedNames } from './row.ts';
import { failingInside } from './sides.ts';
import { type DashboardSort, noGroup, type Status, type StatusRow } from './status.ts';
import { notCovered, rareStatuses, type StatusCounts } from './status-queries.ts';

export type DashboardFilter = {
  readonly status: StatusRow | null;
  readonly kind: Kind | null;
  /** Every word of it must occur in name, target, group or a tag. */
  readonly search: string;
  /** `noGroup`: those in none. */
  readonly group: string | null;
  /** Each of them. */
  readonly tags: readonly string[];
  /** A code, or `any`. */
  readonly warning: string | null;
};

export function isFiltered({
  status,
  kind,
  search,
  group,
  tags,
  warning,
}: DashboardFilter): boolean {
  return (
    [status, kind, group, warning].some((one) => one !== null) ||
    search.trim() !== '' ||
    tags.length > 0
  );
}

export type DashboardPlace = {
  readonly sort: DashboardSort;
  readonly offset: number;
  readonly most: number;
  readonly since: number;
};

export type FailingMonitor = {
  readonly id: string;
  readonly name: string;
  readonly status: 'down' | 'verifying';
  readonly since: number;
  readonly owner: string | null;
  /** Its open incident, why it is open, and who saw it. */
  readonly incident: string | null;
  readonly cause: Cause | null;
  readonly witnesses: readonly Witness[];
};

/** Of several of those that match. */
export type FailingCause = Pick<CauseRow, 'id' | 'kind' | 'value' | 'place_name'> & {
  readonly down: number;
  readonly since: number;
};

export type DashboardProbe = {
  readonly name: string;
  readonly continent: string;
  readonly well: boolean;
};

export type DashboardFigures = {
  /** How many of those that match have each status. */
  readonly counts: StatusCounts;
  /** How many of them have warnings: those that the filter asks for, or any. */
  readonly warned: number;
  /** Causes of those in trouble among those that match, the newest first. */
  readonly causes: readonly FailingCause[];
  /** The others in trouble, down before verifying, the newest first. */
  readonly failing: readonly FailingMonitor[];
  readonly groups: readonly { readonly id: string; readonly name: string }[];
  /** Of all monitors, whatever the list is narrowed to. */
  readonly in_trouble: { readonly down: number; readonly verifying: number };
  /** Those that check for this organisation, and whether they are present. */
  readonly probes: readonly DashboardProbe[];
};

/** What the dashboard says beside the rows of its page, in one statement. */
export async function dashboardFigures(
  sql: Queryable,
  organisation: string,
  filter: DashboardFilter,
  covered: readonly string[],
  most: { readonly failing: number; readonly groups: number; readonly probes: number },
): Promise<DashboardFigures> {
  const ofAny = { ...filter, status: null, warning: null };
  const isWhole = !isFiltered(ofAny);
  const byStatus = isWhole
    ? rareStatuses(sql, organisation, covered)
    : sql`
      select case when s.status <> 'paused' and s.monitor_id = any(${covered}::uuid[])
        then 'maintenance' else s.status end as status, count(*) as count
      from monitor_status s where ${matching(sql, organisation, ofAny, covered)} group by 1`;
  const warned = filter.warning === null ? { ...ofAny, warning: 'any' } : filter;
  const [row] = await sql<
    (Omit<DashboardFigures, 'counts'> & { counts: Partial<Record<StatusRow | 'all', number>> })[]
  >`
    with folded as materialized (
      select c.id, c.kind, c.value, (select l.name from places l
          where l.organisation_id = c.organisation_id and l.id::text = c.value) as place_name,
        count(*) as down, ${ms(sql, 'min(i.started_at)')} as since
      from causes c join cause_members n on n.cause_id = c.id
        join incidents i on i.id = n.incident_id and i.resolved_at is null
        join monitor_status s on s.monitor_id = i.monitor_id
      where c.organisation_id = ${organisation} and c.ended_at is null and s.status = 'down'
        and ${matching(sql, organisation, ofAny, covered)}
        and ${notCovered(sql, covered, 's.monitor_id')}
      group by c.id having count(*) > 1)
    select
      (select coalesce(json_agg(f order by f.since desc), '[]') from folded f) as causes,
      (select coalesce(json_object_agg(status, count), '{}') from (${byStatus}) c) as counts,
      (select count(*) from monitor_status s
        where ${matching(sql, organisation, warned, covered)}) as warned,
      (select coalesce(json_agg(f), '[]') from (
        select m.id, m.name, s.status, ${ms(sql, 'coalesce(i.started_at, s.since)')} as since, i.acknowledged_as as owner,
          i.id as incident, i.cause, ${witnessesOf(sql)} as witnesses
        from monitor_status s join monitors m on m.id = s.monitor_id
        left join incidents i on i.monitor_id = m.id and i.resolved_at is null
        where ${matching(sql, organisation, ofAny, covered)} and ${worst(sql)}
          and ${notCovered(sql, covered, 's.monitor_id')}
          and not exists (select 1 from cause_members n join folded on folded.id = n.cause_id
            where n.incident_id = i.id)
        order by s.status, s.since desc ${limited(sql, most.failing)}) f) as failing,
      (select json_build_object('down', count(*) filter (where s.status = 'down'),
          'verifying', count(*) filter (where s.status = 'verifying'))
        from monitor_status s where s.organisation_id = ${organisation} and ${worst(sql)}
          and ${notCovered(sql, covered, 's.monitor_id')}) as in_trouble,
      (select coalesce(json_agg(g), '[]') from (
        ${groupChoices(sql, organisation, most.groups)}) g) as groups,
      (select coalesce(json_agg(p), '[]') from (
        select p.name, p.continent, p.quarantined_at is null and p.doubted_at is null
          and not exists (select 1 from notices n where n.kind = 'probe_lost'
            and n.subject = p.id::text and n.ended_at is null) as well
        from probes p where p.revoked_at is null and p.last_seen_at is not null
          and (p.organisation_id is null or p.organisation_id = ${organisation})
        order by p.continent, p.name ${limited(sql, most.probes)}) p) as probes`;
  if (row === undefined) throw new Error('the dashboard has no figures');
  if (!isWhole) return row;
  const { all = 0, ...counts } = row.counts;
  const others = Object.values(counts).reduce((sum, count) => sum + count, covered.length);
  const up = Math.max(0, all - others);
  return { ...row, counts: { ...counts, maintenance: covered.length, up } };
}

function matching(
  sql: Queryable,
  organisation: string,
  { status, kind, search, group, tags, warning }: DashboardFilter,
  covered: readonly string[],
) {
  const isCovered = sql`s.monitor_id = any(${covered}::uuid[])`;
  const ofStatus =
    status === null
      ? sql``
      : status === 'maintenance'
        ? sql`and ${isCovered}`
        : covered.length === 0
          ? sql`and s.status = ${status}`
          : sql`and s.status = ${status} and not ${isCovered}`;
  const ofRow =
    kind === null && tags.length === 0 && warning === null
      ? sql``
      : sql`and s.monitor_id in (select id from monitors m where organisation_id = ${organisation}
          ${warning === null ? sql`` : sql`and ${isWarned(sql, warning)}`}
          ${kind === null ? sql`` : sql`and type = ${kind}`}
          ${tags.length === 0 ? sql`` : sql`and tags @> ${tags.map(searchText)}::text[]`})`;
  const ofWords = wordsOf(search).map((word) => sql`and s.words like ${`%${escapeLike(word)}%`}`);
  return sql`s.organisation_id = ${organisation} ${ofStatus}
    ${group === null ? sql`` : group === noGroup ? sql`and s.group_id is null` : sql`and s.group_id = ${group}`}
    ${ofRow}
    ${ofWords.reduce((all, each) => sql`${all} ${each}`, sql``)}`;
}

/** A filter that a list offers, and how many monitors it would leave. */
export type Facet = {
  readonly facet: 'kind' | 'tag' | 'group';
  readonly value: string;
  readonly name: string;
  readonly monitors: number;
};

/** More are found by the search. */
const maxFacets = 30;

/** Of all monitors: the database keeps these counts. */
export function allFacets(sql: Queryable, organisation: string): Promise<Facet[]> {
  return sql<Facet[]>`
  select facet, value, value as name, monitors from (
    select facet, value, monitors, row_number() over (partition by facet
      order by monitors desc, value) as nth
    from monitor_counts where organisation_id = ${organisation} and facet <> 'group') f
  where nth <= ${maxFacets}
  union all (select 'group', c.value, coalesce(g.name, 'No group'), c.monitors
    from monitor_counts c left join groups g
      on g.id::text = c.value and g.organisation_id = c.organisation_id
    where c.organisation_id = ${organisation} and c.facet = 'group'
      and (g.id is not null or c.value = ${noGroup})
    order by c.monitors desc, g.name_folded limit ${maxFacets})`;
}

/**
 * Of those that match: kinds and groups leave out their own filter, as one of them is chosen at a
 * time; several tags are.
 */
export async function facetsOf(
  sql: Queryable,
  organisation: string,
  filter: DashboardFilter,
  covered: readonly string[],
): Promise<readonly Facet[]> {
  const where = (change: Partial<DashboardFilter>) =>
    matching(sql, organisation, { ...filter, ...change }, covered);
  const found = await Promise.all([
    sql<Facet[]>`select 'kind' as facet, m.type as value, m.type as name, count(*) as monitors
      from monitor_status s join monitors m on m.id = s.monitor_id where ${where({ kind: null })}
      group by m.type`,
    sql<Facet[]>`select 'tag' as facet, tag as value, tag as name, count(*) as monitors
      from monitor_status s join monitors m on m.id = s.monitor_id, unnest(m.tags) tag
      where ${where({})} group by tag order by 4 desc, 2 limit ${maxFacets}`,
    sql<Facet[]>`select 'group' as facet, coalesce(g.id, ${noGroup})::text as value,
        coalesce(g.name, 'No group') as name, count(*) as monitors
      from monitor_status s left join groups g on g.id = s.group_id where ${where({ group: null })}
      group by g.id order by 4 desc, g.name_folded limit ${maxFacets}`,
  ]);
  return found.flat();
}

function worst(sql: Queryable) {
  return sql`s.status in ('down', 'verifying')`;
}

/** A monitor of a page, and its group; further queries start from these. */
export type FoundMonitor = {
  readonly id: string;
  readonly key: number;
  readonly group: string | null;
};

/** The monitors of one page, in order. */
export async function dashboardPage(
  sql: Queryable,
  organisation: string,
  filter: DashboardFilter,
  covered: readonly string[],
  place: DashboardPlace,
): Promise<readonly FoundMonitor[]> {
  const { sort, offset, most: limit } = place;
  const where = matching(sql, organisation, filter, covered);
  const page = pageOf(sql, offset, limit);
  if (sort === 'group')
    return sql<FoundMonitor[]>`select ${foundColumns(sql)} from monitor_status s where ${where}
    order by s.place ${page}`;
  if (sort === 'state') return byState(sql, organisation, filter, covered, place);
  if (sort === 'downtime') return byDowntime(sql, organisation, filter, covered, place);
  if (sort === 'response')
    return sql<FoundMonitor[]>`select ${foundColumns(sql)} from monitor_status s where ${where}
    order by s.response_ms desc nulls last, s.place ${page}`;
  if (sort === 'changed')
    return sql<FoundMonitor[]>`select ${foundColumns(sql)} from monitor_status s where ${where}
    order by s.since desc, s.monitor_id ${page}`;
  return sql<FoundMonitor[]>`select ${foundColumns(sql)} from monitor_status s where ${where}
  order by s.name_folded, s.monitor_id ${page}`;
}

/** The first page, which is requested most, has no parameter that a shared plan cannot know. */
function pageOf(sql: Queryable, offset: number, limit: number) {
  return offset === 0 ? limited(sql, limit) : sql`offset ${offset} ${limited(sql, limit)}`;
}

function foundColumns(sql: Queryable) {
  return sql`s.monitor_id as id, s.monitor_key as key, s.group_id as "group"`;
}

/**
 * Trouble first, the newest first; then by group and name. Each half is read from its own index.
 */
async function byState(
  sql: Queryable,
  organisation: string,
  filter: DashboardFilter,
  covered: readonly string[],
  { offset, most: limit }: DashboardPlace,
): Promise<readonly FoundMonitor[]> {
  const where = matching(sql, organisation, filter, covered);
  const inTrouble = (): Promise<FoundMonitor[]> => sql<FoundMonitor[]>`
    select ${foundColumns(sql)} from monitor_status s where ${where} and ${worst(sql)}
    order by s.status, s.since desc, s.place ${pageOf(sql, offset, limit)}`;
  const others = (from: number): Promise<FoundMonitor[]> => sql<FoundMonitor[]>`
    select ${foundColumns(sql)} from monitor_status s where ${where} and not ${worst(sql)}
    order by s.place ${pageOf(sql, from, limit)}`;
  // The first page, which is requested most, needs no count, and reads both halves at once.
  if (offset === 0) return (await Promise.all([inTrouble(), others(0)])).flat().slice(0, limit);
  const [count] = await sql<
    { troubled: number }[]
  >`select count(*) as troubled from monitor_status s where ${where} and ${worst(sql)}`;
  const troubled = count?.troubled ?? 0;
  const first = offset < troubled ? await inTrouble() : [];
  if (first.length === limit) return first;
  return [...first, ...(await others(Math.max(0, offset - troubled)))].slice(0, limit);
}

/** Most downtime of the last days first; monitors without downtime follow in their usual order. */
function byDowntime(
  sql: Queryable,
  organisation: string,
  filter: DashboardFilter,
  covered: readonly string[],
  { offset, most: limit, since }: DashboardPlace,
): Promise<FoundMonitor[]> {
  return sql<FoundMonitor[]>`
  with downtime as (
    select monitor_id,
      sum(coalesce(resolved_at, now()) - greatest(started_at, ${new Date(since)})) as down
      from incidents
    where organisation_id = ${organisation} and confirmed_at is not null
      and (resolved_at is null or resolved_at > ${new Date(since)})
    group by monitor_id)
  select ${foundColumns(sql)} from monitor_status s left join downtime d
    on d.monitor_id = s.monitor_id
  where ${matching(sql, organisation, filter, covered)}
  order by d.down desc nulls last, s.place ${pageOf(sql, offset, limit)}`;
}

export type DashboardRow = ListedRow & {
  readonly group_name: string | null;
  /** Of the open incident. */
  readonly incident: string | null;
  readonly cause: Cause | null;
  readonly acknowledged_at: number | null;
  readonly acknowledged_as: string | null;
  /**
   * Mean response times of the last hours, oldest first, or of the newest checks where there are no
   * hours yet; null where there was none.
   */
  readonly hours: readonly (number | null)[] | null;
  readonly looks: readonly number[] | null;
  /** Confirmed outages of the last day, oldest first. */
  readonly outages: readonly Outage[] | null;
  readonly warnings: readonly OpenWarning[] | null;
  readonly muted: MuteColumn | null;
  /** Where it fails inside alone. */
  readonly inside: string | null;
};

type Placed = { readonly places: readonly Place[] | null };

/** A line of fewer hours shows nothing. */
const leastHours = 6;
const sparkChecks = 40;
/** Of a monitor that was paused for long, there is nothing to draw. */
const sparkMs = 7 * 24 * 3_600_000;

/** What a row shows beside its history. */
export async function dashboardRows(
  sql: Queryable,
  results: Results,
  organisation: string,
  monitors: readonly FoundMonitor[],
  now: number,
): Promise<readonly DashboardRow[]> {
  const [ids, keys] = [monitors.map(({ id }) => id), monitors.map(({ key }) => key)];
  const [rows, means] = await Promise.all([
    sql<(Omit<DashboardRow, 'hours' | 'looks' | 'inside'> & MonitorKey & Placed)[]>`
      select ${sql.unsafe(listedNames)}, g.name as group_name, i.id as incident, i.cause,
        i.acknowledged_at, i.acknowledged_as, m.key, m.partition, m.places,
        (select json_agg(json_build_object('incident', o.id,
          'confirmed_at', ${ms(sql, 'o.confirmed_at')}, 'resolved_at', ${ms(sql, 'o.resolved_at')})
          order by o.confirmed_at) from incidents o where o.monitor_id = m.id
          and o.confirmed_at is not null and o.started_at > ${new Date(now - flappingMemoryMs)})
          as outages, ${warningsColumn(sql)}, ${muteColumn(sql, now)}
      from monitors m
      left join groups g on g.id = m.group_id
      left join incidents i on i.monitor_id = m.id and i.resolved_at is null
      where m.organisation_id = ${organisation} and m.id = any(${ids}::uuid[])`,
    results.hourlyMeans.lastDay(sql, keys, now),
  ]);
  const hoursOf = (key: number) => {
    const hours = means.get(key) ?? [];
    return hours.filter((mean) => mean !== null).length < leastHours ? null : hours;
  };
  const [newest, inside] = await Promise.all([
    results.newest(
      sql,
      rows.filter(({ key, type }) => type !== 'heartbeat' && hoursOf(key) === null),
      { since: now - sparkMs, limit: sparkChecks, outcomes: ['ok'], chunks: 8 },
    ),
    failingInside(sql, results, organisation, rows, now),
  ]);
  return rows.map((row) => {
    const times = newest.get(row.key)?.map(({ took_ms }) => took_ms) ?? [];
    return {
      ...row,
      hours: hoursOf(row.key),
      looks: times.length === 0 ? null : times.toReversed(),
      inside: inside.get(row.key) ?? null,
    };
  });
}

export type GroupWithStatus = {
  readonly id: string;
  /** The statuses of its members, and whether members with that status affect the group. */
  readonly members: readonly { readonly status: Status; readonly affects_group_status: boolean }[];
  readonly count: number;
  /** Maintenance covers none of them. */
  readonly failing: number;
};

/**
 * The statuses that occur among the members of each of these groups, without reading every member.
 */
export function groupsWithStatus(
  sql: Queryable,
  organisation: string,
  groups: readonly string[],
  covered: readonly string[],
): Promise<GroupWithStatus[]> {
  return groups.length === 0
    ? Promise.resolve([])
    : sql<GroupWithStatus[]>`
        select g.id, coalesce(c.monitors, 0) as count,
          (select count(*) from monitor_status f where f.group_id = g.id
            and f.status in ('down', 'verifying') and ${notCovered(sql, covered, 'f.monitor_id')})
            as failing,
          (select coalesce(jsonb_agg(jsonb_build_object('status', t.status, 'affects_group_status',
            a.affects)), '[]')
            from unnest(array['down', 'verifying', 'pending', 'up', 'paused']) t (status)
            cross join unnest(array[true, false]) a (affects)
            cross join lateral (
              select from monitor_status s where s.group_id = g.id and s.affects = a.affects
                and s.status = t.status limit 1) one) as members
        from groups g left join monitor_counts c on c.organisation_id = g.organisation_id
          and c.facet = 'group' and c.value = g.id::text
        where g.organisation_id = ${organisation} and ${isOneOf(sql, groups)}`;
}

/** As a rule a page shows one group: a statement for one is planned only once. */
function isOneOf(sql: Queryable, groups: readonly string[]) {
  const [one] = groups;
  return one !== undefined && groups.length === 1
    ? sql`g.id = ${one}`
    : sql`g.id = any(${groups}::uuid[])`;
}
