import { connect } from '../../coordinator/database/connect.ts';
import { migrate } from '../../coordinator/database/migrate.ts';
import { type Results, responseChart } from '../../coordinator/monitors/pages/response-chart.ts';
import { chunksOf, hourMs } from '../../coordinator/results/chunk.ts';
import { makeDays, yearSeries } from '../../coordinator/results/days.ts';
import type { Series, SeriesRow } from '../../coordinator/results/series.ts';
import { rawSeries } from '../../coordinator/results/series.ts';
import { makeResultDays } from '../../coordinator/results/table.ts';
import { timesIn } from '../../coordinator/web/times.ts';
import { newId } from '../../shared/base/crypto.ts';
import { createLog } from '../../shared/base/log.ts';
import { minuteChecks, testResults } from '../support/checks.ts';
import { createTestOrganisation } from '../support/people.ts';
import { createDatabase } from '../support/services.ts';
import { startServices } from '../support/services-run.ts';
import type { Bench } from './figure.ts';
import { cpuOf } from './processes.ts';

/**
 * What a monitor's day of single checks takes, and its year with percentiles, from the database to
 * the drawn chart: by the time that we and the database used, so that others on the machine change
 * nothing.
 */

const limitsMs = { day: 5, year: 10 };
const rounds = 200;
const dayMs = 24 * hourMs;
const continents = ['Europe', 'North America', 'Asia'];

export const checks: Bench = {
  name: 'checks',
  about: 'a monitor checked every minute: its day of single checks, and its year, read and drawn',
  run: async (say) => {
    const running = await startServices(async (url) => {
      const sql = connect(url, { name: 'bench-template', connections: 1 });
      await migrate(sql).finally(() => sql.end());
    });
    const database = await createDatabase(running.services);
    const sql = connect(database.url, { name: 'bench', connections: 1 });
    try {
      const to = Math.floor(Date.now() / dayMs) * dayMs;
      const from = to - dayMs;
      await makeResultDays(sql, from, to);
      const { organisation } = await createTestOrganisation(sql);
      for (const continent of continents)
        await sql`insert into probes (id, name, continent)
          values (${newId()}, ${continent}, ${continent})`;
      const [monitor] = await sql<{ key: number; partition: number }[]>`
        insert into monitors (id, organisation_id, partition, name, type, target, interval_s)
        values (${newId()}, ${organisation}, 0, 'x', 'https', 'https://example.com', 60)
        returning key, partition`;
      if (!monitor) throw new Error('the monitor was not written');
      const all = Array.from({ length: 24 }, (_, hour) => from + hour * hourMs).flatMap((hour) =>
        chunksOf(hour, minuteChecks(hour, 60_000, hour)),
      );
      for (const { at, data } of all)
        await sql`insert into chunks (monitor_key, at, data)
          values (${monitor.key}, ${new Date(at)}, ${data})`;
      const results = testResults({ now: () => to });
      const [backend] = await sql<{ pid: number }[]>`select pg_backend_pid() as pid`;
      const used = (): number => {
        const { user, system } = process.cpuUsage();
        return (user + system) / 1_000 + cpuOf(backend?.pid ?? 0);
      };
      const costOf = async (what: string, limit: number, draw: () => Promise<unknown>) => {
        let before = 0;
        for (let round = -rounds; round < rounds; round += 1) {
          if (round % 100 === 0) say(`${what}: round ${round} of ${rounds}`);
          if (round === 0) before = used();
          await draw();
        }
        const ours = (used() - before) / rounds;
        return {
          what: `${what}, read and drawn`,
          ours: `${ours.toFixed(2)} ms`,
          against: `${limit} ms`,
          ratio: ours / limit,
          goal: '≤ 1.00 ×',
          holds: ours <= limit,
        };
      };
      const drawn = ({ rows }: Series, begin: number, step_s: number) =>
        String(
          responseChart(
            chartOf(rows, begin, to, step_s),
            { stretches: [] },
            timesIn('UTC', to),
            'p50',
          ),
        );
      const day = await costOf('a day of 1,440 checks in chunks', limitsMs.day, async () =>
        drawn(await rawSeries(sql, results, monitor, { from, to }, 300), from, 300),
      );
      const log = createLog({ name: 'bench', level: 'silent' });
      const later = Date.now() + 2 * hourMs;
      while (
        await sql.begin((transaction) => makeDays(transaction, { now: later, bite: 10, log }))
      );
      await sql`insert into daily_rollups select (jsonb_populate_record(d,
          jsonb_build_object('day', d.day - n))).*
        from daily_rollups d, generate_series(1, 364) n where monitor_key = ${monitor.key}`;
      const yearFrom = to - 365 * dayMs;
      const stepS = dayMs / 1_000;
      const year = await costOf('a year of percentiles by day', limitsMs.year, async () =>
        drawn(
          await yearSeries(sql, results, monitor, { from: yearFrom, to }, stepS),
          yearFrom,
          stepS,
        ),
      );
      return [day, year];
    } finally {
      await sql.end();
      await database.drop();
      await running.stop();
    }
  },
};

/** As the API answers it. */
const chartOf = (
  rows: readonly SeriesRow[],
  from: number,
  to: number,
  step_s: number,
): Results => ({
  monitor: '',
  from: new Date(from).toISOString(),
  to: new Date(to).toISOString(),
  step_s,
  source: 'raw',
  series: Array.from(
    Map.groupBy(rows, ({ continent }) => continent),
    ([continent, points]) => ({
      continent,
      place: null,
      percentiles: null,
      phases: null,
      points: points.map(
        ({ slot, ok, failed, unknown, mean, least, most, median: p50, p95, p99 }) => ({
          at: new Date(from + slot * step_s * 1_000).toISOString(),
          ok,
          failed,
          unknown,
          mean_ms: mean,
          least_ms: least,
          most_ms: most,
          median_ms: p50,
          p95_ms: p95,
          p99_ms: p99,
          phases: null,
        }),
      ),
    }),
  ),
  percentiles: null,
  deploys: [],
});
