import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

/** No engine that reads compose files is at hand in tests: what of them can be held against our own sources is. */

const folder = join(import.meta.dirname, '../../deploy/compose');
const read = (file: string): string => readFileSync(join(folder, file), 'utf8');
const ours = ['coordinator/config.ts', 'probe/config.ts']
  .map((file) => readFileSync(join(import.meta.dirname, '../..', file), 'utf8'))
  .join();

/** What the images of others take. */
const foreign = ['POSTGRES_USER', 'POSTGRES_DB', 'POSTGRES_PASSWORD'];

test.each(['compose.yaml', 'probe.yaml'])('%s sets only what its programs read, and names every value that it asks for', (file) => {
  const text = read(file);
  const set = [...text.matchAll(/^ {6}([A-Z_]+):/gm)].map(([, name = '']) => name);
  expect(set.length).toBeGreaterThan(0);
  expect(set.filter((name) => !foreign.includes(name) && !new RegExp(`^  ${name}:`, 'm').test(ours))).toEqual([]);
  const head = text.slice(0, text.indexOf('\nname:'));
  const asked = [...new Set([...text.matchAll(/\$\{([A-Z_]+):\?/g)].map(([, name = '']) => name))];
  expect(asked.filter((name) => !head.includes(`${name}=`))).toEqual([]);
});

test.each([
  ['compose.yaml', 2],
  ['probe.yaml', 1],
] as const)('our containers of %s write nowhere but to their data, and may do nothing that a user may not', (file, count) => {
  const services = read(file)
    .split(/^ {2}(?=[a-z]+:$)/m)
    .filter((text) => text.includes('image: antipode-'));
  expect(services).toHaveLength(count);
  for (const service of services)
    for (const line of ['read_only: true', 'cap_drop: [ALL]', "security_opt: ['no-new-privileges:true']"]) expect(service).toContain(line);
});

test('what it says to make is where it looks for it, and no commit takes it along', () => {
  const text = read('compose.yaml');
  const [, made = ''] = /bus init [^\n]*--folder (\S+)/.exec(text) ?? [];
  expect(join(import.meta.dirname, '../..', made)).toBe(join(folder, 'bus'));
  for (const [, file] of text.matchAll(/- \.\/(\S+?):/g)) expect(file).toMatch(/^bus\//);
  const ignored = readFileSync(join(import.meta.dirname, '../../.gitignore'), 'utf8').split('\n');
  expect(ignored).toContain(`/${made}/`);
});
