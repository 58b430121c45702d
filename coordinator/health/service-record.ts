import type { Queryable, Sql } from '../database/connect.ts';
import { hourMs } from '../results/chunk.ts';
import type { MonitorKey, Results } from '../results/reading.ts';

/** The service record of the installation. Pure. */

export type ServiceDay = {
  /** 2026-11-22, in UTC. */
  readonly day: string;
  readonly confirmed: number;
  readonly p50_ms: number | null;
  readonly p95_ms: number | null;
  /** Outages that two continents saw, and no other that checked. */
  readonly doubted: number;
  /** Outages that the operator marked as false. */
  readonly false_by_word: number;
  readonly results_lost: number;
  readonly own_outages: number;
  readonly own_outage_s: number;
};

/** Who may read it, as the operator chooses. */
export const recordReaders = ['everyone', 'users', 'nobody'] as const;
type RecordReaders = (typeof recordReaders)[number];

type ServiceSum = {
  readonly confirmed: number;
  readonly false_by_word: number;
  readonly doubted: number;
  readonly results_lost: number;
  readonly own_outages: number;
  readonly own_outage_s: number;
  /**
   * The slowest and the middle of daily medians mean little together, so the median of the days is
   * shown.
   */
  readonly p50_ms: number | null;
  readonly p95_ms: number | null;
};

export function sumOf(days: readonly ServiceDay[]): ServiceSum {
  const all = (of: (day: ServiceDay) => number): number =>
    days.reduce((sum, day) => sum + of(day), 0);
  return {
    confirmed: all(({ confirmed }) => confirmed),
    false_by_word: all((day) => day.false_by_word),
    doubted: all(({ doubted }) => doubted),
    results_lost: all((day) => day.results_lost),
    own_outages: all((day) => day.own_outages),
    own_outage_s: all((day) => day.own_outage_s),
    p50_ms: middle(present(days.map(({ p50_ms }) => p50_ms))),
    p95_ms: middle(present(days.map(({ p95_ms }) => p95_ms))),
  };
}

function middle(values: readonly number[]): number | null {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor((sorted.length - 1) / 2)] ?? null;
}

function present(values: readonly (number | null)[]): readonly number[] {
  return values.filter((value) => value !== null);
}

const dayMs = 86_400_000;
/**
 * A confirmed outage waits an hour for others to agree, and late results get some minutes to
 * arrive.
 */
const settleMs = 70 * 60_000;

export function dayOf(at: number): string {
  return new Date(at).toISOString().slice(0, 10);
}

/** Days that are over and settled, the oldest first; the data for older ones is no longer kept. */
export function settledDays(now: number, rawDays: number): readonly string[] {
  const last = Math.floor((now - settleMs) / dayMs) - 1;
  const count = Math.min(rawDays - 1, 30);
  return Array.from({ length: Math.max(0, count) }, (_, index) =>
    dayOf((last - count + 1 + index) * dayMs),
  );
}

/** Kinds of notices about an outage of our own parts. */
const serviceOutages = ['probe_lost', 'bus_silent', 'continent_alone', 'probe_quarantined'];

/** The service record, counted from stored rows once a day is settled. */
async function countedDays(sql: Queryable): Promise<ReadonlySet<string>> {
  return new Set(
    (await sql<{ day: string }[]>`select day::text from own_days`).map(({ day }) => day),
  );
}

/** Counts one whole day. A second count gives the same, as far as its data is kept. */
async function countDay(sql: Queryable, results: Results, day: string): Promise<void> {
  const doubted = await doubtedOn(sql, results, day);
  await sql`
    with ${confirmedOn(sql, day)},
    outages as (
      select greatest(n.began_at, span.began) as began,
        least(coalesce(n.ended_at, span.ended), span.ended) as ended
      from span, notices n left join probes p on p.id::text = n.subject
      where n.kind = any(${serviceOutages}) and p.organisation_id is null
        and n.began_at < span.ended and (n.ended_at is null or n.ended_at > span.began))
    insert into own_days (day, confirmed, p50_ms, p95_ms, doubted, results_lost, own_outages,
      own_outage_s)
    select ${day}::date, (select count(*) from confirmed),
      (select percentile_disc(0.5) within group (order by took_ms) from confirmed)::int,
      (select percentile_disc(0.95) within group (order by took_ms) from confirmed)::int,
      ${doubted},
      coalesce((select results from own_losses where day = ${day}::date), 0),
      (select count(*) from outages),
        (select coalesce(sum(extract(epoch from ended - began)), 0) from outages)::int
    on conflict (day) do nothing`;
}

/** The first tables of a statement about one day. */
function confirmedOn(sql: Queryable, day: string) {
  return sql`
    span as (select (${day}::date)::timestamp at time zone 'UTC' as began,
      (${day}::date + 1)::timestamp at time zone 'UTC' as ended),
    -- The "down" is written in the transaction that confirms an outage of now; one of the past is told late, and has none.
    confirmed as (
      select i.id, i.monitor_id, i.started_at, i.seen_continent,
        case when i.confirmed_place is null then i.confirmed_continent end as confirmed_continent,
        greatest(0, extract(epoch from a.created_at - i.started_at) * 1000) as took_ms
      from span, alerts a join incidents i on i.id = a.incident_id
      where a.event = 'down' and a.channel = '' and a.created_at >= span.began
        and a.created_at < span.ended)`;
}

/** How many outages of a day two continents saw, and no other that checked within the hour. */
async function doubtedOn(sql: Queryable, results: Results, day: string): Promise<number> {
  const unseen = await sql<(MonitorKey & { started_at: number; continents: string[] })[]>`
    with ${confirmedOn(sql, day)}
    select m.key, m.partition, c.started_at,
      array[c.seen_continent, c.confirmed_continent] as continents
    from confirmed c join monitors m on m.id = c.monitor_id
    where c.confirmed_continent is not null
      and exists (select from incident_evidence e where e.incident_id = c.id and e.part = 'matrix'
        and e.outcome = 0 and e.continent not like '%/%'
        and e.continent not in (c.seen_continent, c.confirmed_continent))
      and not exists (select from incident_evidence e where e.incident_id = c.id and e.outcome = 1
        and e.continent not like '%/%' and e.continent not in (c.seen_continent, c.confirmed_continent))`;
  const checks = await results.within(
    sql,
    unseen.map(({ key, partition, started_at: from }) => ({
      key,
      partition,
      from,
      to: from + hourMs,
    })),
  );
  const failing = checks.map((some) =>
    some.flatMap(({ outcome, probe }) => (outcome === 'fail' ? [probe] : [])),
  );
  const probes = await sql<{ key: number; continent: string }[]>`
    select key, continent from probes
    where organisation_id is null and key = any(${[...new Set(failing.flat())]}::int[])`;
  return unseen.filter(
    ({ continents }, nth) =>
      !probes.some(
        ({ key, continent }) => failing[nth]?.includes(key) && !continents.includes(continent),
      ),
  ).length;
}

/** The newest days in order of time, with the operator's present marks. */
async function serviceDays(sql: Queryable, limit: number): Promise<readonly ServiceDay[]> {
  const rows = await sql<ServiceDay[]>`
    select d.day::text, d.confirmed, d.p50_ms, d.p95_ms, d.doubted,
      d.results_lost::float8 as results_lost, d.own_outages, d.own_outage_s,
      (select count(*)::int from false_outages f where f.day = d.day) as false_by_word
    from own_days d order by d.day desc limit ${limit}`;
  return [...rows].reverse();
}

/**
 * Marks a confirmed outage as false, or as true again. Returns its monitor's name, or undefined
 * when there is no such outage.
 */
export async function markFalse(
  sql: Queryable,
  incident: string,
  isFalse: boolean,
): Promise<string | undefined> {
  const [row] = await sql<
    { name: string }[]
  >`select m.name from incidents i join monitors m on m.id = i.monitor_id
    where i.id = ${incident} and i.confirmed_at is not null`;
  if (row === undefined) return undefined;
  if (isFalse)
    await sql`insert into false_outages (incident_id, day)
      select id, (confirmed_at at time zone 'UTC')::date from incidents where id = ${incident}
        on conflict do nothing`;
  else await sql`delete from false_outages where incident_id = ${incident}`;
  return row.name;
}

/**
 * The service record in memory: one coordinator counts past days, and each reads them from time to
 * time.
 */
type ServiceRecord = {
  readonly tick: () => Promise<void>;
  /** Undefined for readers without access. */
  readonly shown: (isSignedIn: boolean) => ServiceRecordRow | undefined;
};

export type ServiceRecordRow = { readonly days: readonly ServiceDay[]; readonly sum: ServiceSum };

/** How many days are shown. */
const shownDays = 90;

type Dependencies = {
  readonly sql: Sql;
  readonly clock: { readonly now: () => number };
  readonly results: Results;
  /** For how long raw results are kept, which show whether others agreed. */
  readonly rawDays: number;
  readonly isLeader: () => boolean;
  readonly readers: RecordReaders;
};

export function createServiceRecord({
  sql,
  clock,
  results,
  rawDays,
  isLeader,
  readers,
}: Dependencies): ServiceRecord {
  let shown: ServiceRecordRow = { days: [], sum: sumOf([]) };
  return {
    tick: async () => {
      if (isLeader()) {
        const existing = await countedDays(sql);
        for (const day of settledDays(clock.now(), rawDays))
          if (!existing.has(day)) await countDay(sql, results, day);
      }
      const days = await serviceDays(sql, shownDays);
      shown = { days, sum: sumOf(days) };
    },
    shown: (isSignedIn) =>
      readers === 'everyone' || (readers === 'users' && isSignedIn) ? shown : undefined,
  };
}
