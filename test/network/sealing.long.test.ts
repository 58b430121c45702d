import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Check, unionOf } from '../../coordinator/results/check.ts';
import { chunksOf, hourMs, hourOf } from '../../coordinator/results/chunk.ts';
import {
  insertJournal,
  type JournalRow,
  makeJournalHours,
} from '../../coordinator/results/journal.ts';
import { packBatch } from '../../coordinator/results/packed-batch.ts';
import { makeResultDays } from '../../coordinator/results/retention.ts';
import { newId } from '../../shared/base/crypto.ts';
import { batchText, passText, readBatch } from '../../shared/bus/batch.ts';
import { eventually } from '../support/eventually.ts';
import { createNetwork, type Network } from '../support/network.ts';
import { createTestOrganisation } from '../support/people.ts';

/** Processes that are killed while they write chunks, and those that go on after them. */

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
    counts: { ok: keys.length, fail: 0, unknown: 0 },
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
    const newest = hour + hourMs;
    expect(
      await sql`select newest, sum(checks)::int as checks from sealed_hours
        where newest > 'epoch' group by 1`,
    ).toEqual([
      {
        newest,
        checks: times.filter((at) => at >= newest).length * monitors.length,
      },
    ]);
  });
});
