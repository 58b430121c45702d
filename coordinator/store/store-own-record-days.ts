import type { OwnDay } from '../domain/own-record.ts';
import type { Queryable } from './store-database.ts';

/** How the house did: counted from stored rows once a day is settled. */

/** Kinds of notices that tell of a part of ours that was out. */
const ownOutages = ['probe_lost', 'bus_silent', 'continent_alone', 'probe_quarantined'];

export const countedDays = async (sql: Queryable): Promise<ReadonlySet<string>> =>
  new Set((await sql<{ day: string }[]>`select day::text from own_days`).map(({ day }) => day));

/** One day, whole. Counted again it comes to the same, as far as what it is made of is kept. */
export const countDay = async (sql: Queryable, day: string): Promise<void> => {
  await sql`
    with span as (select (${day}::date)::timestamp at time zone 'UTC' as began, (${day}::date + 1)::timestamp at time zone 'UTC' as ended),
    -- The "down" is written in the transaction that confirms an outage of now; one of the past is never told, and has none.
    confirmed as (
      select i.id, i.monitor_id, i.started_at, i.seen_continent, i.confirmed_continent,
        greatest(0, extract(epoch from a.created_at - i.started_at) * 1000) as took_ms
      from span, alerts a join incidents i on i.id = a.incident_id
      where a.event = 'down' and a.channel = '' and a.created_at >= span.began and a.created_at < span.ended),
    doubted as (
      select c.id from confirmed c join monitors m on m.id = c.monitor_id
      where c.confirmed_continent is not null
        and exists (select from incident_evidence e where e.incident_id = c.id and e.part = 'matrix' and e.outcome = 0
          and e.continent not in (c.seen_continent, c.confirmed_continent))
        and not exists (select from incident_evidence e where e.incident_id = c.id and e.outcome = 1
          and e.continent not in (c.seen_continent, c.confirmed_continent))
        and not exists (select from results r join probes p on p.key = r.probe_key
          where r.monitor_key = m.key and r.at >= c.started_at and r.at < c.started_at + interval '1 hour' and r.outcome = 1
            and p.continent not in (c.seen_continent, c.confirmed_continent))),
    outages as (
      select greatest(n.began_at, span.began) as began, least(coalesce(n.ended_at, span.ended), span.ended) as ended
      from span, notices n left join probes p on p.id::text = n.subject
      where n.kind = any(${ownOutages}) and p.organisation_id is null and n.began_at < span.ended and (n.ended_at is null or n.ended_at > span.began))
    insert into own_days (day, confirmed, p50_ms, p95_ms, doubted, results_lost, own_outages, own_outage_s)
    select ${day}::date, (select count(*) from confirmed),
      (select percentile_disc(0.5) within group (order by took_ms) from confirmed)::int,
      (select percentile_disc(0.95) within group (order by took_ms) from confirmed)::int,
      (select count(*) from doubted),
      coalesce((select results from own_losses where day = ${day}::date), 0),
      (select count(*) from outages), (select coalesce(sum(extract(epoch from ended - began)), 0) from outages)::int
    on conflict (day) do nothing`;
};

/** The newest days, the oldest of them first, with the operator's word as it is today. */
export const ownDays = async (sql: Queryable, most: number): Promise<readonly OwnDay[]> => {
  const rows = await sql<OwnDay[]>`
    select d.day::text, d.confirmed, d.p50_ms, d.p95_ms, d.doubted, d.results_lost::float8 as results_lost, d.own_outages, d.own_outage_s,
      (select count(*)::int from false_outages f where f.day = d.day) as false_by_word
    from own_days d order by d.day desc limit ${most}`;
  return [...rows].reverse();
};

/** The operator's word on a confirmed outage; the name of its monitor, or undefined when there is no such outage. */
export const sayFalse = async (sql: Queryable, incident: string, isFalse: boolean): Promise<string | undefined> => {
  const [row] = await sql<{ name: string }[]>`select m.name from incidents i join monitors m on m.id = i.monitor_id
    where i.id = ${incident} and i.confirmed_at is not null`;
  if (row === undefined) return undefined;
  if (isFalse)
    await sql`insert into false_outages (incident_id, day)
      select id, (confirmed_at at time zone 'UTC')::date from incidents where id = ${incident} on conflict do nothing`;
  else await sql`delete from false_outages where incident_id = ${incident}`;
  return row.name;
};
