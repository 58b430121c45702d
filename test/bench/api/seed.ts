import type { Sql } from '../../../coordinator/database/connect.ts';
import { makeResultDays } from '../../../coordinator/results/table.ts';
import { newId } from '../../../shared/base/crypto.ts';

const day = 86_400_000;

/**
 * A thousand monitors like those of people: with groups, a config of a few keys, addresses of usual
 * length, a week of results. @returns one of them
 */
export const seedMonitors = async (sql: Sql, organisation: string): Promise<string> => {
  const group = newId();
  await sql`insert into groups (id, organisation_id, name, name_folded) values (${group}, ${organisation}, 'Web', 'web')`;
  await sql`
    insert into monitors (id, organisation_id, partition, name, type, target, interval_s, config, group_id)
    select gen_random_uuid(), ${organisation}, nth % 32, 'Monitor number ' || nth, 'https', 'https://service-' || nth || '.example.com/health', 60,
      '{"expected_status": ["2xx", "301"], "headers": {"accept": "text/html"}, "timeout_ms": 8000}', case when nth % 2 = 0 then ${group}::uuid end
    from generate_series(1, 1000) as nth`;
  const now = Date.now();
  await makeResultDays(sql, now - 7 * day, now + day);
  await sql`insert into probes (id, name, continent) values (gen_random_uuid(), 'bench', 'Europe')`;
  for (let from = 1000; from >= 0; from -= 100)
    await sql`insert into results (monitor_key, at, probe_key, took_ms, outcome)
      select m.key, now() - nth * interval '10 minutes', p.key, 50, 0
      from generate_series(${Math.max(0, from - 99)}::int, ${from}::int) nth cross join monitors m cross join probes p order by 2`;
  await sql`insert into ledger (monitor_id, kind, began_at, ended_at, interval_s)
    select id, 'unknown', now() - interval '8 days', now() - interval '7 days', 60 from monitors`;
  await sql`analyze`;
  const [one] = await sql<
    { id: string }[]
  >`select id from monitors where organisation_id = ${organisation} order by key offset 500 limit 1`;
  return one?.id ?? '';
};

/**
 * A monitor that lived a year: two outages, an unknown stretch and a night's maintenance on each
 * day, a pause each month.
 */
export const seedYear = async (sql: Sql, organisation: string): Promise<string> => {
  const [monitor, window] = [newId(), newId()];
  await sql`insert into monitors (id, organisation_id, partition, name, type, target, interval_s, created_at)
    values (${monitor}, ${organisation}, 0, 'Long life', 'https', 'https://old.example.com/', 60, now() - interval '400 days')`;
  await sql`
    insert into incidents (id, organisation_id, monitor_id, started_at, confirmed_at, resolved_at, seen_probe, seen_continent)
    select gen_random_uuid(), ${organisation}, ${monitor}, at, at + interval '1 second', at + interval '7 minutes', 'probe', 'Europe'
    from generate_series(now() - interval '365 days', now() - interval '1 day', interval '12 hours') as at`;
  await sql`
    insert into ledger (monitor_id, kind, began_at, ended_at, interval_s)
    select ${monitor}, 'unknown', at, at + interval '5 minutes', 60
    from generate_series(now() - interval '364 days 5 hours', now() - interval '1 day', interval '1 day') as at`;
  await sql`
    insert into ledger (monitor_id, kind, began_at, ended_at, interval_s)
    select ${monitor}, 'paused', at, at + interval '3 hours', 60
    from generate_series(now() - interval '360 days', now() - interval '2 days', interval '30 days') as at`;
  await sql`insert into maintenance_windows (id, organisation_id, starts_at, ends_at, local_start, rrule, time_zone, created_at)
    values (${window}, ${organisation}, now() - interval '366 days', now() - interval '366 days' + interval '1 hour',
      localtimestamp - interval '366 days', 'FREQ=DAILY', 'UTC', now() - interval '400 days')`;
  await sql`insert into maintenance_monitors (window_id, monitor_id) values (${window}, ${monitor})`;
  await sql`
    insert into maintenance_occurrences (window_id, began_at, ended_at)
    select ${window}, at, at + interval '1 hour' from generate_series(now() - interval '366 days', now() + interval '30 days', interval '1 day') as at`;
  await sql`analyze incidents, ledger, maintenance_occurrences`;
  return monitor;
};
