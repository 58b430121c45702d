import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readBackup } from '../../../coordinator/backups/restore.ts';
import { tablesInOrder, writeBackup } from '../../../coordinator/backups/write.ts';
import { connect, type Sql } from '../../../coordinator/database/connect.ts';
import { hourMs } from '../../../coordinator/results/chunk.ts';
import { dayMs, makeDays, yearSeries } from '../../../coordinator/results/days.ts';
import { insertJournal, makeJournalHours } from '../../../coordinator/results/journal.ts';
import { makeResultDays } from '../../../coordinator/results/retention.ts';
import { readSealing, sealEpochOf } from '../../../coordinator/secrets/at-rest.ts';
import { handOn } from '../../../coordinator/webhooks/delivery-queries.ts';
import { insertWebhook } from '../../../coordinator/webhooks/queries.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { createLog } from '../../../shared/base/log.ts';
import { storeChecks, testResults } from '../../support/checks.ts';
import { eventually } from '../../support/eventually.ts';
import { createTestOrganisation, type TestOrganisation } from '../../support/people.ts';
import { createDatabase, type TestDatabase } from '../../support/services.ts';

let folder: string;
let database: TestDatabase;
let sql: Sql;
let house: TestOrganisation;
const opened: { sql: Sql; database: TestDatabase }[] = [];
const quiet = () => undefined;
const monitor = newId();

const another = async (): Promise<Sql> => {
  const made = await createDatabase();
  const client = connect(made.url, { name: 'restored', connections: 3 });
  opened.push({ sql: client, database: made });
  return client;
};

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'antipode-backup-'));
  database = await createDatabase();
  sql = connect(database.url, { name: 'backed up', connections: 4 });
  house = await createTestOrganisation(sql, { name: 'Zürich "Shop"\\' });
  await sql`insert into monitors (id, organisation_id, partition, name, type, target, interval_s, config, secrets)
    values (${monitor}, ${house.organisation}, 3, ${'tab\tand\nline'}, 'https', 'https://example.com', 60, ${JSON.stringify({ note: 'a\\b\n"c"' })}, ${Buffer.from([0, 1, 255])})`;
  const [row] = await sql<{ key: number }[]>`select key from monitors where id = ${monitor}`;
  await makeResultDays(sql, Date.UTC(2026, 10, 3), Date.UTC(2026, 10, 4));
  const first = Date.UTC(2026, 10, 1);
  const checks = Array.from({ length: 4_000 }, (_, nth) => ({
    at: first + (nth + 1) * 10_000,
    took_ms: nth,
    phases: { dns: 1, tcp: 2, tls: null, first_byte: 4, total: nth },
  }));
  await storeChecks(sql, row?.key ?? 0, checks);
  await sql`insert into chunks (monitor_key, at, data)
    values (${row?.key ?? 0}, '2026-11-03 04:00Z', ${Buffer.from([1, 0, 255, 92, 10])})`;
  const hour = Date.UTC(2026, 10, 4, 7);
  await makeJournalHours(sql, hour, hour + 1);
  const [batch] = insertJournal(sql, [
    {
      arrival: hour,
      partition: 3,
      probe: 1,
      data: Buffer.from([1, 0, 255, 92, 10]),
      counts: { ok: 1, fail: 0, unknown: 0 },
      oldest: hour,
      signature: null,
      digests: null,
    },
  ]);
  await batch;
  await sql`insert into incidents (id, organisation_id, monitor_id, started_at, cause, progress)
    values (${newId()}, ${house.organisation}, ${monitor}, now(), ${JSON.stringify({ class: 'x', params: {} })}, '{}')`;
});

afterAll(async () => {
  for (const { sql: client, database: made } of [{ sql, database }, ...opened]) {
    await client.end();
    await made.drop();
  }
  await rm(folder, { recursive: true });
});

const contents = async (of: Sql): Promise<Record<string, unknown>> => {
  const all: Record<string, unknown> = {};
  for (const { name } of await tablesInOrder(of)) {
    const [row] = await of<{ count: number; sum: string | null }[]>`
      select count(*) as count, md5(string_agg(t::text, '|' order by t::text)) as sum from ${of(name)} t`;
    all[name] = row;
  }
  return all;
};

describe('a backup', () => {
  test('restored into an empty database gives every row back, and running numbers go on behind the highest', async () => {
    const file = join(folder, 'whole.backup');
    const seen: string[] = [];
    const done = await writeBackup(sql, file, (table) => seen.push(table));
    expect(seen).toHaveLength(done.tables);
    const restored = await another();
    expect(await readBackup(restored, file, false, quiet)).toEqual(done);
    expect(await contents(restored)).toEqual(await contents(sql));
    const [fresh] = await restored<{ key: number }[]>`
      insert into monitors (id, organisation_id, partition, name, type, target, interval_s)
      values (${newId()}, ${house.organisation}, 0, 'x', 'https', 'y', 60) returning key`;
    const [old] = await sql<{ key: number }[]>`select max(key) as key from monitors`;
    expect(fresh?.key).toBe((old?.key ?? 0) + 1);
    const [next] = await restored<{ id: number }[]>`select nextval('journal_ids') as id`;
    const [last] = await sql<{ id: number }[]>`select max(id) as id from journal`;
    expect(next?.id).toBe((last?.id ?? 0) + 1);
  });

  test('without raw results contains everything else, and is restored like any other', async () => {
    const [small, whole] = [join(folder, 'small.backup'), join(folder, 'with-results.backup')];
    // All days have their rows.
    await sql`delete from stale_days`;
    const done = await writeBackup(sql, small, quiet, { withResults: false });
    const all = await writeBackup(sql, whole, quiet);
    const [row] = await sql<{ chunks: number }[]>`select count(*)::int as chunks from chunks`;
    expect([all.tables - done.tables, all.rows - done.rows]).toEqual([1, (row?.chunks ?? 0) + 1]);
    const restored = await another();
    await readBackup(restored, small, false, quiet);
    expect(await contents(restored)).toEqual({
      ...(await contents(sql)),
      chunks: { count: 0, sum: null },
      journal: { count: 0, sum: null },
    });
  });

  test('without raw results has charts of every hour that was over, and keeps them', async () => {
    const file = join(folder, 'charts.backup');
    const day = Date.UTC(2026, 10, 10);
    const [{ key } = { key: 0 }] = await sql<{ key: number }[]>`
      select key from monitors where id = ${monitor}`;
    const probe = newId();
    await sql`insert into probes (id, name, continent) values (${probe}, 'Tokyo', 'Asia')`;
    const log = createLog({ name: 'test', level: 'silent' });
    const makeAll = async (of: Sql, now: number) => {
      await of`update stale_days set since = 'epoch'`;
      while (await of.begin((transaction) => makeDays(transaction, { now, batchSize: 10, log })));
    };
    const ofHour = (hour: number, count: number) =>
      Array.from({ length: count }, (_, nth) => ({ probe, at: day + hour * hourMs + nth }));
    const ofBackup = Array.from({ length: 27 }, (_, hour) => [hour, 6]);
    for (const [hour = 0] of ofBackup) await storeChecks(sql, key, ofHour(hour, 6));
    // The first day has its row, and the second goes on.
    await makeAll(sql, day + dayMs + 3 * hourMs);
    await writeBackup(sql, file, quiet, { withResults: false });
    const restored = await another();
    await readBackup(restored, file, false, quiet);
    expect(
      await restored`select distinct at::date::text as day from chunks where monitor_key = ${key}`,
    ).toEqual([{ day: '2026-11-11' }]);
    const seen = async (days: number) => {
      const window = { from: day, to: day + days * dayMs };
      const of = { key, partition: 3 };
      const { rows } = await yearSeries(restored, testResults(), of, window, hourMs / 1_000);
      return rows.map(({ slot, ok }) => [slot, ok]);
    };
    expect(await seen(2)).toEqual(ofBackup);
    // The next checks come after it was restored.
    await storeChecks(restored, key, ofHour(29, 3));
    expect(await seen(2)).toEqual([...ofBackup, [29, 3]]);
    await makeAll(restored, day + 3 * dayMs);
    await restored`delete from chunks`;
    for (const days of [2, 100]) expect(await seen(days)).toEqual([...ofBackup, [29, 3]]);
  });

  test('is consistent, whatever is written meanwhile', async () => {
    const file = join(folder, 'moment.backup');
    const before = await contents(sql);
    await writeBackup(sql, file, (table) => {
      // Between two tables somebody adds a whole house; nothing of it may be in the file.
      if (table === 'groups') void createTestOrganisation(sql);
    });
    const restored = await another();
    await readBackup(restored, file, false, quiet);
    expect(await contents(restored)).toEqual(before);
  });

  test('makes another installation of the database that it is restored into', async () => {
    const file = join(folder, 'installation.backup');
    await writeBackup(sql, file, quiet);
    const restored = await another();
    const id = async (of: Sql) => (await of<{ id: string }[]>`select id from installation`)[0]?.id;
    const before = await id(restored);
    await readBackup(restored, file, false, quiet);
    expect([before, await id(sql)]).not.toContain(await id(restored));
  });

  test('has webhooks go on with the events that come after it was restored', async () => {
    const file = join(folder, 'webhooks.backup');
    const webhook = newId();
    await insertWebhook(
      sql,
      {
        id: webhook,
        organisation: house.organisation,
        description: '',
        host: 'hooks.example.org',
        event_types: [],
        enabled: true,
        secrets: Buffer.from('sealed'),
      },
      Date.now(),
    );
    const deploy = (of: Sql, name: string) =>
      of`insert into events (organisation_id, what, name) values (${house.organisation}, 'deploy', ${name})`;
    await deploy(sql, 'before');
    await writeBackup(sql, file, quiet);
    await sql`delete from webhooks`;
    const restored = await another();
    await readBackup(restored, file, false, quiet);
    await deploy(restored, 'after');
    const handed = async () => {
      await handOn(restored, Date.now());
      return (
        await restored<{ name: string }[]>`
          select e.name from deliveries d join events e on e.id = d.event_key
          where d.webhook_id = ${webhook}`
      ).map(({ name }) => name);
    };
    // An event is certain once the transactions of the whole server that began before it are over.
    await eventually(async () => (await handed()).length > 0);
    expect(await handed()).toEqual(['after']);
  });

  test('is refused by a database that is not empty, unless it is to be replaced, and while a coordinator runs on it', async () => {
    const file = join(folder, 'refused.backup');
    await writeBackup(sql, file, quiet);
    const full = await another();
    await createTestOrganisation(full);
    const before = await contents(full);
    await expect(readBackup(full, file, false, quiet)).rejects.toThrow('not empty');
    expect(await contents(full)).toEqual(before);
    await full`insert into coordinators (id, version, seen_at) values (${newId()}, '1', now())`;
    await expect(readBackup(full, file, true, quiet)).rejects.toThrow('stop it first');
    await full`delete from coordinators`;
    await readBackup(full, file, true, quiet);
    expect(await contents(full)).toEqual(await contents(sql));
    expect(sealEpochOf((await readSealing(full)).epochs, 'Europe')).toBeGreaterThan(
      sealEpochOf((await readSealing(sql)).epochs, 'Europe'),
    );
  });

  test('that is damaged, truncated or another file leaves the database as it was', async () => {
    const file = join(folder, 'sound.backup');
    await writeBackup(sql, file, quiet);
    const restored = await another();
    const attempt = async (bytes: Buffer): Promise<void> => {
      const broken = join(folder, 'broken.backup');
      await writeFile(broken, bytes);
      await expect(readBackup(restored, broken, false, quiet)).rejects.toThrow(
        'cannot be restored',
      );
      expect(await restored`select 1 from organisations`).toHaveLength(0);
    };
    const sound = await readFile(file);
    const plain = gunzipSync(sound);
    const turned = Buffer.from(plain);
    const at = turned.indexOf('Zürich');
    turned[at + 1] = 'X'.charCodeAt(0);
    await attempt(sound.subarray(0, sound.length - 100));
    await attempt(gzipSync(plain.subarray(0, plain.length - 200)));
    await attempt(Buffer.from('not a backup'));
    await attempt(gzipSync(Buffer.from('neither is this, whatever it is, as one sees at once')));
    await attempt(gzipSync(turned));
    await expect(readBackup(restored, join(folder, 'nowhere'), false, quiet)).rejects.toThrow(
      'ENOENT',
    );
    await readBackup(restored, file, false, quiet);
    expect(await contents(restored)).toEqual(await contents(sql));
  });

  test('that could not be finished leaves no file behind', async () => {
    const count = (await readdir(folder)).length;
    await expect(
      writeBackup(sql, join(folder, 'halfway.backup'), (table) => {
        if (table === 'monitors') throw new Error('the disk is full');
      }),
    ).rejects.toThrow('the disk is full');
    expect(await readdir(folder)).toHaveLength(count);
  });
});
