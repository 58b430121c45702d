import { beforeEach, describe, expect, test } from 'vitest';
import { createHourlyMeans } from '../../../coordinator/results/hourly-means.ts';
import { storeChecks, testResults } from '../../support/checks.ts';
import { ownDatabase } from '../../support/services.ts';

const hourMs = 3_600_000;
const hour = Date.UTC(2026, 9, 20, 12);
const now = hour + 20 * 60_000;
const { sql } = await ownDatabase();

beforeEach(async () => {
  await sql`truncate chunks`;
});

/** So many hours ago, passes took so many milliseconds each, and one check failed. */
const store = (ago: number, times: readonly number[], probe = 1) => {
  const start = hour - ago * hourMs;
  const passes = times.map((took_ms, nth) => ({ probe, at: start + nth, took_ms }));
  return storeChecks(sql, 1, [...passes, { probe, at: start + 99, outcome: 'fail' }]);
};

const forget = (ago: number) => sql`delete from chunks where at = ${new Date(hour - ago * hourMs)}`;

const stored: Parameters<typeof createHourlyMeans>[0] = (_, windows) =>
  testResults().within(
    sql,
    windows.map((window) => ({ ...window, partition: 0 })),
  );

describe('the mean response times of the last day', () => {
  test('are those of all continents, oldest first, and null for an hour without a pass', async () => {
    await store(25, [90]);
    await store(24, [30, 50]);
    await store(5, []);
    await store(4, [10]);
    await store(4, [20, 20, 30], 2);
    await store(1, [30]);
    // It goes on.
    await store(0, [70]);
    expect(await createHourlyMeans(stored).lastDay(sql, [1, 2], now)).toEqual(
      new Map([[1, [40, null, 20, 30]]]),
    );
  });

  test('are read anew each time as to the newest hours, and once an hour as to the others', async () => {
    const means = createHourlyMeans(stored);
    await store(24, [80]);
    await store(3, [50]);
    await store(2, [30]);
    expect((await means.lastDay(sql, [1], now)).get(1)).toEqual([80, 50, 30]);
    await forget(3);
    await forget(2);
    await store(1, [20]);
    expect((await means.lastDay(sql, [1, 2], now)).get(1)).toEqual([80, 50, 20]);
    expect((await means.lastDay(sql, [1], now + hourMs)).get(1)).toEqual([20]);
  });

  test('of a monitor whose hours are gone are forgotten an hour later', async () => {
    const means = createHourlyMeans(stored);
    await store(3, [50]);
    await means.lastDay(sql, [1], now);
    await forget(3);
    expect((await means.lastDay(sql, [1], now)).get(1)).toEqual([50]);
    expect(await means.lastDay(sql, [1], now + hourMs)).toEqual(new Map());
  });
});
