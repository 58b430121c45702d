import type { Outcome } from '../../shared/checks/result.ts';
import type { Queryable } from './store-database.ts';
import { outcomeOf } from './store-results.ts';

/** So many points of an incident are kept (rule 42); of longer ones the beginning and the end whole, and every so many in between. */
const mostPoints = 2_000;
const wholeEnds = 500;

/** What was seen shortly before and after belongs to the picture. */
const around = '2 minutes';

/** An incident that lasts is frozen anew so often, once its first results are about to be dropped. */
const againAfter = '6 hours';

const bite = 50;

type Point = readonly [at: number, continent: string, probe: string, outcome: number, took_ms: number, cause_class: string | null];

export type Sample = {
  readonly at: number;
  readonly continent: string;
  readonly probe: string;
  readonly outcome: Outcome;
  readonly took_ms: number;
  readonly cause_class: string | null;
};

export type Samples = { readonly samples: readonly Sample[]; readonly whole: boolean };

/**
 * The points of these incidents as things stand: what was frozen before, and what the results hold after that. `chosen` gives incident_id,
 * monitor_key, began, ended, points, whole.
 */
const pointsOf = (sql: Queryable, chosen: ReturnType<Queryable>) => sql`
  with chosen as (${chosen}),
  seen as (
    select c.incident_id, point from chosen c, jsonb_array_elements(c.points) as point
    union all
    select c.incident_id, jsonb_build_array((date_part('epoch', r.at) * 1000)::bigint, p.continent, p.name, r.outcome, r.took_ms, r.cause_class)
    from chosen c
      join results r on r.monitor_key = c.monitor_key and r.at <= c.ended
        and r.at > greatest(c.began, coalesce(to_timestamp((c.points -> -1 ->> 0)::bigint / 1000.0), c.began))
      join probes p on p.key = r.probe_key),
  counted as (
    select incident_id, point, row_number() over (partition by incident_id order by (point ->> 0)::bigint) as place,
      count(*) over (partition by incident_id) as total
    from seen)
  select c.incident_id,
    coalesce(jsonb_agg(k.point order by k.place) filter (where k.total <= ${mostPoints} or k.place <= ${wholeEnds}
      or k.place > k.total - ${wholeEnds}
      or k.place % greatest(1, ceil((k.total - ${2 * wholeEnds}) / ${mostPoints - 2 * wholeEnds}::numeric)::int) = 0), '[]') as points,
    c.whole and coalesce(max(k.total), 0) <= ${mostPoints} as whole
  from chosen c left join counted k using (incident_id) group by c.incident_id, c.whole`;

const chosenColumns = (sql: Queryable) => sql`i.id as incident_id, m.key as monitor_key,
  i.started_at - ${around}::interval as began, coalesce(i.resolved_at + ${around}::interval, 'infinity') as ended,
  coalesce(s.points, '[]') as points, coalesce(s.whole, true) as whole`;

/**
 * Freezes what was seen of some incidents: those that ended a while ago, and those that last and began before `keptFrom`, whose first results
 * are soon dropped. False when none was left.
 */
export const freezeSamples = async (
  sql: Queryable,
  { endedBefore, keptFrom }: { endedBefore: number; keptFrom: number },
): Promise<boolean> => {
  const rows = await sql<{ id: string }[]>`
    with due as (
      select i.id from incidents i
      where (i.frozen_at is null or i.resolved_at is null or i.frozen_at < i.resolved_at)
        and (i.resolved_at < ${new Date(endedBefore)}
          or (i.resolved_at is null and i.started_at < ${new Date(keptFrom)}
            and (i.frozen_at is null or i.frozen_at < now() - ${againAfter}::interval)))
      order by i.resolved_at limit ${bite} for update skip locked),
    points as (${pointsOf(
      sql,
      sql`select ${chosenColumns(sql)} from due join incidents i on i.id = due.id join monitors m on m.id = i.monitor_id
        left join incident_samples s on s.incident_id = i.id`,
    )}),
    written as (
      insert into incident_samples (incident_id, points, whole) select incident_id, points, whole from points
      on conflict (incident_id) do update set points = excluded.points, whole = excluded.whole)
    update incidents i set frozen_at = greatest(now(), i.resolved_at) from due where i.id = due.id returning i.id`;
  return rows.length > 0;
};

/** What the continents saw during an incident: frozen, or as the results hold it. */
export const samplesOf = async (sql: Queryable, organisation: string, incident: string): Promise<Samples> => {
  const [row] = await sql<{ points: readonly Point[]; whole: boolean }[]>`${pointsOf(
    sql,
    sql`select ${chosenColumns(sql)} from incidents i join monitors m on m.id = i.monitor_id left join incident_samples s on s.incident_id = i.id
      where i.organisation_id = ${organisation} and i.id = ${incident}`,
  )}`;
  return {
    whole: row?.whole ?? true,
    samples: (row?.points ?? []).map(([at, continent, probe, outcome, took_ms, cause_class]) => ({
      ...{ at, continent, probe, took_ms, cause_class },
      outcome: outcomeOf(outcome),
    })),
  };
};
