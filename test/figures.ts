/**
 * `npm run figures`: the size of the tree against what we want of it. The walk of a failing check
 * is counted by `npm run bench -- walk`.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

const root = join(import.meta.dirname, '..');

const filesBelow = (folder: string): string[] =>
  readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory())
      return ['node_modules', 'generated'].includes(entry.name) ? [] : filesBelow(path);
    return entry.name.endsWith('.ts') ? [path] : [];
  });

const linesOf = (file: string): readonly string[] =>
  readFileSync(join(root, file), 'utf8').split('\n').slice(0, -1);
const singular = (word: string): string => word.replace(/ies$/, 'y').replace(/s$/, '');
const repeatsFolder = (file: string): boolean =>
  basename(file).startsWith(singular(basename(dirname(file))));

const sources = ['coordinator', 'probe', 'shared', 'deploy'].flatMap(filesBelow);
const tests = filesBelow('test');
const lines = sources.map(linesOf);
const lengths = lines.map(({ length }) => length).toSorted((a, b) => a - b);
const total = lengths.reduce((sum, length) => sum + length, 0);
const median = lengths[Math.floor(lengths.length / 2)] ?? 0;

/** What is counted, how much it is, and the least and the most that it should be. */
const figures: readonly (readonly [what: string, is: number, least: number, most: number])[] = [
  ['source files', sources.length, 0, 450],
  ['source lines', total, 0, 76_500],
  ['median lines of a source file', median, 120, 200],
  ['source files over 600 lines', lengths.filter((length) => length > 600).length, 0, 0],
  ['names that repeat their folder', [...sources, ...tests].filter(repeatsFolder).length, 0, 0],
  [
    'source lines over 130 columns',
    lines.flat().filter(({ length }) => length > 130).length,
    0,
    199,
  ],
  ['test files', tests.length, 0, 450],
];

for (const [what, is, least, limit] of figures) {
  const wanted = least === 0 ? `at most ${limit}` : `${least} to ${limit}`;
  process.stdout.write(
    `${is >= least && is <= limit ? '  ' : 'NO'} ${String(is).padStart(6)}  ${what} (${wanted})\n`,
  );
}
