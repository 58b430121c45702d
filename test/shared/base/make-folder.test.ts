import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeFolder } from '../../../shared/base/process.ts';

let place: string;
beforeAll(() => {
  place = mkdtempSync(join(tmpdir(), 'antipode-folders-'));
});
afterAll(() => rmSync(place, { recursive: true, force: true }));

test('a folder is made with all that is missing above it, each for its owner alone, and may be there already', () => {
  const folder = join(place, 'one', 'two', 'three');
  for (const _ of ['first', 'again']) makeFolder(folder);
  for (const made of [folder, join(place, 'one')]) expect(statSync(made).mode & 0o777).toBe(0o700);
});

test('where a file stands in the way nothing is made, and the failure says so', () => {
  const file = join(place, 'file');
  writeFileSync(file, '');
  expect(() => makeFolder(file)).toThrow('EEXIST');
  expect(() => makeFolder(join(file, 'below', 'it'))).toThrow('ENOTDIR');
  expect(existsSync(join(place, 'below'))).toBe(false);
});
