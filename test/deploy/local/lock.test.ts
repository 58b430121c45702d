import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { lockHome } from '../../../deploy/local/home.ts';

const module = join(import.meta.dirname, '../../../deploy/local/home.ts');
let home: string;

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'antipode-lock-'));
});
afterEach(async () => {
  await rm(home, { recursive: true, force: true });
});

/** It goes on naming the lock: one that nobody can give back any more is garbage, and free. */
const holder = async () => {
  const text = `const { lockHome } = await import(${JSON.stringify(module)});
    const lock = lockHome(${JSON.stringify(home)}); console.log(lock ? 'held' : 'refused'); setInterval(() => lock, 1000);`;
  const other = spawn(process.execPath, ['--input-type=module', '-e', text], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [said] = await once(other.stdout, 'data');
  return { other, said: String(said).trim() };
};

test('a home has one launcher: a second process is refused until the first is gone, even by kill -9', async () => {
  const { other, said } = await holder();
  expect(said).toBe('held');
  expect(lockHome(home)).toBeUndefined();
  other.kill('SIGSTOP');
  expect(lockHome(home)).toBeUndefined();
  const ended = once(other, 'exit');
  other.kill('SIGKILL');
  await ended;
  const lock = lockHome(home);
  expect(lock).toBeDefined();
  lock?.release();
});

test('a lock that was given back can be taken again', () => {
  lockHome(home)?.release();
  const again = lockHome(home);
  expect(again).toBeDefined();
  again?.release();
});
