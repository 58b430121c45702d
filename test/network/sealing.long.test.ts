import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { asyncBufferFromFile, parquetMetadataAsync } from 'hyparquet';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Check, unionOf } from '../../coordinator/results/check.ts';
import { chunksOf, hourMs, hourOf } from '../../coordinator/results/chunk.ts';
import { dayMs, makeDays } from '../../coordinator/results/days.ts';
import {
  insertJournal,
  type JournalRow,
  makeJournalHours,
} from '../../coordinator/results/journal.ts';
import { packBatch } from '../../coordinator/results/packing.ts';
import { makeResultDays } from '../../coordinator/results/table.ts';
import { newId } from '../../shared/base/crypto.ts';
import { createLog } from '../../shared/base/log.ts';
import { batchText, passText, readBatch } from '../../shared/bus/batch.ts';
import { minuteChecks } from '../support/checks.ts';
import { eventually } from '../support/eventually.ts';
import { createNetwork, type Network } from '../support/network.ts';
import { createTestOrganisation } from '../support/people.ts';

/** Processes that are killed while they write chunks or an archive, and those that go on after them. */

const partition = 0;
const monitorCount = 6_000;
const perBatch = 500;

type Monitor = { readonly id: string; readonly key: number };

const seed = async (network: Network): Promise<readonly Monitor[]> => {
  const { organisation } = await createTestOrganisation(network.sql);
  await network.sql`
    insert into monitors (id, organisation_id, partition, name, type, target, interval_s)
    select gen_random_uuid(), ${organisation}, ${partition}, 'monitor ' || n, 'https',
      'https://a.example/', 3600
    from generate_series(1, ${monitorCount}) n`;
  return network.sql<Monitor[]>`select id, key from monitors order by key`;
};

const checkOf = (probe: number, at: number): Check => ({
  probe,
  at,
  took_ms: 10 + (at % 9),
  outcome: 'ok',
  cause: null,
  phases: { dns: 1, tcp: 2, tls: 3, first_byte: 4, total: 10 + (at % 9) },
});

const rowOf = (
  monitors: readonly Monitor[],
  probe: number,
  at: number,
  arrival: number,
): JournalRow => {
  const { probe: _, ...check } = checkOf(probe, at);
  const texts = monitors.map(
    ({ id }, nth) =>
      passText(nth + 1, {
        ...check,
        monitor: id,
        config_version: 1,
        cause: null,
        evidence: null,
        look: null,
      }) ?? '',
  );
  const head = { probe: newId(), generation: newId(), partition, after: null };
  const sent = Buffer.from(batchText(head, texts));
  const batch = readBatch(JSON.parse(sent.toString()));
  if (!batch) throw new Error('no batch');
  const keys = monitors.map(({ key }) => key);
  return {
    arrival: hourOf(arrival),
    partition,
    probe,
    data: packBatch(sent, batch, keys),
    checks: keys.length,
    passes: keys.length,
    oldest: at,
    signature: null,
    digests: null,
  };
};

let network: Network;
let monitors: readonly Monitor[];
/** Of the only probe. */
let key: number;
beforeAll(async () => {
  network = await createNetwork();
  monitors = await seed(network);
  const probe = await network.makeProbe('Europe');
  const [row] = await network.sql<{ key: number }[]>`
    select key from probes where id = ${probe.id}`;
  key = row?.key ?? 0;
});
afterAll(() => network.close());

describe('sealing', () => {
  test('stores each check once, although its owner is killed while it writes chunks, merges late ones and takes over', async () => {
    const { sql } = network;
    const now = Date.now();
    const hour = hourOf(now) - 3 * hourMs;
    await sql.begin(async (transaction) => {
      await makeResultDays(transaction, hour, now + hourMs);
      await makeJournalHours(transaction, hour, now + 3 * hourMs);
    });
    const times: number[] = [];
    /** A check of each monitor, as an owner before has committed it. */
    const arrive = async (at: number): Promise<void> => {
      times.push(at);
      for (let from = 0; from < monitors.length; from += perBatch) {
        const some = monitors.slice(from, from + perBatch);
        const [statement] = insertJournal(sql, [rowOf(some, key, at, now)]);
        await statement;
      }
    };
    const written = async (): Promise<string> => {
      const [row] = await sql<{ sum: string }[]>`
        select coalesce(sum(octet_length(data)), 0)::text as sum from chunks`;
      return row?.sum ?? '';
    };
    const isWhole = async (): Promise<boolean> => {
      const checks = unionOf(times.map((at) => checkOf(key, at)));
      const wanted = [...Map.groupBy(checks, ({ at }) => hourOf(at))]
        .flatMap(([begin, some]) => chunksOf(begin, some))
        .map(({ at, data }) => `${at} ${Buffer.from(data).toString('hex')}`);
      const rows = await sql<{ chunk: string; count: number }[]>`
        select (date_part('epoch', at) * 1000)::bigint || ' ' || encode(data, 'hex') as chunk,
          count(*)::int as count
        from chunks group by 1`;
      return (
        rows.length === wanted.length &&
        rows.every(({ chunk, count }) => wanted.includes(chunk) && count === monitors.length)
      );
    };

    await arrive(hour + 60_000);
    await arrive(hour + hourMs + 60_000);
    for (const late of [hour + 120_000, hour + hourMs + 5]) {
      const before = await written();
      const killed = await network.startCoordinatorProcess();
      await eventually(async () => (await written()) !== before, 60_000, 5);
      killed.signal('SIGKILL');
      await killed.exited;
      expect(await isWhole()).toBe(false);
      await arrive(late);
    }
    const last = await network.startCoordinatorProcess();
    await eventually(isWhole, 90_000, 500);
    last.signal('SIGTERM');
    await last.exited;
    expect(await isWhole()).toBe(true);
    const [rolled] = await sql<{ ok: number }[]>`select sum(ok)::int as ok from rollups`;
    expect(rolled?.ok).toBe(times.length * monitors.length);
  });
});

const coordinatorMain = join(import.meta.dirname, '../../coordinator/main.ts');

describe('archiving', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'antipode-archiving-'));
  });
  afterAll(() => rm(folder, { recursive: true }));

  test('has a day whole or not at all, however often it is killed', async () => {
    const { sql, environment } = network;
    const day = Math.floor(Date.now() / dayMs) * dayMs - 3 * dayMs;
    const name = `day=${new Date(day).toISOString().slice(0, 10)}`;
    const log = createLog({ name: 'test', level: 'silent' });
    await sql.begin((transaction) => makeResultDays(transaction, day, day + dayMs));
    const perMonitor = 60;
    /** Hours of checks of every monitor, and the rows of their day. */
    const store = async (hour: number): Promise<void> => {
      const checks = minuteChecks(hour, hourMs / perMonitor).map((check) => ({
        ...check,
        probe: key,
      }));
      for (const { at, data } of chunksOf(hour, checks))
        await sql`insert into chunks (monitor_key, at, data)
          select key, ${new Date(at)}, ${Buffer.from(data)} from monitors`;
      // Rows of a day are made again an hour after it was marked.
      const now = Date.now() + 2 * hourMs;
      while (await sql.begin((transaction) => makeDays(transaction, { now, bite: 2_000, log })));
    };
    const start = () =>
      spawn(process.execPath, [coordinatorMain, 'operator', 'archive', '--to', folder], {
        env: { ...environment, PATH: process.env.PATH },
        stdio: 'ignore',
      });
    const partial = join(folder, `.${name}.partial`, 'checks-00001.parquet');
    const killAt = async (bytes: number): Promise<void> => {
      const running = start();
      const exited = once(running, 'exit');
      await eventually(
        async () => ((await stat(partial).catch(() => undefined))?.size ?? -1) >= bytes,
        30_000,
        2,
      );
      running.kill('SIGKILL');
      await exited;
    };
    const checksIn = async (): Promise<number> => {
      const file = await asyncBufferFromFile(join(folder, name, 'checks-00001.parquet'));
      return Number((await parquetMetadataAsync(file)).num_rows);
    };
    /** Chunks of the test before are of another day, early in the night. */
    const written = async () => (await readdir(folder)).filter((entry) => entry.includes(name));
    const wanted = monitors.length * perMonitor;
    for (const [nth, hour] of [day, day + hourMs].entries()) {
      await store(hour);
      for (const bytes of [0, 100_000, 300_000]) {
        await killAt(bytes);
        expect(await written()).toContain(`.${name}.partial`);
        if (nth === 0) expect(await written()).not.toContain(name);
        else expect(await checksIn()).toBe(wanted);
      }
      const [code] = await once(start(), 'exit');
      expect(code).toBe(0);
      expect(await written()).toEqual([name]);
      expect(await checksIn()).toBe((nth + 1) * wanted);
    }
  });
});
