import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createHourlyMeans } from '../../../coordinator/results/hourly-means.ts';
import { createTestOrganisation } from '../../support/people.ts';
import { ownDatabase } from '../../support/services.ts';

const hourMs = 3_600_000;
const hour = Date.UTC(2026, 9, 20, 12);
const now = hour + 20 * 60_000;
const { sql } = await ownDatabase();

beforeAll(async () => {
  const { organisation } = await createTestOrganisation(sql);
  await sql`insert into monitors (id, key, organisation_id, partition, name, type, target, interval_s)
    overriding system value
    select gen_random_uuid(), key, ${organisation}, 0, 'm' || key, 'https', 'https://example.org/', 60
    from generate_series(1, 2) key`;
});

beforeEach(async () => {
  await sql`truncate rollups`;
});

/** So many hours ago, `ok` passes took `took_sum` milliseconds in all. */
const store = (ago: number, ok: number, took_sum: number, continent = 'Europe') =>
  sql`insert into rollups (monitor_key, continent, hour, ok, failed, unknown, took_sum, took_min, took_max)
    values (1, ${continent}, ${new Date(hour - ago * hourMs)}, ${ok}, 1, 0, ${took_sum}, 1, 9)`;

const forget = (ago: number) =>
  sql`delete from rollups where hour = ${new Date(hour - ago * hourMs)}`;

describe('the mean response times of the last day', () => {
  test('are those of all continents, oldest first, and null for an hour without a pass', async () => {
    await store(25, 1, 90);
    await store(24, 2, 80);
    await store(5, 0, 0);
    await store(4, 1, 10);
    await store(4, 3, 70, 'Asia');
    await store(1, 1, 30);
    expect(await createHourlyMeans().lastDay(sql, [1, 2], now)).toEqual(
      new Map([[1, [40, null, 20, 30]]]),
    );
  });

  test('are read anew each time as to the newest hours, and once an hour as to the others', async () => {
    const means = createHourlyMeans();
    await store(24, 1, 80);
    await store(3, 1, 50);
    await store(2, 1, 30);
    expect((await means.lastDay(sql, [1], now)).get(1)).toEqual([80, 50, 30]);
    await forget(3);
    await forget(2);
    await store(1, 1, 20);
    expect((await means.lastDay(sql, [1, 2], now)).get(1)).toEqual([80, 50, 20]);
    expect((await means.lastDay(sql, [1], now + hourMs)).get(1)).toEqual([20]);
  });

  test('of a monitor whose hours are gone are forgotten an hour later', async () => {
    const means = createHourlyMeans();
    await store(3, 1, 50);
    await means.lastDay(sql, [1], now);
    await forget(3);
    expect((await means.lastDay(sql, [1], now)).get(1)).toEqual([50]);
    expect(await means.lastDay(sql, [1], now + hourMs)).toEqual(new Map());
  });
});
