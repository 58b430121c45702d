import { beforeAll, describe, expect, test } from 'vitest';
import {
  dropResultDays,
  forgetMonitors,
  makeResultDays,
} from '../../../coordinator/results/retention.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { ownDatabase } from '../../support/services.ts';

const day = 86_400_000;
const noon = Date.UTC(2026, 10, 20, 12);
const { sql } = await ownDatabase();

beforeAll(() => makeResultDays(sql, noon - 2 * day, noon + day));

const storeAt = (monitor: number, at: number) =>
  sql`insert into chunks (monitor_key, at, data)
    values (${monitor}, ${new Date(at)}, ${Buffer.from([1])})`;

describe('results', () => {
  test('have their day made ahead, and made again it stays as it is', async () => {
    for (const _ of [1, 2]) await makeResultDays(sql, noon + 2 * day, noon + 4 * day);
    await storeAt(2, noon + 3 * day);
    await makeResultDays(sql, noon + 2 * day, noon + 4 * day);
    expect(await sql`select at from chunks where monitor_key = 2`).toEqual([
      { at: noon + 3 * day },
    ]);
  });

  test('have bytes that are stored as they are', async () => {
    const data = Buffer.alloc(2_500, 7);
    await makeResultDays(sql, noon, noon + 1);
    await sql`insert into chunks (monitor_key, at, data) values (7, ${new Date(noon)}, ${data})`;
    expect(
      await sql`select tableoid::regclass::text as day, data, pg_column_size(data) as bytes from chunks where monitor_key = 7`,
    ).toEqual([{ day: 'chunks_20261120', data, bytes: 2_500 }]);
  });

  test('are dropped a day at a time, and only days that are over', async () => {
    await makeResultDays(sql, noon - 10 * day, noon - 8 * day);
    for (const at of [noon - 9 * day, noon]) await storeAt(3, at);
    const dropped = await dropResultDays(sql, Math.floor(noon / day) * day - 7 * day);
    const days = ['20261110', '20261111', '20261112'];
    expect(dropped).toEqual(days.map((each) => `chunks_${each}`));
    expect(await sql`select at from chunks where monitor_key = 3`).toEqual([{ at: noon }]);
    expect(await dropResultDays(sql, Math.floor(noon / day) * day - 7 * day)).toEqual([]);
  });

  test('of a deleted monitor are deleted, and those of others stay', async () => {
    for (const key of [5, 6]) await storeAt(key, noon);
    await sql`insert into days (day, monitor_key, whole, hours)
      select day, key, '', '' from unnest('{2026-01-01,2026-11-01}'::date[]) day, unnest('{5,6}'::int[]) key`;
    await sql`insert into stale_days (day, monitor_key) values ('2026-11-01', 5), ('2026-11-02', 6)`;
    await sql`insert into months (month, monitor_key, cells)
      select '2026-10-01', key, '' from unnest('{5,6}'::int[]) key`;
    await sql`insert into stale_months (month, monitor_key) values ('2026-10-01', 5)`;
    await sql`insert into forgotten_monitors (monitor_key, monitor_id) values (5, ${newId()})`;
    while (await sql.begin(forgetMonitors));
    expect(await sql`select 1 from forgotten_monitors`).toHaveLength(0);
    expect(await sql`select monitor_key from chunks where monitor_key in (5, 6)`).toEqual([
      { monitor_key: 6 },
    ]);
    // Two days, their month, the one that is stale, and the one of the chunk.
    expect(
      await sql`select monitor_key from days union all select monitor_key from months union all
      select monitor_key from stale_months union all
      select monitor_key from stale_days where monitor_key in (5, 6)`,
    ).toEqual([6, 6, 6, 6, 6].map((monitor_key) => ({ monitor_key })));
  });
});
