import type { Sql } from '../../coordinator/database/connect.ts';
import { inTransaction } from '../../coordinator/database/sql.ts';
import { bytesText } from '../../coordinator/database/table.ts';
import { reportOf } from '../../coordinator/reports/sheet.ts';
import { makeMonths } from '../../coordinator/results/months.ts';
import { dayOf } from '../../coordinator/results/summary.ts';
import { getUptimeReport } from '../../shared/api/reports.ts';
import { newId } from '../../shared/base/crypto.ts';
import { minuteChecks, testResults } from '../support/checks.ts';
import { createNetwork } from '../support/network.ts';
import { startServices } from '../support/services-run.ts';
import { type Bench, median } from './figure.ts';

/** A year of 1,000 monitors that are checked every minute, each with ten outages. */

const mostMs = 1_000;
const dayMs = 86_400_000;
const now = Date.UTC(2026, 0, 5);

/** Days of checks from three places, of which each monitor has one after the other. */
const kindsOfDay = 40;

const fill = async (sql: Sql, organisation: string): Promise<void> => {
  await sql`insert into organisations (id, name, plan, time_zone)
    values (${organisation}, 'bench', 'self_hosted', 'Europe/Berlin')`;
  await sql`insert into monitors (id, organisation_id, partition, name, type, target, interval_s,
      created_at)
    select gen_random_uuid(), ${organisation}, 3, 'Monitor ' || n, 'https', 'https://a.example/',
      60, '2024-01-01' from generate_series(1, 1000) n`;
  const places = ['Europe', 'Asia', 'North America'];
  const drawn = Array.from({ length: kindsOfDay }, (_, kind) => {
    const checks = Array.from({ length: 24 }, (_, hour) =>
      minuteChecks(hour * 3_600_000, 60_000),
    ).flat();
    const made = dayOf(
      0,
      checks.map((check) => ({ ...check, took_ms: check.took_ms * (1 + kind / kindsOfDay) })),
      (probe) => places[probe % places.length],
    );
    if (!made) throw new Error('a day has checks');
    return { whole: bytesText(made.whole), hours: bytesText(made.hours) };
  });
  for (let at = Date.UTC(2024, 11, 31); at < now; at += 10 * dayMs)
    await sql`insert into days (day, monitor_key, whole, hours)
      select d::date, m.key, k.whole::bytea, k.hours::bytea
      from generate_series(${new Date(at)}::timestamptz,
          ${new Date(at + 9 * dayMs)}::timestamptz, '1 day') d
        join monitors m on true
        join unnest(${drawn.map(({ whole }) => whole)}::text[],
          ${drawn.map(({ hours }) => hours)}::text[]) with ordinality k (whole, hours, nth)
          on k.nth = 1 + (m.key + extract(doy from d)::int) % ${kindsOfDay}`;
  await sql`insert into incidents (id, organisation_id, monitor_id, started_at, confirmed_at,
      resolved_at, cause)
    select gen_random_uuid(), ${organisation}, id, at, at, at + interval '9 minutes',
      '{"class": "timeout", "params": {}}'
    from monitors, lateral (select '2025-01-01'::timestamptz
      + (key % 30 + 30 * nth) * interval '1 day' as at from generate_series(0, 9) nth) t`;
  await sql`insert into ledger (monitor_id, kind, began_at, ended_at, interval_s)
    select id, 'unknown', '2024-01-01', '2024-02-01', 60 from monitors`;
  await sql`insert into stale_months (month, monitor_key)
    select distinct date_trunc('month', day)::date, monitor_key from days`;
  await sql`analyze`;
};

export const reports: Bench = {
  name: 'reports',
  about: 'a year of 1,000 monitors: sums, 10,000 outages and response times (2 min)',
  run: async (say) => {
    say('database');
    const { services, stop } = await startServices();
    const network = await createNetwork({ services });
    const { sql } = network;
    const results = testResults();
    try {
      say('a year of 1,000 monitors');
      const organisation = newId();
      await fill(sql, organisation);
      say('its months');
      const more = () =>
        inTransaction(sql, (transaction) =>
          makeMonths(transaction, { now, batchSize: 100, results }),
        );
      while (await more());
      const asked = getUptimeReport.parse({ query: { period: '2025' } });
      if (!asked.ok) throw new Error('the bench asks for no report');
      const took: number[] = [];
      for (let round = 0; round < 9; round += 1) {
        say(`report ${round + 1}`);
        const began = performance.now();
        const { total, monitors } = await reportOf(
          { sql, results, organisation: { id: organisation, time_zone: 'Europe/Berlin' }, now },
          asked.value,
        );
        took.push(performance.now() - began);
        if (monitors.length !== 1_000 || total.incidents !== 10_000 || total.response === null)
          throw new Error('the report is not of all of it');
      }
      const ms = median(took);
      return [
        {
          what: 'the report of a year of 1,000 monitors, the median of nine',
          ours: `${ms.toFixed(0)} ms`,
          against: `${mostMs} ms`,
          ratio: ms / mostMs,
          goal: '≤ 1.00 ×',
          holds: ms <= mostMs,
        },
      ];
    } finally {
      await network.close();
      await stop();
    }
  },
};
