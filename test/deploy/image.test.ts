import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { handOver, imageUser, makeRoot, packRoot } from '../../deploy/image/make.ts';
import { version } from '../../shared/base/process.ts';

/**
 * What an image of the probe holds, entered as its user: whether Node finds all that it loads there. No engine of containers is needed, nor tried.
 */

const mayEnter = process.platform === 'linux' && process.getuid?.() === 0 && spawnSync('chroot', ['--version']).status === 0;
if (!mayEnter) process.stderr.write('SKIPPED: only root can enter what an image holds\n');

const cache = join(import.meta.dirname, '../../node_modules/.cache/antipode');

describe.skipIf(!mayEnter)('what an image of the probe holds', () => {
  let root: string;
  beforeAll(async () => {
    // Where programs run for certain; the machine's temporary files may lie where none does.
    mkdirSync(cache, { recursive: true });
    root = mkdtempSync(join(cache, 'image-root-'));
    await makeRoot('probe', root);
    await handOver(root);
  });
  afterAll(() => rmSync(root, { recursive: true }));

  const enter = (...args: readonly string[]) =>
    spawnSync('chroot', [`--userspec=${imageUser}:${imageUser}`, root, '/node', ...args], { encoding: 'utf8' });

  test('is all that the probe needs', () => {
    expect(enter('/antipode.mjs', '--version')).toMatchObject({ status: 0, stdout: `${version}\n` });
    expect(enter('/antipode.mjs', 'run')).toMatchObject({ status: expect.any(Number), stderr: expect.stringContaining('run join first') });
  });

  test('lets its user write to /data and nowhere else, and has no shell', () => {
    const tries = `for (const path of ['/data/x', '/x', '/etc/x', '/antipode.mjs', '/node'])
      try { require('node:fs').appendFileSync(path, ''); console.log(path); } catch (error) { console.log(error.code); }`;
    expect(enter('-e', tries).stdout.split('\n')).toEqual(['/data/x', 'EACCES', 'EACCES', 'EACCES', 'EACCES', '']);
    expect(spawnSync('chroot', [root, '/bin/sh', '-c', 'true']).status).not.toBe(0);
  });

  test('is packed with its data in the hands of its user, and a root that everybody may enter', async () => {
    const file = `${root}.tar`;
    try {
      await packRoot(root, file);
      const listed = execFileSync('tar', ['--numeric-owner', '-tvf', file], { encoding: 'utf8' }).split('\n');
      expect(listed.find((line) => line.endsWith(' ./'))).toMatch(/^drwxr-xr-x 0\/0 /);
      expect(listed.find((line) => line.endsWith(' ./data/'))).toMatch(new RegExp(`^drwx------ ${imageUser}/${imageUser} `));
    } finally {
      rmSync(file, { force: true });
    }
  });
});
