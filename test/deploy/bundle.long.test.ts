import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { build } from 'esbuild';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { bundleDownload, downloadNames } from '../../coordinator/api/bundles.ts';
import { connect } from '../../coordinator/database/connect.ts';
import { migrationNames } from '../../coordinator/database/migration-files.ts';
import { pageText } from '../../coordinator/documentation/page-files.ts';
import { bundleCoordinator, bundleImportThread } from '../../deploy/bundle/coordinator.ts';
import { isWell } from '../support/network.ts';
import { testSecretKey } from '../support/people.ts';
import { runProgram, startChildProgram } from '../support/processes.ts';
import { createAccount, environmentOf, freePort } from '../support/services.ts';

/**
 * The coordinator as one file, in a folder with nothing else, on a database that nobody has been
 * in.
 */

let folder: string;
let text: string;
const ends: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'antipode-bundle-'));
  text = await bundleCoordinator();
  await writeFile(join(folder, 'antipode-coordinator.mjs'), text);
});
afterAll(async () => {
  for (const end of ends.reverse()) await end();
  await rm(folder, { recursive: true });
});

/** Without the schema: what this one brings along has to make it. */
const emptyDatabase = async (): Promise<{ url: string; drop: () => Promise<void> }> => {
  const server = inject('services').postgres.url;
  const name = `empty_${createHash('sha256').update(folder).digest('hex').slice(0, 12)}`;
  const admin = async (statement: string) => {
    const sql = connect(Object.assign(new URL(server), { pathname: '/postgres' }).href, {
      name: 'test',
      connections: 1,
    });
    await sql.unsafe(statement).finally(() => sql.end());
  };
  await admin(`create database ${name}`);
  return {
    url: Object.assign(new URL(server), { pathname: `/${name}` }).href,
    drop: () => admin(`drop database if exists ${name} with (force)`),
  };
};

test('an import is read by the thread that it brings along', async () => {
  const importing = { source: 'healthchecks', today: '2026-11-27', document: '{}' };
  const thread = new Worker(await bundleImportThread(), { eval: true, workerData: { importing } });
  const [said] = await once(thread, 'message');
  expect(said).toMatchObject({ is: 'refused' });
  expect(text).toContain('eval:!0');
  await thread.terminate();
});

/** Their sums: a difference of megabytes would be no help to whoever reads it. */
const sumOf = (bundle: string): string => createHash('sha256').update(bundle).digest('hex');

test.each(downloadNames)('%s is the same each time it is made', async (name) => {
  // Each with nothing kept from the one before.
  const [one, other] = await Promise.all(
    ['one', 'other'].map((cache) => bundleDownload(name, join(folder, cache))),
  );
  expect(sumOf(one ?? '')).toBe(sumOf(other ?? ''));
  expect(one).toContain(name);
});

describe('the coordinator as one file', () => {
  test('refuses an older Node in words, and imports nothing that it would stumble over before', async () => {
    const older = `--import=data:text/javascript,Object.defineProperty(process,'versions',{value:{...process.versions,node:'24.1.0'}})`;
    const said = await runProgram([
      process.execPath,
      older,
      join(folder, 'antipode-coordinator.mjs'),
    ]);
    expect(said).toEqual({
      code: 1,
      out: '',
      err: expect.stringMatching(/^antipode-coordinator needs Node 26; this is Node 24\.1\.0\.\n/),
    });
    // The texts that it contains have lines that look like imports. `<runtime>` is the reader's own.
    const { metafile } = await build({
      stdin: { contents: text },
      bundle: true,
      write: false,
      metafile: true,
      format: 'esm',
      external: ['*'],
    });
    const imported = Object.values(metafile.inputs).flatMap(({ imports }) =>
      imports.flatMap(({ kind, path }) =>
        kind === 'import-statement' && path !== '<runtime>' ? [path] : [],
      ),
    );
    expect(new Set(imported)).toEqual(new Set(['node:module']));
  });

  test('is the same each time it is built', async () => {
    const again = await bundleCoordinator();
    expect(sumOf(again)).toBe(sumOf(text));
  });

  test('makes its schema, shows its pages and hands out its downloads, with nothing beside it', async () => {
    const database = await emptyDatabase();
    ends.push(database.drop);
    const url = `http://127.0.0.1:${await freePort()}`;
    const environment = {
      ...environmentOf({ ...database }, await createAccount()),
      SECRET_KEY: testSecretKey,
      PORT: new URL(url).port,
      LOG_LEVEL: 'info',
      DATA_DIR: folder,
    };
    const program = await startChildProgram(
      [process.execPath, join(folder, 'antipode-coordinator.mjs')],
      environment,
      () => isWell(url),
    );
    ends.push(async () => {
      program.signal('SIGKILL');
      await program.exited;
    });
    const sql = connect(database.url, { name: 'test', connections: 1 });
    const applied = await sql<
      { name: string }[]
    >`select name from migrations order by name`.finally(() => sql.end());
    expect(applied.map(({ name }) => name)).toEqual(migrationNames());
    const page = await (await fetch(`${url}/sign-in`, { headers: { accept: 'text/html' } })).text();
    const assets = [...page.matchAll(/"(\/assets\/[^"#]+)/g)].map(([, path]) => path ?? '');
    expect(assets.length).toBeGreaterThan(2);
    for (const path of new Set(assets))
      expect([path, (await fetch(`${url}${path}`)).status]).toEqual([path, 200]);
    expect(await (await fetch(`${url}/docs/start.md`)).text()).toBe(pageText('start'));
    const sums = (await (await fetch(`${url}/downloads/SHA256SUMS`)).text()).trim().split('\n');
    expect(sums).toHaveLength(3);
    for (const [sum = '', name = ''] of sums.map((line) => line.split('  '))) {
      const bytes = Buffer.from(await (await fetch(`${url}/downloads/${name}`)).arrayBuffer());
      expect([name, createHash('sha256').update(bytes).digest('hex')]).toEqual([name, sum]);
    }
    program.signal('SIGTERM');
    expect(await program.exited).toBe(0);
    expect((await readdir(folder)).filter((name) => name.endsWith('.mjs'))).toEqual([
      'antipode-coordinator.mjs',
    ]);
  });
});
