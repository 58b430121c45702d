import { readdirSync, readFileSync } from 'node:fs';
import { join, matchesGlob } from 'node:path';
import { expect, test } from 'vitest';
import usual from '../vitest.config.ts';
import generators from './generators.config.ts';
import images from './images.config.ts';
import kubernetes from './kubernetes.config.ts';
import long from './long.config.ts';
import terraform from './terraform.config.ts';

/** Which command runs which file. CI runs `npm test` and `npm run test:long`. */

const root = join(import.meta.dirname, '..');
const files = readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts') && !/(^|\/)(node_modules|generated)\//.test(file))
  .map((file) => `test/${file}`);

type Chosen = { readonly test?: { readonly include?: string[]; readonly exclude?: string[] } };

const chosenBy = (config: Chosen) => (file: string) => {
  const fits = (globs: readonly string[] = []): boolean =>
    globs.some((glob) => matchesGlob(file, glob));
  return fits(config.test?.include) && !fits(config.test?.exclude);
};

const runs: Readonly<Record<string, (file: string) => boolean>> = {
  'npm test': chosenBy(usual),
  'npm run test:long': chosenBy(long),
  'npm run test:cluster, alone': (file) => matchesGlob(file, 'test/network/cluster/*.ts'),
  'npm run test:images': chosenBy(images),
  'npm run test:generators': chosenBy(generators),
  'npm run test:kubernetes': chosenBy(kubernetes),
  'npm run test:terraform': chosenBy(terraform),
};

const runsOf = (file: string): string[] => Object.keys(runs).filter((name) => runs[name]?.(file));

test('each file with tests belongs to one run', () => {
  const hasTests = (file: string): boolean =>
    /^(describe|test|it)\b[.(]/m.test(readFileSync(join(root, file), 'utf8'));
  const own = files.filter((file) => file.endsWith('.test.ts') || hasTests(file));
  expect(own.length).toBeGreaterThan(200);
  expect(
    own.filter((file) => runsOf(file).length !== 1).map((file) => `${file}: ${runsOf(file)}`),
  ).toEqual([]);
});

test('each run has files', () => {
  expect(
    Object.keys(runs).filter((name) => !files.some((file) => runsOf(file).includes(name))),
  ).toEqual([]);
});

test('CI runs what is usual and what is long', () => {
  const ci = readFileSync(join(root, '.ci/run'), 'utf8').split('\n');
  expect(
    ci.filter((line) => line.startsWith('npm test') || line.startsWith('npm run test')),
  ).toEqual(['npm test', 'npm run test:long']);
});
