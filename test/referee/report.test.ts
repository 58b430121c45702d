import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { projectFolder } from '../../deploy/node/places.mjs';
import type { Row } from './judge.ts';
import { picture } from './picture.ts';
import { delaysOf, rowsOf, tableOf, tsvOf } from './report.ts';

const row = (more: Partial<Row>): Row => ({
  scenario: 'refused',
  phase: 1,
  subject: 'antipode',
  verdict: 'right',
  told: true,
  failed_at: 1_796_000_000_000,
  lasted_s: 50,
  alert_s: 5.25,
  seen_s: 4.5,
  clear_s: 3.125,
  messages: 2,
  ...more,
});
const nothing = { told: false, alert_s: null, seen_s: null, clear_s: null, messages: 0 } as const;
const rows = [
  row({}),
  row({ phase: 2, alert_s: 9, seen_s: 8.5 }),
  row({ subject: 'gatus', alert_s: 25, seen_s: null }),
  row({ subject: 'gatus', phase: 2, verdict: 'missed', ...nothing }),
  row({ scenario: 'silent', alert_s: 14, seen_s: 3 }),
  row({ scenario: 'silent', phase: 2, subject: 'gatus', alert_s: 40, seen_s: null }),
  row({ scenario: 'blip', lasted_s: 2, alert_s: 1.5, seen_s: 1 }),
  row({ scenario: 'blip', lasted_s: 2, phase: 2, ...nothing }),
  row({ scenario: 'head-405', ...nothing }),
  row({ scenario: 'head-405', subject: 'gatus', verdict: 'false' }),
];

test('rows are read again as they were written', () => {
  expect(rowsOf(tsvOf(rows))).toEqual(rows);
  expect(() => rowsOf('a\tb\n1\t2\n')).toThrow('other columns');
});

test('the table says of each scenario and subject what was right, missed and false, the median and the longest time, and messages', () => {
  expect(tableOf(rows).split('\n')).toEqual([
    '| | antipode | gatus |',
    '|---|---|---|',
    '| refused | 2 of 2<br>5.3 s (9.0 s)<br>2.0 messages | 1 of 2<br>1 missed<br>told 1<br>25.0 s (25.0 s)<br>2.0 messages |',
    '| silent | 1 of 1<br>14.0 s (14.0 s)<br>2.0 messages | 1 of 1<br>40.0 s (40.0 s)<br>2.0 messages |',
    '| blip | 2 of 2<br>told 1<br>1.5 s (1.5 s)<br>2.0 messages | – |',
    '| head-405 | 1 of 1 | 0 of 1<br>1 false<br>5.3 s (5.3 s)<br>2.0 messages |',
  ]);
});

test('delays are of alerts that were right, with those apart for which a check waits, and without what a check may not see', () => {
  expect(delaysOf(rows).split('\n').slice(2)).toEqual([
    '| antipode | a wrong answer | 2 | 5.3 s / 9.0 s | 0.5 s / 0.8 s |',
    '| antipode | no answer | 1 | 14.0 s / 14.0 s | 11.0 s / 11.0 s |',
    '| gatus | a wrong answer | 1 | 25.0 s / 25.0 s | – / – |',
    '| gatus | no answer | 1 | 40.0 s / 40.0 s | – / – |',
  ]);
});

test('the picture has a dot for each alert, a bar for a false one, and the number of missed failures', () => {
  const drawn = picture(rows);
  const count = (pattern: RegExp): number => [...drawn.matchAll(pattern)].length;
  expect(count(/h0/g)).toBe(6);
  expect(count(/M[\d.]+ [\d.]+v8/g)).toBe(1);
  expect(drawn.match(/\d+ missed/g)).toEqual(['1 missed']);
  expect(drawn.startsWith('<svg xmlns="http://www.w3.org/2000/svg"')).toBe(true);
});

test('the page has the tables and the picture of the rows beside it', () => {
  const read = (file: string): string => readFileSync(join(projectFolder, 'docs', file), 'utf8');
  const published = rowsOf(read('referee.tsv'));
  const page = read('referee.md');
  expect(page).toContain(tableOf(published));
  expect(page).toContain(delaysOf(published));
  expect(read('referee.svg')).toBe(picture(published));
});
