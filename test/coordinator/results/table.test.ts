import { beforeAll, describe, expect, test } from 'vitest';
import { executeAll } from '../../../coordinator/database/connect.ts';
import { hourOf } from '../../../coordinator/results/chunk.ts';
import { markStale, rollUpOneHour } from '../../../coordinator/results/rollups.ts';
import {
  dropResultDays,
  forgetMonitors,
  insertResults,
  makeResultDays,
  type ResultRow,
} from '../../../coordinator/results/table.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { noPhases } from '../../../shared/checks/result.ts';
import { ownDatabase } from '../../support/services.ts';
import { stored } from '../../support/stored-checks.ts';

const day = 86_400_000;
const noon = Date.UTC(2026, 10, 20, 12);
const { sql } = await ownDatabase();
let probe = 0;

beforeAll(async () => {
  const [row] = await sql<
    { key: number }[]
  >`insert into probes (id, name, continent) values (${newId()}, 'Frankfurt', 'Europe') returning key`;
  probe = row?.key ?? 0;
  await makeResultDays(sql, noon - 2 * day, noon + day);
});
const result = (monitor_key: number, at: number, more: Partial<ResultRow> = {}): ResultRow => ({
  monitor_key,
  at,
  probe_key: probe,
  took_ms: 12.5,
  outcome: 'ok',
  cause_class: null,
  phases: null,
  ...more,
});

describe('results', () => {
  test('are read as they were written, whatever their texts contain', async () => {
    const phases = { dns: 1.5, tcp: null, tls: 2, first_byte: null, total: 9 };
    const nasty = 'a"b\\c,{d}NULL\'';
    await executeAll(
      insertResults(sql, [
        result(1, noon + 7, { outcome: 'fail', cause_class: nasty, phases }),
        result(1, noon + 8, { outcome: 'unknown' }),
        // Phases that were there and empty are not the same as none.
        result(1, noon + 9, { phases: noPhases }),
      ]),
    );
    const rows =
      await sql`select at, probe_key, took_ms, outcome, cause_class, to_json(phases) as phases from results where monitor_key = 1 order by at`;
    expect(rows[0]).toEqual({
      at: new Date(noon + 7),
      probe_key: probe,
      took_ms: 12.5,
      outcome: 1,
      cause_class: nasty,
      phases: [1.5, null, 2, null, 9],
    });
    expect(rows[1]).toMatchObject({ outcome: 2, cause_class: null, phases: null });
    expect(rows[2]).toMatchObject({ outcome: 0, phases: [null, null, null, null, null] });
  });

  test('have their day made ahead, and made again it stays as it is', async () => {
    for (const _ of [1, 2]) await makeResultDays(sql, noon + 2 * day, noon + 4 * day);
    await executeAll(insertResults(sql, [result(2, noon + 3 * day)]));
    await makeResultDays(sql, noon + 2 * day, noon + 4 * day);
    expect(await sql`select at from results where monitor_key = 2`).toEqual([
      { at: new Date(noon + 3 * day) },
    ]);
  });

  test('have days for chunks too, whose bytes are stored as they are', async () => {
    const data = Buffer.alloc(2_500, 7);
    await makeResultDays(sql, noon, noon + 1);
    await sql`insert into chunks (monitor_key, at, data) values (2, ${new Date(noon)}, ${data})`;
    expect(
      await sql`select tableoid::regclass::text as day, data, pg_column_size(data) as bytes from chunks`,
    ).toEqual([{ day: 'chunks_20261120', data, bytes: 2_500 }]);
  });

  test('are dropped a day at a time, and only days that are over', async () => {
    await makeResultDays(sql, noon - 10 * day, noon - 8 * day);
    await executeAll(insertResults(sql, [result(3, noon - 9 * day), result(3, noon)]));
    const dropped = await dropResultDays(sql, Math.floor(noon / day) * day - 7 * day);
    const days = ['20261110', '20261111', '20261112'];
    expect(dropped).toEqual(
      ['chunks', 'results'].flatMap((table) => days.map((each) => `${table}_${each}`)),
    );
    expect(await sql`select at from results where monitor_key = 3`).toEqual([
      { at: new Date(noon) },
    ]);
    expect(await dropResultDays(sql, Math.floor(noon / day) * day - 7 * day)).toEqual([]);
  });

  test('are rolled up by the hour and the continent, and again when a late one comes', async () => {
    const hour = hourOf(noon) + 2 * 3_600_000;
    await executeAll(
      insertResults(sql, [
        result(4, hour + 1, { took_ms: 10 }),
        result(4, hour + 2, { took_ms: 30 }),
        result(4, hour + 3, { outcome: 'fail' }),
      ]),
    );
    await executeAll(markStale(sql, [hour, hour + 3_600_000]));
    expect(await rollUpOneHour(sql, hour + 3_600_000, stored)).toBe(true);
    expect(await rollUpOneHour(sql, hour + 3_600_000, stored)).toBe(false);
    const rollup = () =>
      sql`select continent, ok, failed, unknown, took_sum, took_min, took_max from rollups where monitor_key = 4`;
    expect(await rollup()).toEqual([
      {
        continent: 'Europe',
        ok: 2,
        failed: 1,
        unknown: 0,
        took_sum: 40,
        took_min: 10,
        took_max: 30,
      },
    ]);
    await executeAll(insertResults(sql, [result(4, hour + 4, { outcome: 'unknown' })]));
    await executeAll(markStale(sql, [hour]));
    await rollUpOneHour(sql, hour + 3_600_000, stored);
    expect(await rollup()).toMatchObject([{ ok: 2, failed: 1, unknown: 1 }]);
  });

  test('of a deleted monitor are deleted in small steps, and those of others stay', async () => {
    await executeAll(
      insertResults(
        sql,
        [...Array(25).keys()].map((index) => result(index % 2 === 0 ? 5 : 6, noon + index)),
      ),
    );
    for (const key of [5, 6])
      await sql`insert into chunks (monitor_key, at, data)
        values (${key}, ${new Date(noon)}, ${Buffer.from([1])})`;
    await sql`insert into daily_rollups (day, monitor_key, whole, hours)
      select day, key, '', '' from unnest('{2026-01-01,2026-11-01}'::date[]) day, unnest('{5,6}'::int[]) key`;
    await sql`insert into stale_days (day, monitor_key) values ('2026-11-01', 5), ('2026-11-02', 6)`;
    await sql`insert into forgotten_monitors (monitor_key, monitor_id) values (5, ${newId()})`;
    const left = async () =>
      Number((await sql`select count(*) as count from results where monitor_key = 5`)[0]?.count);
    expect(await left()).toBe(13);
    await sql.begin((transaction) => forgetMonitors(transaction, 10));
    expect(await left()).toBe(3);
    while (await sql.begin((transaction) => forgetMonitors(transaction, 10)));
    expect(await left()).toBe(0);
    expect(await sql`select 1 from forgotten_monitors`).toHaveLength(0);
    expect(await sql`select monitor_key from chunks where monitor_key in (5, 6)`).toEqual([
      { monitor_key: 6 },
    ]);
    // Two days, the one that is stale, and the one of the chunk.
    expect(
      await sql`select monitor_key from daily_rollups union all
      select monitor_key from stale_days where monitor_key >= 5`,
    ).toEqual([6, 6, 6, 6].map((monitor_key) => ({ monitor_key })));
    expect((await sql`select count(*) as count from results where monitor_key = 6`)[0]?.count).toBe(
      12,
    );
  });
});
