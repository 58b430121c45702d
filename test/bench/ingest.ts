import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { connect, longWork, type Sql } from '../../coordinator/database/connect.ts';
import { createProbeIdentities } from '../../coordinator/probes/identities.ts';
import { createUnsealedHours } from '../../coordinator/results/unsealed-hours.ts';
import { createLog } from '../../shared/base/log.ts';
import { systemClock } from '../../shared/base/time.ts';
import { connectBus } from '../../shared/bus/nats.ts';
import { keyFromSeed } from '../../shared/bus/nkeys.ts';
import { partitionCount, streams, subjects } from '../../shared/bus/subjects.ts';
import { eventually } from '../support/eventually.ts';
import { createTestOrganisation, testSecretKey } from '../support/people.ts';
import { createAccount, createDatabase, environmentOf } from '../support/services.ts';
import { startServices } from '../support/services-run.ts';
import type { Bench, Figure } from './figure.ts';
import { type Measured, startMeasured } from './ingest/coordinator.ts';
import { readHour, storeDay } from './ingest/day.ts';
import { prepareResults, sendResults } from './ingest/feed.ts';
import { keepPresent } from './ingest/presence.ts';
import { cores, cpuOf, find, memoryOf, pinned } from './processes.ts';

const run = promisify(execFile);

const monitorCount = 100_000;
/** Of all partitions. The keys of heartbeats have a marker, too, which may come before or after. */
const markers = Array.from({ length: partitionCount }, (_, n) => subjects.marker(n));
const continents = ['Asia', 'Europe', 'North America'] as const;

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

/**
 * Monitors with ids that spread over the partitions, without the lines that would have them
 * published one by one. Their interval is so long that no gap opens between the two rounds on a slow
 * machine: a result after a gap costs many times what a plain one does.
 */
const seed = async (
  sql: Sql,
  organisation: string,
): Promise<ReadonlyMap<number, readonly string[]>> => {
  await sql`
    insert into monitors (id, organisation_id, partition, name, type, target, interval_s)
    select id, ${organisation}, ('x' || right(id::text, 4))::bit(16)::int % 32, 'monitor ' || n, 'https', 'https://host-' || n || '.example/', 600
    from (select n, gen_random_uuid() as id from generate_series(1, ${monitorCount}) n) made`;
  const rows = await sql<
    { partition: number; ids: string[] }[]
  >`select partition, array_agg(id) as ids from monitors group by partition`;
  return new Map(rows.map(({ partition, ids }) => [partition, ids]));
};

/**
 * What the database itself can take: the same checks by COPY, each a row, rows a second.
 */
export const copyRate = async (
  program: string,
  sql: Sql,
  url: string,
  rows: number,
): Promise<number> => {
  const folder = await mkdtemp(join(tmpdir(), 'antipode-bench-'));
  try {
    await sql.unsafe(`
      create table copied (monitor_key bigint not null, at timestamptz not null, probe_key integer not null,
        took_ms real not null, outcome smallint not null, cause_class text, phases real[]) partition by range (at);
      create index on copied (monitor_key, at);
      create table copied_day partition of copied default`);
    const keys = await sql<{ key: number }[]>`select key from monitors order by md5(key::text)`;
    const at = new Date().toISOString();
    const lines = Array.from(
      { length: rows },
      (_, n) => `${keys[n % keys.length]?.key}\t${at}\t1\t35.25\t0\t\\N\t{1.2,9.8,20.1,30.5,35.25}`,
    );
    const file = join(folder, 'rows');
    await writeFile(file, `${lines.join('\n')}\n`);
    const [command, ...given] = pinned(cores.load, [
      program,
      '-q',
      '-c',
      `\\copy copied from '${file}'`,
      url,
    ]);
    const began = performance.now();
    await run(command, given);
    return rows / ((performance.now() - began) / 1_000);
  } finally {
    await rm(folder, { recursive: true });
  }
};

export const ingest: Bench = {
  name: 'ingest',
  about: '100,000 monitors: results from the bus into the database against COPY, start, memory',
  run: async (say) => {
    const { services, stop: end } = await startServices();
    const database = await createDatabase(services);
    const account = await createAccount(services);
    const sql = connect(database.url, { name: 'bench-seed', connections: 4, patience: longWork });
    const log = createLog({ name: 'bench', level: 'warn' });
    const bus = await connectBus({
      url: account.url,
      credentials: account.coordinatorCredentials,
      name: 'bench',
      log,
    });
    const environment = { ...environmentOf(database, account), SECRET_KEY: testSecretKey };
    const present: ReturnType<typeof keepPresent>[] = [];
    const coordinators: Measured[] = [];
    const startCoordinator = async (): Promise<Measured> => {
      const coordinator = await startMeasured(environment);
      coordinators.push(coordinator);
      return coordinator;
    };
    try {
      say('base');
      const empty = await startCoordinator();
      await empty.atWork;
      const base = memoryOf(empty.pid);
      await empty.stop();

      say(`${monitorCount} monitors`);
      const { organisation } = await createTestOrganisation(sql);
      const monitors = await seed(sql, organisation);
      const identities = createProbeIdentities({
        account: keyFromSeed(account.accountSeed),
        clock: systemClock,
        natsUrl: () => account.url,
        secretKeys: [testSecretKey],
      });
      const probes = [];
      for (const continent of continents)
        probes.push({
          continent,
          ...(await identities.createProbe(sql, {
            name: continent,
            continent,
            organisation: null,
          })),
        });

      say('first start: assignments of all monitors go to the bus');
      const first = await startCoordinator();
      await first.atWork;
      await eventually(
        async () => {
          const stored = await bus.subjectsOf(streams.assignments.name, 'assign.marker.*');
          return markers.every((marker) => stored.includes(marker));
        },
        180_000,
        500,
      );
      await first.stop();

      for (const probe of probes) present.push(keepPresent(bus, probe, monitorCount));
      say('everybody sees every monitor once');
      for (const probe of probes)
        await sendResults(bus, prepareResults(probe, monitors, Date.now()));
      const drained = () =>
        eventually(
          async () => (await bus.streamState(streams.results.name))?.messages === 0,
          300_000,
          20,
        );
      const seeing = await startCoordinator();
      const coldStart = await seeing.atWork;
      await drained();
      await seeing.stop();

      say('a start without results');
      const committed = async (): Promise<number> => {
        const unsealed = createUnsealedHours({ sql, log });
        let checks = 0;
        for (let partition = 0; partition < partitionCount; partition += 1)
          for (const { arena } of (await unsealed.read(partition)).held) checks += arena.count;
        return checks;
      };
      const started = await startCoordinator();
      await started.atWork;
      // Partitions that start first would take results while others start, and what is left would be
      // chance. So results come once all have started, all at once.
      const prepared = probes.flatMap((probe) => prepareResults(probe, monitors, Date.now()));
      say('ingest');
      const known = await committed();
      const before = { cpu: cpuOf(started.pid), at: performance.now() };
      await sendResults(bus, prepared);
      await drained();
      const lastedMs = performance.now() - before.at;
      const cpuMs = cpuOf(started.pid) - before.cpu;
      const memory = memoryOf(started.pid);
      const rows = (await committed()) - known;
      const rate = rows / (lastedMs / 1_000);
      const cpuPerRow = (cpuMs * 1_000) / rows;
      // A start reads what came in the last half minute, which at this interval is next to nothing
      // and not three results for each monitor.
      await pause(25_000);
      await started.stop();

      say('start with everything known');
      const again = await startCoordinator();
      const warmStart = await again.atWork;
      say('what a start leaves behind is collected');
      await pause(45_000);
      const warmMemory = memoryOf(again.pid);
      await again.stop();

      say('a day of 400 monitors, stored');
      const probeKeys = await sql<{ key: number }[]>`select key from probes order by key`;
      const rig = { sql, log, probes: probeKeys.map(({ key }) => key) };
      const all = await sql<
        { id: string; key: number }[]
      >`select id, key from monitors order by key`;
      const stored = await storeDay(rig, all.slice(0, 400));
      say('the hour of 31,250 monitors, read');
      const hour = await readHour(rig, all.slice(0, 31_250));

      say('COPY');
      const program = find('psql');
      const limit = program
        ? await copyRate(program, sql, database.url, Math.min(rows, 200_000))
        : Number.NaN;
      const ratio = program ? rate / limit : null;
      const perMonitor = ((warmMemory - base) * 1024 * 1024) / monitorCount;
      return [
        figure(
          'bus message → committed row (signature, schema, decision, insert)',
          `${rate.toFixed(0)} rows/s of ${rows}`,
          program ? `psql COPY ${limit.toFixed(0)} rows/s` : 'psql is not on this machine',
          ratio,
          '≥ 0.55',
          ratio === null ? null : ratio >= 0.55,
        ),
        figure(
          'a check in its chunk, with the index',
          `${(stored.bytes / stored.checks).toFixed(1)} B`,
          '–',
          null,
          '≤ 12 B',
          stored.bytes / stored.checks <= 12,
        ),
        figure(
          'log of a check: journal, watermarks, chunk',
          `${(stored.logBytes / stored.checks).toFixed(1)} B`,
          '–',
          null,
          '≤ 40 B',
          stored.logBytes / stored.checks <= 40,
        ),
        figure(
          'CPU of Postgres for a check, with its chunk',
          `${stored.databaseUs.toFixed(1)} µs`,
          '–',
          null,
          '≤ 3 µs',
          stored.databaseUs <= 3,
        ),
        figure(
          'take-over of a partition with a full hour of 31,250 monitors',
          `${hour.ms.toFixed(0)} ms for ${hour.checks} checks`,
          `${hour.bytes.toFixed(1)} B of memory a check`,
          null,
          '≤ 2 s',
          hour.ms <= 2_000,
        ),
        figure(
          'coordinator CPU for a row',
          `${cpuPerRow.toFixed(1)} µs`,
          '–',
          null,
          '≤ 4 µs',
          cpuPerRow <= 4,
        ),
        figure(
          'memory for a monitor (three views), after a start',
          `${perMonitor.toFixed(0)} B`,
          '–',
          null,
          '≤ 1600 B',
          perMonitor <= 1_600,
        ),
        figure(
          'memory after ingest',
          `${memory.toFixed(0)} MiB, base ${base.toFixed(0)}`,
          '–',
          null,
          '–',
          null,
        ),
        figure(
          'start with 100,000 monitors, nothing known',
          `${coldStart.toFixed(0)} ms`,
          '–',
          null,
          '≤ 10 s',
          coldStart <= 10_000,
        ),
        figure(
          'start with 100,000 monitors, from checkpoints',
          `${warmStart.toFixed(0)} ms`,
          '–',
          null,
          '≤ 10 s',
          warmStart <= 10_000,
        ),
      ];
    } finally {
      for (const { stop } of [...coordinators, ...present]) await stop();
      await bus.close();
      await sql.end();
      await end();
    }
  },
};
