import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { projectFolder } from '../../deploy/node/places.mjs';
import { picture } from './picture.ts';
import { delaysOf, rowsOf, tableOf } from './report.ts';

/** The page says what its raw rows say. */

const read = (file: string): string => readFileSync(join(projectFolder, 'docs', file), 'utf8');
const rows = rowsOf(read('referee.tsv'));

test('the tables of the page are those of the rows beside it', () => {
  const page = read('referee.md');
  expect(page).toContain(tableOf(rows));
  expect(page).toContain(delaysOf(rows));
});

test('the picture is drawn from them', () => {
  expect(read('referee.svg')).toBe(picture(rows));
});
