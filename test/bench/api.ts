import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { connect, type Sql } from '../../coordinator/store/database.ts';
import { migrate } from '../../coordinator/store/migrate.ts';
import { createHouse, testSecretKey } from '../support/people.ts';
import { createDatabase } from '../support/services.ts';
import { startServices } from '../support/services-run.ts';
import { answersPerSecond } from './api/load.ts';
import { seedMonitors, seedYear } from './api/seed.ts';
import { type Bench, type Figure, interleaved } from './figure.ts';
import { cores, cpuOf, find, pinned, start, stop } from './processes.ts';

const run = promisify(execFile);

const connections = 50;
const roundMs = 3_000;

/** The query of the whole page, as the store asks it when it knows none of the rows, once for each transaction, on as many connections as the API is asked on. */
const pgbench = async (program: string, databaseUrl: string, organisation: string): Promise<number> => {
  const folder = await mkdtemp(join(tmpdir(), 'antipode-bench-'));
  try {
    const script = join(folder, 'page.sql');
    await writeFile(
      script,
      `select m.key, m.id, m.name, m.type, m.target, m.interval_s, m.enabled, m.config, m.group_id, m.affects_group_status, m.created_at,
         s.status, s.since, s.seen,
         (select r.at from results r where r.monitor_key = m.key and r.outcome < 2 order by r.at desc limit 1) as last_result_at,
         anew.at, m.external_id, m.tags
         from monitor_status s join monitors m on m.id = s.monitor_id left join (
           select o.payload->>'monitor' as monitor, min(o.created_at) as at from outbox o
           where o.done_at is null and o.topic = 'monitor' and o.organisation_id = '${organisation}'
             and (o.payload->>'change' = 'resumed' or o.payload->>'what_is_checked_changed' = 'true')
           group by 1) anew on anew.monitor = m.id::text
         where m.organisation_id = '${organisation}' and s.organisation_id = '${organisation}' and m.key > 0 order by m.key limit 51;`.replaceAll(
        '\n',
        ' ',
      ),
    );
    const given = ['-n', '-M', 'prepared', '-c', String(connections), '-j', '1', '-T', String(roundMs / 1000), '-f', script, databaseUrl];
    const [command, ...rest] = pinned(cores.load, [program, ...given]);
    const { stdout } = await run(command, rest);
    return Number(/tps = ([\d.]+)/.exec(stdout)?.[1] ?? Number.NaN);
  } finally {
    await rm(folder, { recursive: true });
  }
};

/**
 * Whatever is measured has core 1 to itself: the API then, with the database beside the load, or the database itself. Postgres was
 * started unpinned; its parent hands its core on to the backends of the next connections.
 */
const moveDatabase = async (sql: Sql, core: number): Promise<void> => {
  if (!find('taskset')) return;
  const backends = await sql<{ pid: number }[]>`select pid from pg_stat_activity where backend_type = 'client backend'`;
  const [{ pid: one } = { pid: 0 }] = backends;
  const status = await readFile(`/proc/${one}/status`, 'utf8');
  const parent = Number(/^PPid:\s+(\d+)/m.exec(status)?.[1]);
  // A connection may have been closed meanwhile.
  for (const pid of [parent, ...backends.map(({ pid }) => pid)])
    if (existsSync(`/proc/${pid}`))
      await run('taskset', ['-cp', String(core), String(pid)]).catch((error: unknown) => {
        if (existsSync(`/proc/${pid}`)) throw error;
      });
};

/** CPU for one call in milliseconds, of the server and of the database; a few calls at a time keep both from falling asleep between. */
const cpuOfCalls = async (
  url: URL,
  token: string,
  server: number,
  sql: Sql,
): Promise<{ readonly server: number; readonly database: number }> => {
  const used = async () => {
    const backends = await sql<{ pid: number }[]>`select pid from pg_stat_activity where application_name = 'bench'`;
    return { server: cpuOf(server), database: backends.reduce((sum, { pid }) => sum + cpuOf(pid), 0) };
  };
  const before = await used();
  const calls = (await answersPerSecond(url, token, 8, roundMs)) * (roundMs / 1000);
  const after = await used();
  return { server: (after.server - before.server) / calls, database: (after.database - before.database) / calls };
};

const figure = (what: string, ours: string, against: string, ratio: number | null, goal: string, holds: boolean | null): Figure => ({
  ...{ what, ours, against, ratio, goal, holds },
});

export const api: Bench = {
  name: 'api',
  about: 'a page of 50 monitors with their status against pgbench, the status of a monitor against the monitor, and with a year of history',
  run: async (say) => {
    const { services, stop: end } = await startServices(async (url) => {
      const sql = connect(url, { name: 'bench-template', connections: 1 });
      await migrate(sql).finally(() => sql.end());
    });
    const database = await createDatabase(services);
    const sql = connect(database.url, { name: 'bench-seed', connections: 2 });
    const server = start(cores.subject, [process.execPath, new URL('api/server.ts', import.meta.url).pathname], {
      env: { ...process.env, DATABASE_URL: database.url, SECRET_KEY: testSecretKey },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    try {
      const { organisation, owner } = await createHouse(sql);
      const plain = await seedMonitors(sql, organisation);
      const year = await seedYear(sql, organisation);
      if (!server.stdout || server.pid === undefined) throw new Error('the server of the bench did not start');
      const [address] = await once(createInterface(server.stdout), 'line');
      const page = new URL('/api/v1/monitors', String(address));
      const status = new URL(`/api/v1/monitors/${year}/status?days=365`, String(address));
      const program = find('pgbench');
      const rates = await interleaved(
        {
          ours: async () => {
            await moveDatabase(sql, cores.load);
            return answersPerSecond(page, owner.read, connections, roundMs);
          },
          pgbench: async () => {
            await moveDatabase(sql, cores.subject);
            return program ? pgbench(program, database.url, organisation) : Number.NaN;
          },
        },
        5,
        say,
      );
      await moveDatabase(sql, cores.load);
      const alone = await interleaved(
        {
          status: () => answersPerSecond(new URL(`/api/v1/monitors/${plain}/status`, String(address)), owner.read, connections, roundMs),
          monitor: () => answersPerSecond(new URL(`/api/v1/monitors/${plain}`, String(address)), owner.read, connections, roundMs),
        },
        5,
        say,
      );
      say('a year of history');
      await answersPerSecond(status, owner.read, 8, roundMs);
      const cpu = await cpuOfCalls(status, owner.read, server.pid, sql);
      const ratio = program ? rates.ours / rates.pgbench : null;
      return [
        figure(
          'page of 50 monitors with status, token, limits and headers',
          `${rates.ours.toFixed(0)} answers/s`,
          program ? `pgbench, query of the page, ${rates.pgbench.toFixed(0)}/s` : 'pgbench is not on this machine',
          ratio,
          '≥ 0.60',
          ratio === null ? null : ratio >= 0.6,
        ),
        figure(
          'status of a monitor with 30 days of uptime',
          `${alone.status.toFixed(0)} answers/s`,
          `the monitor with its status, ${alone.monitor.toFixed(0)}/s`,
          alone.status / alone.monitor,
          '≥ 0.50',
          alone.status / alone.monitor >= 0.5,
        ),
        figure(
          'status with 365 days of history: 1,470 intervals',
          `${cpu.server.toFixed(2)} ms CPU`,
          `no peer: a plain time; the database takes ${cpu.database.toFixed(2)} ms more`,
          null,
          '< 5 ms',
          cpu.server < 5,
        ),
      ];
    } finally {
      await stop(server);
      await sql.end();
      await database.drop();
      await end();
    }
  },
};
