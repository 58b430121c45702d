import type { Queryable } from '../database/connect.ts';
import { searchText } from '../database/sql.ts';
import { type IncidentRow, incidentColumns } from './queries.ts';

type IncidentFilter = {
  readonly state: 'all' | 'open' | 'resolved';
  readonly monitor: string | null;
  readonly cause: string | null;
  readonly layer: string | null;
  readonly acknowledged: boolean | null;
  readonly acknowledged_by: string | null;
  /** Resolved incidents must have ended after this; open ones are always included. */
  readonly since: number;
};

export function incidentPage(
  sql: Queryable,
  organisation: string,
  filter: IncidentFilter,
  before: number,
  limit: number,
): Promise<IncidentRow[]> {
  return sql<IncidentRow[]>`
    select ${incidentColumns(sql)} from incidents i join monitors m on m.id = i.monitor_id
    where ${matching(sql, organisation, filter, before)}
    order by i.key desc limit ${limit}`;
}

/** Of the incidents `i`. */
function matching(
  sql: Queryable,
  organisation: string,
  { state, monitor, cause, layer, acknowledged, acknowledged_by, since }: IncidentFilter,
  before: number,
) {
  return sql`
  i.organisation_id = ${organisation} and i.key < ${before}
  and (i.resolved_at is null or i.resolved_at >= ${new Date(since)})
  ${state === 'open' ? sql`and i.resolved_at is null` : state === 'resolved' ? sql`and i.resolved_at is not null` : sql``}
  ${monitor === null ? sql`` : sql`and i.monitor_id = ${monitor}`}
  ${cause === null ? sql`` : sql`and i.id in (select incident_id from cause_members where cause_id = ${cause})`}
  ${layer === null ? sql`` : sql`and i.layer = ${layer}`}
  ${acknowledged === null ? sql`` : sql`and (i.acknowledged_at is not null) = ${acknowledged}`}
  ${acknowledged_by === null ? sql`` : sql`and i.acknowledged_as = ${searchText(acknowledged_by)}`}`;
}

/** How many incidents one page of folded ones is read from. */
const maxRead = 1_000;

type FoldedIncident = IncidentRow & {
  /** How many resolved ones of its monitor it stands for; 1: for itself. */
  readonly times: number;
  /** How often its monitor went down since `recentFrom`. */
  readonly recent: number;
  /** Where the next page begins when this one holds all that was read; null at the end. */
  readonly read_to: number | null;
};

/** Three and more resolved incidents of a monitor become its newest one. */
export function foldedIncidents(
  sql: Queryable,
  organisation: string,
  filter: IncidentFilter & { readonly recentFrom: number },
  before: number,
  limit: number,
): Promise<FoldedIncident[]> {
  return sql<FoldedIncident[]>`
    with read as (
      select i.key, i.monitor_id, i.resolved_at is null as open from incidents i
      where ${matching(sql, organisation, filter, before)}
      order by i.key desc limit ${maxRead}),
    placed as (
      select key, open, count(*) over same as of_monitor,
        row_number() over (same order by key desc) as place
      from read window same as (partition by monitor_id, open)),
    folded as (
      select key, case when open or of_monitor < 3 then 1 else of_monitor end as times
      from placed where open or of_monitor < 3 or place = 1 order by key desc limit ${limit})
    select ${incidentColumns(sql)}, f.times,
      (select count(*) from incidents o where o.monitor_id = i.monitor_id
        and o.started_at > ${new Date(filter.recentFrom)}
        and o.confirmed_at is not null) as recent,
      (select min(key) from read having count(*) = ${maxRead}) as read_to
    from folded f join incidents i on i.key = f.key join monitors m on m.id = i.monitor_id
    order by i.key desc`;
}

/** A longer list of choices is no help, and weighs more than the page. */
const maxChosenFrom = 200;

/** What a list of incidents since then can be filtered by: of the newest, and of open ones. */
export async function incidentChoices(
  sql: Queryable,
  organisation: string,
  since: number,
): Promise<{
  readonly monitors: readonly { readonly id: string; readonly name: string }[];
  readonly layers: readonly string[];
  readonly owners: readonly string[];
}> {
  const rows = await sql<
    { id: string; name: string; layers: (string | null)[]; owners: (string | null)[] }[]
  >`
    with recent as (
      (select monitor_id, layer, acknowledged_as from incidents
        where organisation_id = ${organisation} and resolved_at is null limit ${maxChosenFrom})
      union all
      (select monitor_id, layer, acknowledged_as from incidents
        where organisation_id = ${organisation} and resolved_at >= ${new Date(since)}
        order by resolved_at desc limit ${maxChosenFrom}))
    select m.id, m.name, array_agg(distinct i.layer) as layers,
      array_agg(distinct i.acknowledged_as) as owners
    from recent i join monitors m on m.id = i.monitor_id
    group by m.id, m.name order by lower(m.name), m.id`;
  const distinct = (of: 'layers' | 'owners'): string[] =>
    [...new Set(rows.flatMap((row) => row[of].filter((each) => each !== null)))].toSorted();
  return {
    monitors: rows.map(({ id, name }) => ({ id, name })),
    layers: distinct('layers'),
    owners: distinct('owners'),
  };
}
