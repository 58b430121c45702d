import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { expect, test } from 'vitest';

/**
 * Whoever reads what is said to be tested goes and looks: each test that our words name is there.
 */

const root = join(import.meta.dirname, '..');
const rooms = ['coordinator', 'deploy', 'docs', 'probe', 'shared', 'test'];
const files = (room: string): string[] =>
  readdirSync(join(root, room), { recursive: true, encoding: 'utf8' })
    .filter((file) => !file.includes('node_modules'))
    .map((file) => `${room}/${file}`);
const all = rooms.flatMap(files);
const texts = ['README.md', ...all.filter((file) => file.endsWith('.md'))];
const tests = all.filter((file) => file.endsWith('.test.ts'));

const named = (text: string): string[] =>
  [...readFileSync(join(root, text), 'utf8').matchAll(/`([\w./-]+\.test\.ts)`/g)].map(
    ([, file = '']) => file,
  );

test('there is each test that the READMEs name', () => {
  const isThere = (file: string): boolean =>
    tests.some((each) => each === file || each.endsWith(`/${file}`));
  const missing = texts.flatMap((text) =>
    named(text)
      .filter((file) => !isThere(file))
      .map((file) => `${text}: ${file}`),
  );
  expect(missing).toEqual([]);
  expect(named('test/README.md').length).toBeGreaterThan(30);
});

test('there is each file that the READMEs name', () => {
  const bases = new Set(all.map((file) => basename(file)));
  const pages = texts.filter((text) => basename(text) === 'README.md');
  const namedIn = (text: string): string[] =>
    [...readFileSync(join(root, text), 'utf8').matchAll(/`([\w./-]*[\w-]{2}\.ts)`/g)].map(
      ([, file = '']) => file,
    );
  expect(pages.flatMap(namedIn).length).toBeGreaterThan(80);
  const missing = (file: string): boolean => !bases.has(basename(file));
  expect(
    pages.flatMap((text) =>
      namedIn(text)
        .filter(missing)
        .map((file) => `${text}: ${file}`),
    ),
  ).toEqual([]);
});
