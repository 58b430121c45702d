import { beforeEach, expect, test } from 'vitest';
import { makeMonths, markMonths, monthSummaries } from '../../../coordinator/results/months.ts';
import {
  dayOf,
  emptySummary,
  readCells,
  type Summary,
} from '../../../coordinator/results/summary.ts';
import { minuteChecks, testResults } from '../../support/checks.ts';
import { ownDatabase } from '../../support/services.ts';

const { sql } = await ownDatabase();
const results = testResults();
const day = 86_400_000;
const october = Date.UTC(2026, 9, 1);
const november = Date.UTC(2026, 10, 1);
const monitor = { key: 7, partition: 0 };

beforeEach(async () => {
  await sql`truncate days, months, stale_months`;
});

/** What the checks of the day add up to. */
const store = async (at: number, seed: number): Promise<Summary> => {
  const checks = minuteChecks(at, 60_000, seed);
  const made = dayOf(at, checks, (probe) => (probe % 2 ? 'Europe' : 'Asia'));
  if (!made) throw new Error('the day has checks');
  await sql.begin(async (transaction) => {
    await transaction`insert into days (day, monitor_key, whole, hours)
      values (${new Date(at).toISOString().slice(0, 10)}, 7, ${made.whole}, ${made.hours})
      on conflict (day, monitor_key) do update set whole = excluded.whole`;
    await markMonths(transaction, at, [7]);
  });
  const sum = emptySummary();
  readCells(made.whole, () => sum);
  return sum;
};

const make = (now: number) =>
  sql.begin((transaction) => makeMonths(transaction, { now, batchSize: 9, results }));
const read = async (from: number, to: number) =>
  (await monthSummaries(sql, results, [monitor], { from, to })).get(7);

test('a month is the sum of its days, once it and a day are over', async () => {
  const [first, last] = [await store(october, 1), await store(november - day, 2)];
  await store(november, 3);
  expect(await make(november + day - 1)).toBe(false);
  expect(await make(november + day)).toBe(true);
  expect(await make(november + day)).toBe(false);
  const sum = await read(october, november);
  expect(sum).toMatchObject({
    ok: first.ok + last.ok,
    sum: first.sum + last.sum,
    least: Math.min(first.least, last.least),
    most: Math.max(first.most, last.most),
  });
  expect(sum?.sketch).toEqual(first.sketch.map((count, nth) => count + (last.sketch[nth] ?? 0)));
});

test('a month is made again when one of its days is', async () => {
  await store(october, 1);
  await make(november + day);
  const { sum } = await store(october, 5);
  await make(november + day);
  expect((await read(october, november))?.sum).toBe(sum);
});

test('a day that is in the making while its month is made makes it again', async () => {
  await store(october, 1);
  await sql.begin(async (transaction) => {
    await markMonths(transaction, october, [7]);
    expect(await make(november + day)).toBe(false);
  });
  expect(await make(november + day)).toBe(true);
});

test('a month belongs to the window in which its 15th begins', async () => {
  await store(october + day, 1);
  await make(november + day);
  const middle = october + 14 * day;
  expect(await read(middle, middle + 1)).toBeDefined();
  expect(await read(middle + 1, november)).toBeUndefined();
  expect(await read(october, middle)).toBeUndefined();
  expect(await read(october - 9 * 3_600_000, november - 9 * 3_600_000)).toBeDefined();
});
