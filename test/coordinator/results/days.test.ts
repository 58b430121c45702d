import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Check } from '../../../coordinator/results/check.ts';
import { chunksOf } from '../../../coordinator/results/chunk.ts';
import { forgetDays, makeDays, yearSeries } from '../../../coordinator/results/days.ts';
import { createResults, noUnsealedHours } from '../../../coordinator/results/reading.ts';
import type { Series } from '../../../coordinator/results/series.ts';
import { countCheck, emptySummary } from '../../../coordinator/results/summary.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { createLog, type Log } from '../../../shared/base/log.ts';
import { minuteChecks } from '../../support/checks.ts';
import { createTestOrganisation } from '../../support/people.ts';
import { ownDatabase } from '../../support/services.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** Chunks of today are marked in another way, so these days lie before any test's today. */
const day = Date.UTC(2026, 9, 20);
const { sql } = await ownDatabase();
const log = createLog({ name: 'test', level: 'silent' });
const keys: number[] = [];

beforeAll(async () => {
  for (const [name, continent] of [
    ['Frankfurt', 'Europe'],
    ['Mumbai', 'Asia'],
    ['São Paulo', 'South America'],
  ] as const) {
    const [row] = await sql<{ key: number }[]>`insert into probes (id, name, continent)
      values (${newId()}, ${name}, ${continent}) returning key`;
    keys.push(row?.key ?? 0);
  }
  await sql`create table chunks_of_test partition of chunks default`;
  const { organisation } = await createTestOrganisation(sql);
  await sql`insert into monitors (id, key, organisation_id, partition, name, type, target, interval_s)
    overriding system value
    select gen_random_uuid(), key, ${organisation}, 0, 'm' || key, 'https', 'https://example.org/', 60
    from generate_series(1, 4) key`;
});

beforeEach(async () => {
  await sql`truncate chunks, stale_days, days`;
});

/** The checks of an hour by the probes of this test. */
const hourOf = (hour: number, interval_ms = 60_000): Check[] =>
  minuteChecks(hour, interval_ms).map((check) => ({
    ...check,
    probe: keys[check.probe - 1] ?? 0,
  }));

const store = async (monitor: number, hour: number, checks: readonly Check[]): Promise<void> => {
  for (const { at, data } of chunksOf(hour, checks))
    await sql`insert into chunks (monitor_key, at, data)
      values (${monitor}, ${new Date(at)}, ${Buffer.from(data)})
      on conflict (monitor_key, at) do update set data = excluded.data`;
};

const storeDay = async (monitor: number, start = day): Promise<Check[]> => {
  const all: Check[] = [];
  for (let hour = 0; hour < 24; hour += 1) {
    const checks = hourOf(start + hour * hourMs);
    await store(monitor, start + hour * hourMs, checks);
    all.push(...checks);
  }
  return all;
};

const make = async (now = Date.now() + dayMs): Promise<number> => {
  let rounds = 0;
  while (await sql.begin((transaction) => makeDays(transaction, { now, batchSize: 3, log })))
    rounds += 1;
  return rounds;
};
const series = (key: number, from: number, to: number, step_s = 86_400, to_log: Log = log) =>
  yearSeries(
    sql,
    createResults({ unsealed: noUnsealedHours, log: to_log }),
    { key, partition: 0 },
    { from, to },
    step_s,
  );

const marks = () => sql`select day, monitor_key from stale_days order by 1, 2`;

describe('rows of days', () => {
  test('have every check of the day, with percentiles by place', async () => {
    const checks = await storeDay(1);
    await make();
    const { rows, whole } = await series(1, day, day + dayMs);
    const ofEurope = emptySummary();
    const times: number[] = [];
    for (const check of checks) {
      if (check.probe !== keys[0]) continue;
      countCheck(ofEurope, check);
      times.push(check.took_ms);
    }
    times.sort((a, b) => a - b);
    expect(rows.map(({ continent, slot, ok }) => [continent, slot, ok])).toEqual([
      ['Asia', 0, 480],
      ['Europe', 0, 480],
      ['South America', 0, 480],
    ]);
    const europe = rows[1];
    expect(europe?.mean).toBeCloseTo(ofEurope.sum / 4_800, 6);
    expect([europe?.least, europe?.most]).toEqual([times[0], times.at(-1)]);
    const exact = times[Math.ceil(0.95 * 480) - 1] ?? 0;
    expect(Math.abs((europe?.p95 ?? 0) - exact)).toBeLessThanOrEqual(exact * 0.02);
    expect(whole?.median).toBeGreaterThan(0);
    expect(await marks()).toEqual([]);
  });

  test('are made in batches, for each monitor, and steps of hours are told apart', async () => {
    for (const monitor of [1, 2, 3, 4]) await store(monitor, day, hourOf(day));
    await store(1, day + 5 * hourMs, hourOf(day + 5 * hourMs));
    expect(await make()).toBe(2);
    const { rows } = await series(1, day, day + dayMs, 4 * 3_600);
    expect(rows.filter(({ continent }) => continent === 'Asia').map(({ slot }) => slot)).toEqual([
      0, 1,
    ]);
    expect((await sql`select 1 from days`).length).toBe(4);
  });

  test('are made again when a chunk changes, and only then change', async () => {
    await store(1, day, hourOf(day));
    await make();
    const [before] = await sql`select hours, xmin from days`;
    await store(1, day, hourOf(day));
    await make(Date.now() + 2 * dayMs);
    expect((await sql`select hours, xmin from days`)[0]).toEqual(before);
    await store(1, day, hourOf(day, 30_000));
    expect(await marks()).toHaveLength(1);
    await make();
    expect((await series(1, day, day + dayMs)).rows.map(({ ok }) => ok)).toEqual([40, 40, 40]);
  });

  test('give a window that begins within a day what lies in it', async () => {
    await storeDay(1);
    await make();
    const { rows } = await series(1, day + 4 * hourMs, day + 12 * hourMs, 4 * 3_600);
    expect(rows.map(({ slot, ok }) => [slot, ok])).toEqual(
      Array.from({ length: 3 }, () => [
        [0, 80],
        [1, 80],
      ]).flat(),
    );
  });

  test('wait for the end of their day, and a while after a late chunk', async () => {
    await store(1, day, hourOf(day));
    const now = Date.now();
    expect(await make(now)).toBe(0);
    await sql`update stale_days set since = 'epoch'`;
    expect(await make(day + dayMs + hourMs - 1)).toBe(0);
    expect(await make(day + dayMs + hourMs)).toBe(1);
  });

  test('keep what they have when the chunks of the day are gone', async () => {
    await store(1, day, hourOf(day));
    await make();
    await sql`delete from chunks`;
    await sql`insert into stale_days (day, monitor_key) values ('2026-10-20', 1)`;
    await make();
    expect((await series(1, day, day + dayMs)).rows).toHaveLength(3);
  });

  test('are not made of a monitor that is being forgotten', async () => {
    await store(9, day, hourOf(day));
    await sql`insert into forgotten_monitors (monitor_id, monitor_key) values (${newId()}, 9)`;
    await make();
    await sql`delete from forgotten_monitors`;
    expect(await sql`select 1 from days`).toEqual([]);
  });

  test('have what is readable of a damaged chunk, whose key is logged', async () => {
    await store(1, day, hourOf(day));
    await store(1, day + hourMs, hourOf(day + hourMs));
    await sql`update chunks set data = substr(data, 1, 40) where at = ${new Date(day)}`;
    const lines: unknown[] = [];
    const now = Date.now() + dayMs;
    await sql.begin((transaction) =>
      makeDays(transaction, { now, batchSize: 3, log: recorded(lines) }),
    );
    expect(lines).toEqual([
      { monitor_key: 1, at: new Date(day).toISOString(), fault: expect.stringMatching(/^it/) },
    ]);
    const { rows } = await series(1, day, day + dayMs, 3_600);
    expect(rows.filter(({ slot }) => slot === 1).map(({ ok }) => ok)).toEqual([20, 20, 20]);
  });

  test('never count fewer checks than the row that is there', async () => {
    await store(1, day, hourOf(day));
    await make();
    const seen = () => sql`select hours, whole, xmin from days`;
    const before = await seen();
    await sql`update chunks set data = substr(data, 1, 40)`;
    await make(Date.now() + 2 * dayMs);
    expect(await seen()).toEqual(before);
    await sql`delete from chunks`;
    await store(1, day + hourMs, hourOf(day + hourMs, 180_000));
    await make(Date.now() + 2 * dayMs);
    expect(await seen()).toEqual(before);
    await store(1, day + hourMs, hourOf(day + hourMs, 30_000));
    await make();
    expect((await series(1, day, day + dayMs)).rows.map(({ ok }) => ok)).toEqual([40, 40, 40]);
  });

  test('are mended when a part of them is damaged', async () => {
    await store(1, day, hourOf(day));
    await make();
    const before = await sql`select hours, whole from days`;
    await sql`update days set whole = substr(whole, 1, 40)`;
    await store(1, day, hourOf(day));
    await make();
    expect(await sql`select hours, whole from days`).toEqual(before);
  });

  test('are deleted after their time', async () => {
    await store(1, day, hourOf(day));
    await store(1, day + dayMs, hourOf(day + dayMs));
    await make();
    await forgetDays(sql, day + dayMs + 5 * hourMs);
    expect(await sql`select day from days`).toEqual([{ day: day + dayMs }]);
  });

  test('a mark that is made while its row is in the making stays for the next time', async () => {
    await store(1, day, hourOf(day));
    const reading = Promise.withResolvers<void>();
    const changed = sql.begin(async (transaction) => {
      const [{ at, data } = { at: 0, data: Buffer.alloc(0) }] = chunksOf(day, hourOf(day, 30_000));
      await transaction`update chunks set data = ${Buffer.from(data)} where at = ${new Date(at)}`;
      reading.resolve();
      // The row's transaction passes over a mark that another one holds.
      expect(await make()).toBe(0);
    });
    await reading.promise;
    await changed;
    expect(await make()).toBe(1);
    expect((await series(1, day, day + dayMs)).rows[0]?.ok).toBe(40);
  });
});

test('a row of a monitor in the trash has its checks by the places that it chose', async () => {
  const [office = { key: 0, id: '' }] = await sql<{ key: number; id: string }[]>`
    insert into probes (id, name, continent, organisation_id)
    select ${newId()}, 'Office', 'Europe', id from organisations limit 1 returning key, id`;
  await sql`insert into deleted_monitors (monitor_id, monitor_key, organisation_id, name, type, target, deleted_by)
    select gen_random_uuid(), 9, id, 'deleted', 'https', 'https://example.org/', 'somebody'
    from organisations limit 1`;
  const [deleted] = await sql<{ monitor_id: string }[]>`
    insert into deleted_rows (monitor_id, source, row)
    select monitor_id, 'monitors', '{"places": []}' from deleted_monitors returning monitor_id`;
  await store(
    9,
    day,
    hourOf(day)
      .slice(0, 1)
      .map((check) => ({ ...check, probe: office.key })),
  );
  await make();
  await sql`delete from deleted_monitors where monitor_id = ${deleted?.monitor_id ?? ''}`;
  const { rows } = await series(9, day, day + dayMs);
  await sql`delete from probes where id = ${office.id}`;
  expect(rows.map(({ continent }) => continent)).toEqual([office.id]);
});

describe('a year', () => {
  const ofAsia = ({ rows }: Series) =>
    rows
      .filter(({ continent }) => continent === 'Asia')
      .map(({ slot, ok, median }) => [slot, ok, median !== null]);

  test('reads days without a row between others from their checks', async () => {
    const days = [0, 1, 2, 3, 4];
    for (const nth of days) await store(1, day + nth * dayMs, hourOf(day + nth * dayMs));
    await make();
    await sql`delete from days where day in ('2026-10-21', '2026-10-23')`;
    expect(ofAsia(await series(1, day, day + 8 * dayMs))).toEqual(
      days.map((nth) => [nth, 20, true]),
    );
  });

  test('reads a day whose row is damaged from its checks, and logs it', async () => {
    for (const nth of [0, 1, 2]) await store(1, day + nth * dayMs, hourOf(day + nth * dayMs));
    await make();
    await sql`update days set whole = substr(whole, 1, 40) where day = '2026-10-21'`;
    const lines: unknown[] = [];
    const read = await series(1, day, day + 3 * dayMs, 86_400, recorded(lines));
    expect(lines).toEqual([
      {
        monitor_key: 1,
        at: '2026-10-21T00:00:00.000Z',
        fault: 'its checksum is wrong',
      },
    ]);
    expect(ofAsia(read)).toEqual([0, 1, 2].map((nth) => [nth, 20, true]));
  });

  test('has percentiles of today and yesterday before they have a row', async () => {
    await store(1, day, hourOf(day));
    await make();
    await sql`delete from days`;
    await store(1, day + dayMs, hourOf(day + dayMs));
    const { rows, whole } = await series(1, day - 5 * dayMs, day + 2 * dayMs);
    expect(rows.map(({ slot, ok, median }) => [slot, ok, median !== null])).toEqual(
      Array.from({ length: 3 }, () => [
        [5, 20, true],
        [6, 20, true],
      ]).flat(),
    );
    expect(whole).not.toBeNull();
  });

  test('of a monitor without results has no rows', async () => {
    expect(await series(5, day, day + 365 * dayMs)).toEqual({
      rows: [],
      whole: null,
      places: new Map(),
    });
  });
});

function recorded(lines: unknown[]): Log {
  return { ...log, error: (what: unknown) => void lines.push(what) } as Log;
}
