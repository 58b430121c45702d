import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { connect, type Sql } from '../../coordinator/database/connect.ts';
import { migrate } from '../../coordinator/database/migrate.ts';
import { eventually } from '../support/eventually.ts';
import { createTestOrganisation, testSecretKey } from '../support/people.ts';
import { createDatabase } from '../support/services.ts';
import { startServices } from '../support/services-run.ts';
import { answersPerSecond } from './api/load.ts';
import { seedMonitors, seedYear } from './api/seed.ts';
import { type Bench, type Figure, median, ratioByRound, roundByRound } from './figure.ts';
import { cores, cpuOf, cpuOfEnded, find, pinned, start, stop } from './processes.ts';

const run = promisify(execFile);

const connections = 50;
const roundMs = 3_000;
const rounds = 5;

/**
 * `seen` in a second as the clock shows it; `ofCore` in a second of one core that works on nothing
 * else, whoever else uses this machine.
 */
type Rate = { readonly seen: number; readonly ofCore: number };

/** Where there is nobody to measure against. */
const noOne: Rate = { seen: Number.NaN, ofCore: Number.NaN };

const rateOf = (done: number, tookMs: number, cpuMs: number): Rate => ({
  seen: (done * 1_000) / tookMs,
  ofCore: (done * 1_000) / cpuMs,
});

/** Asks as fast as it is answered, and counts what the server takes for it. */
const askedRate = async (url: URL, token: string, server: number): Promise<Rate> => {
  const [began, used] = [performance.now(), cpuOf(server)];
  const perSecond = await answersPerSecond(url, token, connections, roundMs);
  const tookMs = performance.now() - began;
  return rateOf((perSecond * roundMs) / 1_000, tookMs, cpuOf(server) - used);
};

/** The parent of all backends. */
const postmasterOf = async (sql: Sql): Promise<number> => {
  const [{ pid } = { pid: 0 }] = await sql<{ pid: number }[]>`select pg_backend_pid() as pid`;
  return Number(/^PPid:\s+(\d+)/m.exec(await readFile(`/proc/${pid}/status`, 'utf8'))?.[1]);
};

/**
 * The query of the whole page, as the store asks it when it knows none of the rows, once for each
 * transaction, on as many connections as the API is asked on.
 */
const pgbench = async (
  program: string,
  databaseUrl: string,
  organisation: string,
  sql: Sql,
): Promise<Rate> => {
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
    const given = [
      '-n',
      '-M',
      'prepared',
      '-c',
      String(connections),
      '-j',
      '1',
      '-T',
      String(roundMs / 1000),
      '-f',
      script,
      databaseUrl,
    ];
    const [command, ...rest] = pinned(cores.load, [program, ...given]);
    const postmaster = await postmasterOf(sql);
    const [began, used] = [performance.now(), cpuOfEnded(postmaster)];
    const { stdout, stderr } = await run(command, rest);
    const tookMs = performance.now() - began;
    const done = Number(/transactions actually processed: (\d+)/.exec(stdout)?.[1]);
    if (!(done > 0)) throw new Error(`pgbench measured nothing:\n${stdout}${stderr}`);
    // What its backends took is told when they have ended.
    await eventually(async () => {
      const [{ left } = { left: 1 }] = await sql<{ left: number }[]>`
        select count(*)::int as left from pg_stat_activity where application_name = 'pgbench'`;
      return left === 0;
    });
    return rateOf(done, tookMs, cpuOfEnded(postmaster) - used);
  } finally {
    await rm(folder, { recursive: true });
  }
};

/**
 * Whatever is measured has core 1 to itself: the API then, with the database beside the load, or
 * the database itself. Postgres was started unpinned; its parent hands its core on to the backends
 * of the next connections.
 */
const moveDatabase = async (sql: Sql, core: number): Promise<void> => {
  if (!find('taskset')) return;
  const backends = await sql<
    { pid: number }[]
  >`select pid from pg_stat_activity where backend_type = 'client backend'`;
  const parent = await postmasterOf(sql);
  // A connection may have been closed meanwhile.
  for (const pid of [parent, ...backends.map(({ pid }) => pid)])
    if (existsSync(`/proc/${pid}`))
      await run('taskset', ['-cp', String(core), String(pid)]).catch((error: unknown) => {
        if (existsSync(`/proc/${pid}`)) throw error;
      });
};

/**
 * CPU for one call in milliseconds, of the server and of the database; a few calls at a time keep
 * both from falling asleep between.
 */
const cpuOfCalls = async (
  url: URL,
  token: string,
  server: number,
  sql: Sql,
): Promise<{ readonly server: number; readonly database: number }> => {
  const used = async () => {
    const backends = await sql<
      { pid: number }[]
    >`select pid from pg_stat_activity where application_name = 'bench'`;
    return {
      server: cpuOf(server),
      database: backends.reduce((sum, { pid }) => sum + cpuOf(pid), 0),
    };
  };
  const before = await used();
  const calls = (await answersPerSecond(url, token, 8, roundMs)) * (roundMs / 1000);
  const after = await used();
  return {
    server: (after.server - before.server) / calls,
    database: (after.database - before.database) / calls,
  };
};

const figure = (
  what: string,
  ours: string,
  against: string,
  ratio: number | null,
  goal: string,
  holds: boolean | null,
): Figure => ({
  what,
  ours,
  against,
  ratio,
  goal,
  holds,
});

const ofCore = (rate: Rate): number => rate.ofCore;

const inWords = (what: string, rates: readonly Rate[]): string =>
  `${median(rates.map(ofCore)).toFixed(0)} ${what}/s of a core (${median(rates.map(({ seen }) => seen)).toFixed(0)}/s here)`.replace(
    ' /s',
    '/s',
  );

export const api: Bench = {
  name: 'api',
  about:
    'a page of 50 monitors with their status against pgbench, the status of a monitor against the monitor, and with a year of history',
  run: async (say) => {
    const { services, stop: end } = await startServices(async (url) => {
      const sql = connect(url, { name: 'bench-template', connections: 1 });
      await migrate(sql).finally(() => sql.end());
    });
    const database = await createDatabase(services);
    const sql = connect(database.url, { name: 'bench-seed', connections: 2 });
    const server = start(
      cores.subject,
      [process.execPath, new URL('api/server.ts', import.meta.url).pathname],
      {
        env: { ...process.env, DATABASE_URL: database.url, SECRET_KEY: testSecretKey },
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    );
    try {
      const { organisation, owner } = await createTestOrganisation(sql);
      const plain = await seedMonitors(sql, organisation);
      const year = await seedYear(sql, organisation);
      if (!server.stdout || server.pid === undefined)
        throw new Error('the server of the bench did not start');
      const [address] = await once(createInterface(server.stdout), 'line');
      const page = new URL('/api/v1/monitors', String(address));
      const status = new URL(`/api/v1/monitors/${year}/status?days=365`, String(address));
      const program = find('pgbench');
      const { pid } = server;
      const rates = await roundByRound(
        {
          ours: async () => {
            await moveDatabase(sql, cores.load);
            return askedRate(page, owner.read, pid);
          },
          pgbench: async () => {
            await moveDatabase(sql, cores.subject);
            return program ? pgbench(program, database.url, organisation, sql) : noOne;
          },
        },
        rounds,
        say,
      );
      await moveDatabase(sql, cores.load);
      const one = (path: string): URL =>
        new URL(`/api/v1/monitors/${plain}${path}`, String(address));
      const alone = await roundByRound(
        {
          status: () => askedRate(one('/status'), owner.read, pid),
          monitor: () => askedRate(one(''), owner.read, pid),
        },
        rounds,
        say,
      );
      say('a year of history');
      await answersPerSecond(status, owner.read, 8, roundMs);
      const cpu = await cpuOfCalls(status, owner.read, server.pid, sql);
      const ratio = program
        ? ratioByRound(rates.ours.map(ofCore), rates.pgbench.map(ofCore))
        : null;
      const statusRatio = ratioByRound(alone.status.map(ofCore), alone.monitor.map(ofCore));
      return [
        figure(
          'page of 50 monitors with status, token, limits and headers',
          inWords('answers', rates.ours),
          program
            ? `pgbench, query of the page: ${inWords('', rates.pgbench)}`
            : 'pgbench is not on this machine',
          ratio,
          '≥ 0.60',
          ratio === null ? null : ratio >= 0.6,
        ),
        figure(
          'status of a monitor with 30 days of uptime',
          inWords('answers', alone.status),
          `the monitor with its status: ${inWords('', alone.monitor)}`,
          statusRatio,
          '≥ 0.50',
          statusRatio >= 0.5,
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
