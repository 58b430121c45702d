import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import {
  type BackupOptions,
  type Backups,
  createBackups,
  scratchName,
} from '../../../coordinator/backups/nightly.ts';
import { connect, type Sql } from '../../../coordinator/database/connect.ts';
import { operate } from '../../../coordinator/operator/operate.ts';
import { hourOf } from '../../../coordinator/results/chunk.ts';
import { makeResultDays } from '../../../coordinator/results/retention.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { storeChecks } from '../../support/checks.ts';
import { portOf } from '../../support/connections.ts';
import { createTestOrganisation, testSecretKey } from '../../support/people.ts';
import {
  createAccount,
  createDatabase,
  environmentOf,
  type TestDatabase,
} from '../../support/services.ts';

const dayMs = 86_400_000;
const start = Date.now();
const monitor = newId();

let database: TestDatabase;
let sql: Sql;
let folder: string;
let server: Server;
let heartbeat: string;
/** What the heartbeat heard, in order. */
let heard: { readonly path: string; readonly body: string }[] = [];
let now = start;
let free = 10e9;
let warned = '';

const options = (more: Partial<BackupOptions> = {}): BackupOptions => ({
  folder,
  keepDays: 3,
  withResults: true,
  reserveBytes: 1e9,
  ...more,
});
/** Where the drill is not what is looked at: it takes seconds. */
const tryOut = () => Promise.resolve({ tables: 1, rows: 2, made_at: '', newest: null });
const backups = (
  how: Partial<Pick<Parameters<typeof createBackups>[0], 'free' | 'tryOut'>> & {
    readonly heartbeat?: string;
  } = {},
): Backups =>
  createBackups({
    sql,
    settings: {
      databaseUrl: database.url,
      trialUrl: undefined,
      heartbeat: how.heartbeat ?? heartbeat,
    },
    clock: { now: () => now },
    warn: (text) => {
      warned += text;
    },
    free: how.free ?? (() => Promise.resolve(free)),
    ...(how.tryOut ? { tryOut: how.tryOut } : {}),
  });
const addResults = async (key: number, until: number): Promise<void> => {
  const ats = Array.from({ length: 500 }, (_, nth) => until - (nth + 1) * 10_000);
  await storeChecks(
    sql,
    key,
    ats.map((at, nth) => ({ at, took_ms: nth })),
  );
};
const paths = (): string[] => heard.map(({ path }) => path);
const scratches = async (): Promise<number> =>
  (await sql`select 1 from pg_database where datname = ${scratchName(database.url)}`).length;

beforeAll(async () => {
  database = await createDatabase();
  sql = connect(database.url, { name: 'backed up', connections: 6 });
  const { organisation } = await createTestOrganisation(sql, { name: 'House' });
  await sql`insert into monitors (id, organisation_id, partition, name, type, target, interval_s, created_at)
    values (${monitor}, ${organisation}, 3, 'Shop', 'https', 'https://example.com', 60, now() - interval '9 days')`;
  const [row] = await sql<{ key: number }[]>`select key from monitors where id = ${monitor}`;
  await makeResultDays(sql, start - 3 * dayMs, start + dayMs);
  await addResults(row?.key ?? 0, start);
  server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += String(chunk);
    heard.push({ path: request.url ?? '', body });
    response.end('ok');
  });
  heartbeat = `http://127.0.0.1:${await portOf(server)}/beat/secret`;
});
afterAll(async () => {
  server.close();
  await sql.end();
  await database.drop();
});
beforeEach(async () => {
  [heard, now, free, warned] = [[], start, 10e9, ''];
  folder = await mkdtemp(join(tmpdir(), 'antipode-backups-'));
  return () => rm(folder, { recursive: true });
});

describe('a nightly backup', () => {
  test('is written, verified by a restore and reported, and leaves no scratch database', async () => {
    const done = await backups().nightly(options());
    const [file = ''] = await readdir(folder);
    expect(file).toMatch(/^antipode-\d{8}T\d{6}Z\.backup$/);
    expect(done.drill.newest).toBe(new Date(hourOf(start - 10_000)).toISOString());
    expect(done.drill.rows).toBeGreaterThan(30);
    expect(paths()).toEqual(['/beat/secret/start', '/beat/secret']);
    expect(heard[1]?.body).toContain(
      `${file} restored on trial: ${done.drill.rows} rows are there`,
    );
    expect(await scratches()).toBe(0);
  });

  test('is deleted when it is too old, but never before the next one is verified, and never the newest', async () => {
    for (const day of [0, 1, 2, 3, 4]) {
      now = start - 9 * dayMs + day * dayMs + 3_600_000;
      await writeFile(
        join(
          folder,
          `antipode-${new Date(now).toISOString().replaceAll(/[-:]|\.\d+/g, '')}.backup`,
        ),
        'old',
      );
    }
    await writeFile(join(folder, 'antipode-of-mine.backup'), 'not ours');
    now = start;
    free = 0;
    await expect(backups().nightly(options())).rejects.toThrow('the disk of');
    expect(await readdir(folder)).toHaveLength(6);
    expect(paths()).toEqual(['/beat/secret/start', '/beat/secret/fail']);
    expect(heard[1]?.body).toContain('Make room');
    free = 10e9;
    // The newest of the old ones is of 5 days ago.
    const done = await backups({ tryOut }).nightly(options({ keepDays: 6 }));
    expect(done.dropped).toHaveLength(3);
    expect((await readdir(folder)).toSorted()).toHaveLength(4);
    now = start + 30 * dayMs;
    await expect(backups({ tryOut }).drillNewest(folder, false)).resolves.toMatchObject({
      file: done.file,
    });
    expect(await readdir(folder)).toContain('antipode-of-mine.backup');
  });

  test('stops when the disk fills meanwhile, with nothing half left', async () => {
    const answers = [10e9, 0.5e9];
    await expect(
      backups({ free: () => Promise.resolve(answers.shift() ?? 0) }).nightly(options()),
    ).rejects.toThrow('500 MB are free');
    expect(await readdir(folder)).toEqual([]);
    expect(paths()).toEqual(['/beat/secret/start', '/beat/secret/fail']);
  });

  test('is invisible while it is being written, and a partial one of a killed process is deleted by the next', async () => {
    const writing = Promise.withResolvers<void>();
    const go = Promise.withResolvers<void>();
    let asked = 0;
    const slow = backups({
      tryOut,
      free: async () => {
        asked += 1;
        if (asked === 2) {
          writing.resolve();
          await go.promise;
        }
        return 10e9;
      },
    });
    const first = slow.nightly(options());
    await writing.promise;
    // As a kill would leave it.
    const [half = ''] = await readdir(folder);
    expect(half).toMatch(/\.backup\.partial$/);
    await expect(backups().drillNewest(folder, false)).rejects.toThrow(
      'another run of backups goes on',
    );
    go.resolve();
    await first;
    await writeFile(join(folder, half), 'half');
    now += 60_000;
    await backups({ tryOut }).nightly(options());
    expect((await readdir(folder)).filter((name) => name.endsWith('.partial'))).toEqual([]);
    expect(heard.at(-1)?.body).toContain(`${half} was left by a run that ended early`);
  });

  test('is made although the heartbeat that it reports to is gone', async () => {
    const nobody = createServer();
    const port = await portOf(nobody);
    await new Promise((resolve) => nobody.close(resolve));
    await backups({ tryOut, heartbeat: `http://127.0.0.1:${port}/beat/secret` }).nightly(options());
    expect(await readdir(folder)).toHaveLength(1);
    expect(warned).toContain('the heartbeat could not be told');
    expect(warned).not.toContain('secret');
  });
});

describe('a drill', () => {
  test('fails on a broken backup, says why, and reports it to the heartbeat; the scratch database is gone', async () => {
    const { file } = await backups({ tryOut }).nightly(options());
    const whole = await readFile(file);
    const run = async (bytes: Buffer, why: string): Promise<void> => {
      heard = [];
      await writeFile(file, bytes);
      await expect(backups().drillNewest(folder, true)).rejects.toThrow(why);
      expect(paths()).toEqual(['/beat/secret/start', '/beat/secret/fail']);
      expect(heard[1]?.body).toContain(why);
      expect(await scratches()).toBe(0);
    };
    await run(whole.subarray(0, whole.length / 2), 'the file cannot be restored');
    await run(Buffer.from('not gzip'), 'it is damaged, or no backup at all');
    await writeFile(file, whole);
    // As a drill leaves it that was killed.
    await sql`create database ${sql(scratchName(database.url))}`;
    await expect(backups().drillNewest(folder, true)).resolves.toMatchObject({ file });
    expect(paths().at(-1)).toBe('/beat/secret');
    expect(await scratches()).toBe(0);
  });

  test('fails where monitors are watched and no result of the last day is in it', async () => {
    const [row] = await sql<{ key: number }[]>`select key from monitors where id = ${monitor}`;
    await sql`delete from chunks`;
    await addResults(row?.key ?? 0, start - 2 * dayMs);
    await expect(backups().nightly(options())).rejects.toThrow(
      'more than a day before it was made',
    );
    await sql`delete from chunks`;
    await addResults(row?.key ?? 0, start);
  });
});

test('the commands take their settings from the environment, and say what is wrong with a flag', async () => {
  const environment = {
    ...environmentOf(database, await createAccount()),
    SECRET_KEY: testSecretKey,
    BACKUP_HEARTBEAT_URL: heartbeat,
  };
  const run = async (...argv: readonly string[]) => {
    const said = { out: '', err: '' };
    const out = (text: string) => {
      said.out += text;
    };
    const err = (text: string) => {
      said.err += text;
    };
    const streams = { out, err, watched: false };
    const code = await operate(argv, environment, streams);
    return { code, ...said };
  };
  expect(
    await run('backups', 'nightly', '--folder', folder, '--leave-free-mb', '1', '--json'),
  ).toMatchObject({ code: 0, err: '' });
  expect(paths()).toEqual(['/beat/secret/start', '/beat/secret']);
  expect(await run('backups', 'drill', '--folder', join(folder, 'elsewhere'))).toMatchObject({
    code: 1,
  });
  expect(heard).toHaveLength(2);
  expect(
    await run('backups', 'nightly', '--folder', folder, '--leave-free-mb', '999999999'),
  ).toMatchObject({
    code: 1,
    err: expect.stringContaining('Make room'),
  });
  expect(await run('backups', 'nightly', '--folder', folder, '--keep-days', '0')).toMatchObject({
    code: 2,
  });
  expect(await run('backups', 'nightly', '--folder', folder, '--at', '24:00')).toMatchObject({
    code: 2,
    err: expect.stringContaining('such as 03:17'),
  });
});
