import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually, passed } from '../support/eventually.ts';
import {
  alertsOf,
  incidentsOf,
  incidentThat,
  isConfirmed,
  isResolved,
  resultsOf,
  seenFrom,
} from '../support/monitors.ts';
import { createNetwork, isWell, type Network } from '../support/network.ts';
import { type ChildProgram, startChildProgram } from '../support/processes.ts';
import { freePort } from '../support/services.ts';
import { broken, fine } from '../support/targets.ts';

/**
 * During an upgrade, and on the way back from one, a coordinator of before works on the schema of
 * today, with probes of today.
 */

/**
 * The newest release: 0.1.0, the last commit before deploy/CHANGELOG's "Unreleased". Set anew with
 * each release.
 */
const versionBefore = '051536f';

const root = join(import.meta.dirname, '../..');
const isKnown =
  spawnSync('git', ['-C', root, 'cat-file', '-e', `${versionBefore}^{commit}`]).status === 0;
if (!isKnown)
  process.stderr.write(
    `SKIPPED: the version before (${versionBefore}) is not in this clone; it was not run on the schema of today\n`,
  );

let network: Network | undefined;
let folder: string;
let older: ChildProgram | undefined;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'antipode-before-'));
});
afterAll(async () => {
  older?.signal('SIGKILL');
  await older?.exited;
  await network?.close();
  rmSync(folder, { recursive: true });
});

test.runIf(isKnown)(
  'the previous version runs on today’s schema: it confirms an outage, notifies, and ends it',
  async () => {
    const tree = join(folder, 'tree');
    mkdirSync(tree);
    const archive = spawnSync(
      'git',
      ['-C', root, 'archive', versionBefore, 'coordinator', 'shared', 'package.json'],
      { maxBuffer: 1e9 },
    );
    expect(archive.status).toBe(0);
    expect(spawnSync('tar', ['-x', '-C', tree], { input: archive.stdout }).status).toBe(0);
    symlinkSync(join(root, 'node_modules'), join(tree, 'node_modules'));

    network = await createNetwork();
    const { sql } = network;
    // As an installation that was there before.
    await sql`update installation set signed_since = null`;
    const target = await network.startTarget();
    const url = `http://127.0.0.1:${await freePort()}`;
    older = await startChildProgram(
      [process.execPath, join(tree, 'coordinator/main.ts')],
      { ...network.environment, PORT: new URL(url).port, LOG_LEVEL: 'info' },
      () => isWell(url),
    );
    const probes = [await network.addProbe('Europe'), await network.addProbe('Asia')];
    const networkFilesSay = async (words: string) =>
      (
        await Promise.all(
          probes.map(({ made }) => readFile(join(made.folder, 'network.json'), 'utf8')),
        )
      ).every((text) => text.includes(words));
    const monitor = await network.addMonitor({ target: target.url(), interval_s: 1 });
    await seenFrom(sql, monitor, 2);
    target.answer(broken);
    await incidentThat(sql, monitor, isConfirmed);
    target.answer(fine);
    await incidentThat(sql, monitor, isResolved);
    expect((await alertsOf(sql, monitor)).map(({ event }) => event)).toContain('down');
    const isRequired = async () =>
      (await sql`select 1 from installation where signed_since is not null`).length > 0;
    expect(await isRequired()).toBe(false);

    // Both versions for a while: nothing is required as long as one coordinator signs nothing.
    await network.startCoordinator();
    await passed(5_000);
    expect(await isRequired()).toBe(false);
    older.signal('SIGTERM');
    expect(await older.exited).toBe(0);
    await eventually(isRequired, 40_000);
    await eventually(() => networkFilesSay('"required":true'), 40_000);
    const from = (await resultsOf(sql, monitor)).length;
    await eventually(async () => (await resultsOf(sql, monitor)).length > from + 4);
    target.answer(broken);
    await eventually(async () => {
      const incidents = await incidentsOf(sql, monitor);
      return incidents.length === 2 && incidents.some(isConfirmed);
    });
  },
);
