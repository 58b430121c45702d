import { beforeAll, expect, test } from 'vitest';
import { executeAll, type Queryable } from '../../../coordinator/database/connect.ts';
import type { Check } from '../../../coordinator/results/check.ts';
import { chunksOf, hourMs, readChunk } from '../../../coordinator/results/chunk.ts';
import { convertAgain, convertResults } from '../../../coordinator/results/conversion.ts';
import { insertResults, makeResultDays } from '../../../coordinator/results/table.ts';
import { minuteChecks } from '../../support/checks.ts';
import { ownDatabase } from '../../support/services.ts';

const { sql } = await ownDatabase();
const today = Date.UTC(2026, 10, 26);
const day = 24 * hourMs;
const keptFrom = today - 7 * day;
const logged: object[] = [];
const log = { error: (entry: object) => logged.push(entry) };

beforeAll(() => makeResultDays(sql, keptFrom, today + day));

const rowsOf = (by: Queryable, key: number, checks: readonly Check[]) =>
  insertResults(
    by,
    checks.map(({ probe, cause, ...check }) => ({
      ...check,
      monitor_key: key,
      probe_key: probe,
      cause_class: cause,
    })),
  );

const write = (key: number, checks: readonly Check[]) => executeAll(rowsOf(sql, key, checks));

const writeChunk = async (key: number, hour: number, checks: readonly Check[]) => {
  for (const { at, data } of chunksOf(hour, checks))
    await sql`insert into chunks (monitor_key, at, data) values (${key}, ${new Date(at)}, ${data})`;
};

const convert = async (now: number, batchSize = 2): Promise<number> => {
  for (let batches = 0; ; batches += 1)
    if (
      !(await sql.begin((transaction) =>
        convertResults(transaction, { now, keptFrom, batchSize, log }),
      ))
    )
      return batches;
};

const chunks = async (key: number) =>
  (
    await sql<{ at: Date; data: Uint8Array }[]>`
      select at, data from chunks where monitor_key = ${key} order by at`
  ).map(({ at, data }) => ({ at: at.getTime(), ...readChunk(at.getTime(), data) }));

const checksIn = async (key: number) => (await chunks(key)).flatMap(({ checks }) => checks);

const hours = (from: number, count: number) =>
  Array.from({ length: count }, (_, nth) => minuteChecks(from + nth * hourMs, 300_000, nth)).flat();

test('days that are over are put into chunks, some monitors at a time, and today waits', async () => {
  const [old, recent] = [hours(today - 3 * day, 5), hours(today, 2)];
  for (const key of [1, 2, 3]) await write(key, [...old, ...recent]);
  expect(await convert(today + hourMs)).toBe(2);
  for (const key of [1, 2, 3]) expect(await checksIn(key)).toEqual(old);
  expect(await convert(today + day + hourMs)).toBe(0);
  expect(await convert(today + day + 2 * hourMs)).toBeGreaterThan(0);
  expect(await checksIn(1)).toEqual([...old, ...recent]);
  await sql`delete from converted_results`;
  const before = await sql`select monitor_key, at, data, ctid::text from chunks order by 1, 2`;
  await convert(today + day + 2 * hourMs);
  expect(await sql`select monitor_key, at, data, ctid::text from chunks order by 1, 2`).toEqual(
    before,
  );
});

test('rows that come late for a day that was converted are put into its chunks', async () => {
  await sql`delete from converted_results`;
  const from = today - 4 * day;
  const all = hours(from, 3);
  await write(5, all.slice(5));
  await convert(today + hourMs);
  expect(await checksIn(5)).toEqual(all.slice(5));
  // They come while the next batchSize runs: it waits for them.
  const converted = await sql.begin(async (transaction) => {
    await executeAll(convertAgain(transaction, [from + day, from]));
    const converting = convert(today + hourMs);
    await executeAll(rowsOf(transaction, 5, all.slice(0, 5)));
    return { converting };
  });
  await converted.converting;
  expect(await checksIn(5)).toEqual(all);
});

test('an hour that grows from one chunk to quarters keeps none of the whole hour', async () => {
  await sql`delete from converted_results`;
  const from = today - 5 * day;
  // None is of the first quarter.
  const all = minuteChecks(from, 6_000, 7).filter(({ at }) => at >= from + hourMs / 4);
  await writeChunk(6, from, all.slice(0, 5));
  expect((await chunks(6)).map(({ at }) => at)).toEqual([from]);
  await write(6, all);
  await convert(today + hourMs);
  expect((await chunks(6)).map(({ at }) => (at - from) / hourMs)).toEqual([0.25, 0.5, 0.75]);
  expect(await checksIn(6)).toEqual(all);
});

test('what a chunk has already stays in it, and a damaged one stays as it is', async () => {
  await sql`delete from converted_results`;
  const from = today - 2 * day;
  const all = hours(from, 2);
  const [first, second] = [from, from + hourMs].map((hour) =>
    all.filter(({ at }) => at >= hour && at < hour + hourMs),
  );
  await write(4, all);
  await sql`delete from results where monitor_key = 4 and at = ${new Date(first?.[0]?.at ?? 0)}`;
  await writeChunk(4, from, first?.slice(0, 3) ?? []);
  await writeChunk(4, from + hourMs, second?.slice(0, 3) ?? []);
  await sql`update chunks set data = set_byte(data, 9, get_byte(data, 9) # 1)
    where monitor_key = 4 and at = ${new Date(from + hourMs)}`;
  await convert(today + hourMs);
  const [healthy, damaged] = await chunks(4);
  expect(healthy).toEqual({ at: from, checks: first, fault: null });
  expect(damaged?.fault).toBe('its checksum is wrong');
  expect(logged).toEqual([
    {
      monitor_key: 4,
      at: new Date(from + hourMs).toISOString(),
      fault: 'its checksum is wrong',
    },
  ]);
});
