import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';

/**
 * The rules are written down once, in coordinator/core/RULES.md: nothing may speak of one that is
 * not there, and none may be there unproved.
 */

const root = resolve(import.meta.dirname, '..');

const filesBelow = (folder: string): string[] =>
  readdirSync(join(root, folder), { withFileTypes: true, recursive: true })
    .filter(
      (entry) =>
        entry.isFile() &&
        /\.(ts|sql|md)$/.test(entry.name) &&
        !entry.parentPath.includes('node_modules'),
    )
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1));

const page = readFileSync(join(root, 'coordinator/core/RULES.md'), 'utf8');
const written = [...page.matchAll(/^(\d+)\. /gm)].map(([, number]) => Number(number));

/**
 * "rule 4", "rules 4 and 25", "rules 1, 3, 8, 10 to 14 and 16"; also when the line ends in between.
 */
const citation = /\brules?\s+(\d+(?:(?:,\s+|\s+and\s+|\s+to\s+)\d+)*)/gi;

const numbersIn = (list: string): number[] => {
  const found: number[] = [];
  let isRange = false;
  for (const word of list.split(/[,\s]+/)) {
    const number = Number(word);
    if (Number.isNaN(number)) isRange = word === 'to';
    else
      for (let next = isRange ? (found.at(-1) ?? number) + 1 : number; next <= number; next += 1)
        found.push(next);
    if (!Number.isNaN(number)) isRange = false;
  }
  return found;
};

const citedIn = (file: string): number[] => {
  if (file === 'coordinator/core/RULES.md') return [];
  const text = readFileSync(join(root, file), 'utf8').replaceAll(/\n\s*(?:\*|\/\/|--)\s/g, '\n');
  return [...text.matchAll(citation)].flatMap(([, list]) => numbersIn(list ?? ''));
};

const files = ['shared', 'coordinator', 'probe', 'deploy', 'test'].flatMap(filesBelow);
const cited = new Map(files.map((file) => [file, citedIn(file)]));

describe('the written rules', () => {
  test('citations are read whole', () => {
    expect(numbersIn('1, 3, 8, 10 to 14 and 16')).toEqual([1, 3, 8, 10, 11, 12, 13, 14, 16]);
    expect([...cited.values()].flat().length).toBeGreaterThan(300);
  });

  test('are numbered once each, upwards', () => {
    expect(written.slice(0, 29)).toEqual(Array.from({ length: 29 }, (_, index) => index + 1));
    expect(written).toEqual([...new Set(written)].toSorted((a, b) => a - b));
  });

  test('contain every rule that code and tests speak of', () => {
    const unknown = [...cited].flatMap(([file, numbers]) =>
      numbers
        .filter((number) => !written.includes(number))
        .map((number) => `${file}: rule ${number}`),
    );
    expect(unknown).toEqual([]);
  });

  test('are each proved by a test that names it', () => {
    const proved = new Set(
      [...cited].flatMap(([file, numbers]) =>
        file.endsWith('.test.ts') && file !== 'test/rules.test.ts' ? numbers : [],
      ),
    );
    expect(written.filter((number) => !proved.has(number))).toEqual([]);
  });
});
