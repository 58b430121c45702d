import type { Outcome } from '../../shared/checks/result.ts';
import type { Queryable } from '../database/connect.ts';
import { outcomeNumbers, outcomeOf } from '../results/check.ts';
import type { MonitorKey, Results } from '../results/reading.ts';

/** What the continents saw during an incident (rule 42): frozen when it ends, before that read. */
type Samples = { readonly samples: readonly Sample[]; readonly whole: boolean };

type Sample = {
  readonly at: number;
  readonly continent: string;
  readonly probe: string;
  readonly outcome: Outcome;
  readonly took_ms: number;
  readonly cause_class: string | null;
};

export async function samplesOf(
  sql: Queryable,
  results: Results,
  organisation: string,
  incident: string,
): Promise<Samples> {
  const chosen = await sql<Chosen[]>`select ${chosenColumns(sql)}
    from incidents i join monitors m on m.id = i.monitor_id
      left join incident_samples s on s.incident_id = i.id
    where i.organisation_id = ${organisation} and i.id = ${incident}`;
  const [present] = await presentSamples(sql, results, chosen);
  return {
    whole: present?.whole ?? true,
    samples: (present?.points ?? []).map(
      ([at, continent, probe, outcome, took_ms, cause_class]) => ({
        at,
        continent,
        probe,
        took_ms,
        cause_class,
        outcome: outcomeOf(outcome),
      }),
    ),
  };
}

/** How often an open incident is frozen again, once its first results are about to be dropped. */
const againAfter = '6 hours';

const batchSize = 50;

/**
 * Freezes the observations of some incidents: of those that ended a while ago, and of open ones
 * from before `keptFrom`, whose first results are soon dropped. False when none was left. In a
 * transaction.
 */
export async function freezeSamples(
  sql: Queryable,
  results: Results,
  { endedBefore, keptFrom }: { endedBefore: number; keptFrom: number },
): Promise<boolean> {
  const due = await sql<{ id: string }[]>`
    select i.id from incidents i
    where (i.frozen_at is null or i.resolved_at is null or i.frozen_at < i.resolved_at)
      and (i.resolved_at < ${new Date(endedBefore)}
        or (i.resolved_at is null and i.started_at < ${new Date(keptFrom)}
          and (i.frozen_at is null or i.frozen_at < now() - ${againAfter}::interval)))
    order by i.resolved_at limit ${batchSize} for update skip locked`;
  if (due.length === 0) return false;
  const ids = due.map(({ id }) => id);
  const chosen = await sql<Chosen[]>`select ${chosenColumns(sql)}
    from incidents i join monitors m on m.id = i.monitor_id
      left join incident_samples s on s.incident_id = i.id
    where i.id = any(${ids}::uuid[])`;
  const present = await presentSamples(sql, results, chosen);
  await sql`
    insert into incident_samples (incident_id, points, whole)
    select incident_id, points, whole
    from jsonb_to_recordset(${JSON.stringify(present)}::text::jsonb)
      as p (incident_id uuid, points jsonb, whole boolean)
    on conflict (incident_id) do update set points = excluded.points, whole = excluded.whole`;
  await sql`update incidents set frozen_at = greatest(now(), resolved_at)
    where id = any(${ids}::uuid[])`;
  return true;
}

/** Observations shortly before and after are part of the picture. */
const around = '2 minutes';

/** An incident with the points that were frozen before. */
type Chosen = MonitorKey & {
  readonly incident_id: string;
  readonly began: number;
  /** Null while it is open. */
  readonly ended: number | null;
  readonly points: readonly Point[];
  readonly whole: boolean;
};

type Point = readonly [
  at: number,
  continent: string,
  probe: string,
  outcome: number,
  took_ms: number,
  cause_class: string | null,
];

function chosenColumns(sql: Queryable) {
  return sql`i.id as incident_id, m.key, m.partition,
  i.started_at - ${around}::interval as began, i.resolved_at + ${around}::interval as ended,
  coalesce(s.points, '[]') as points, coalesce(s.whole, true) as whole`;
}

/** After everything that a probe's clock may say. */
const noEnd = Date.UTC(3000, 0);

/** The present points of these incidents: those frozen before, and later ones from the checks. */
async function presentSamples(
  sql: Queryable,
  results: Results,
  chosen: readonly Chosen[],
): Promise<readonly Pick<Chosen, 'incident_id' | 'points' | 'whole'>[]> {
  const checks = await results.within(
    sql,
    chosen.map(({ key, partition, began, ended, points }) => ({
      key,
      partition,
      from: Math.max(began, points.at(-1)?.[0] ?? 0) + 1,
      to: (ended ?? noEnd) + 1,
    })),
  );
  const seen = [...new Set(checks.flatMap((some) => some.map(({ probe }) => probe)))];
  const rows = await sql<{ key: number; continent: string; name: string }[]>`
    select key, continent, name from probes where key = any(${seen}::int[])`;
  const probes = new Map(rows.map((row) => [row.key, row]));
  return chosen.map(({ incident_id, points, whole }, nth) => {
    const later = (checks[nth] ?? []).flatMap(({ probe, at, outcome, took_ms, cause }): Point[] => {
      const from = probes.get(probe);
      if (from === undefined) return [];
      return [[at, from.continent, from.name, outcomeNumbers[outcome], took_ms, cause]];
    });
    const all = [...points, ...later];
    return { incident_id, points: thinned(all), whole: whole && all.length <= maxPoints };
  });
}

/**
 * How many points of an incident are kept (rule 42). A longer one keeps its beginning and its end,
 * and in between every nth point.
 */
const maxPoints = 2_000;
const wholeEnds = 500;

function thinned(points: readonly Point[]): readonly Point[] {
  const middle = points.length - 2 * wholeEnds;
  if (points.length <= maxPoints) return points;
  const step = Math.ceil(middle / (maxPoints - 2 * wholeEnds));
  return points.filter(
    (_, place) =>
      place < wholeEnds || place >= points.length - wholeEnds || (place + 1) % step === 0,
  );
}
