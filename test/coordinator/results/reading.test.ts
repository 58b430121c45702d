import { beforeAll, describe, expect, test } from 'vitest';
import { type Check, unionOf } from '../../../coordinator/results/check.ts';
import { chunksOf } from '../../../coordinator/results/chunk.ts';
import { createResults, noUnsealedHours } from '../../../coordinator/results/reading.ts';
import { makeResultDays } from '../../../coordinator/results/retention.ts';
import { minuteChecks } from '../../support/checks.ts';
import { ownDatabase } from '../../support/services.ts';

const { sql } = await ownDatabase();
const hour = 3_600_000;
const now = Date.UTC(2026, 10, 26, 12, 30);
const noon = now - 1_800_000;
let lastKey = 0;

beforeAll(() => makeResultDays(sql, now - 3 * 24 * hour, now + hour));

const newMonitor = () => {
  lastKey += 1;
  return { key: lastKey, partition: 0 };
};

const writeChunks = async (key: number, start: number, checks: readonly Check[]) => {
  for (const { at, data } of chunksOf(start, checks))
    await sql`insert into chunks (monitor_key, at, data) values (${key}, ${new Date(at)}, ${data})`;
};

const logged: unknown[] = [];
const resultsWith = (unsealed: readonly Check[] = []) =>
  createResults({
    unsealed: {
      ...noUnsealedHours,
      checksOf: (_partition, _monitor, from, to) =>
        unsealed.filter(({ at }) => at >= from && at < to),
      newestOf: () => unsealed.toReversed(),
    },
    log: { error: (entry: unknown) => logged.push(entry) },
  });

const check = (at: number, more: Partial<Check> = {}): Check => ({
  probe: 1,
  at,
  took_ms: 20,
  outcome: 'ok',
  cause: null,
  phases: null,
  ...more,
});
const failed = { outcome: 'fail', cause: 'connect_refused' } as const;

describe('the checks of a window', () => {
  test('are the union of chunks and unsealed hours, each once', async () => {
    const monitor = newMonitor();
    const [old, ten, unsealed] = [noon - 3 * hour, noon - 2 * hour, noon].map((start) =>
      minuteChecks(start, 60_000, start),
    );
    if (!old || !ten || !unsealed) throw new Error('three hours were made');
    await writeChunks(monitor.key, noon - 3 * hour, old);
    await writeChunks(monitor.key, noon - 2 * hour, ten.slice(0, 55));
    const window = { ...monitor, from: old[5]?.at ?? 0, to: now };
    const [read] = await resultsWith([...ten.slice(50), ...unsealed]).within(sql, [window]);
    const expected = unionOf(old, ten, unsealed).filter(({ at }) => at >= window.from && at < now);
    expect(read).toEqual(expected);
    expect(expected).toHaveLength(55 + 60 + 30);
  });

  test('are those of each monitor in its own window, quarters of hours too', async () => {
    const [one, other, none] = [newMonitor(), newMonitor(), newMonitor()];
    const checks = minuteChecks(noon, 10_000);
    await writeChunks(one.key, noon, checks);
    await writeChunks(other.key, noon, minuteChecks(noon, 60_000));
    const [from, to] = [noon + 1_000_000, noon + 1_900_000];
    const read = await resultsWith().within(sql, [
      { ...one, from, to },
      { ...other, from: noon, to: noon + 60_000 },
      { ...none, from, to },
    ]);
    expect(read[0]).toEqual(checks.filter(({ at }) => at >= from && at < to));
    expect(read[1]).toHaveLength(1);
    expect(read[2]).toEqual([]);
  });

  test('are what is readable where a chunk is damaged, which is logged once with its key', async () => {
    const monitor = newMonitor();
    await writeChunks(monitor.key, noon, minuteChecks(noon, 60_000));
    await sql`update chunks set data = set_byte(data, 20, get_byte(data, 20) # 255)
      where monitor_key = ${monitor.key}`;
    await writeChunks(monitor.key, noon - hour, minuteChecks(noon - hour, 60_000));
    const results = resultsWith();
    for (const _ of [1, 2]) {
      const [read] = await results.within(sql, [
        { ...monitor, from: noon - hour, to: noon + hour },
      ]);
      expect(read).toHaveLength(60 + 40);
    }
    expect(logged.splice(0)).toEqual([
      {
        monitor_key: monitor.key,
        at: new Date(noon).toISOString(),
        fault: 'its checksum is wrong',
      },
    ]);
  });

  test('are those beside a damaged chunk, to the last millisecond of a window', async () => {
    const monitor = newMonitor();
    const checks = Array.from({ length: 720 }, (_, nth) =>
      check(noon + nth * 5_000, { took_ms: nth * 97 }),
    );
    const beside = chunksOf(noon, checks, 1);
    expect(beside.map(({ at }) => at - noon)).toEqual([1, 900_001, 1_800_001, 2_700_001]);
    for (const { at, data } of [{ at: noon, data: new Uint8Array([99]) }, ...beside])
      await sql`insert into chunks (monitor_key, at, data)
        values (${monitor.key}, ${new Date(at)}, ${Buffer.from(data)})`;
    const window = { ...monitor, from: noon, to: noon + 900_001 };
    expect(await resultsWith().within(sql, [window])).toEqual([checks.slice(0, 181)]);
    expect(logged.splice(0)).toHaveLength(1);
  });
});

describe('the newest checks', () => {
  const passes = { since: noon - 24 * hour, limit: 3, outcomes: ['ok'], chunks: 3 } as const;
  const ats = (checks: readonly Check[] | undefined) => checks?.map(({ at }) => at);

  test('come from the unsealed hours, and from the database where these have too few', async () => {
    const monitor = newMonitor();
    await writeChunks(monitor.key, noon - 2 * hour, [
      check(noon - hour - 1),
      check(noon - hour - 2, failed),
    ]);
    await writeChunks(monitor.key, noon - hour, [
      check(noon - hour),
      check(noon - 1, failed),
      check(noon - 2, { outcome: 'unknown' }),
    ]);
    const unsealed = [check(noon), check(noon + 1), check(noon + 2), check(noon + 3, failed)];
    expect(
      ats((await resultsWith(unsealed).newest(sql, [monitor], passes)).get(monitor.key)),
    ).toEqual([noon + 2, noon + 1, noon]);
    expect(
      ats(
        (await resultsWith(unsealed.slice(0, 1)).newest(sql, [monitor], passes)).get(monitor.key),
      ),
    ).toEqual([noon, noon - hour, noon - hour - 1]);
    const wanted = { ...passes, since: noon - hour, outcomes: ['ok', 'fail'] } as const;
    expect(ats((await resultsWith().newest(sql, [monitor], wanted)).get(monitor.key))).toEqual([
      noon - 1,
      noon - hour,
    ]);
  });

  test('are read from so many of the newest chunks only', async () => {
    const monitor = newMonitor();
    await writeChunks(monitor.key, noon - hour, [check(noon - 10_000)]);
    await writeChunks(monitor.key, noon - 2 * hour, [check(noon - hour - 1)]);
    const read = async (chunks: number) =>
      ats((await resultsWith().newest(sql, [monitor], { ...passes, chunks })).get(monitor.key));
    expect(await read(1)).toEqual([noon - 10_000]);
    expect(await read(2)).toEqual([noon - 10_000, noon - hour - 1]);
  });
});

describe('when a monitor was checked last', () => {
  const lastOf = async (monitor: ReturnType<typeof newMonitor>, unsealed: readonly Check[] = []) =>
    (await resultsWith(unsealed).lastVerdicts(sql, [monitor])).get(monitor.key)?.at;

  test('is in the unsealed hours, or in a chunk', async () => {
    const monitor = newMonitor();
    expect(await lastOf(monitor)).toBe(undefined);
    await writeChunks(monitor.key, noon - hour, [check(noon - 5_000)]);
    expect(await lastOf(monitor)).toBe(noon - 5_000);
    expect(await lastOf(monitor, [check(noon), check(noon + 1, failed)])).toBe(noon + 1);
  });

  test('needs no statement where the unsealed hours say it', async () => {
    const monitor = newMonitor();
    await writeChunks(monitor.key, noon, [check(noon + 60_000)]);
    expect(await lastOf(monitor, [check(noon)])).toBe(noon);
  });

  test('is the last verdict, also when it is followed by hours in which nothing could be seen', async () => {
    const monitor = newMonitor();
    await writeChunks(monitor.key, noon - 5 * hour, [check(noon - 4 * hour - 1)]);
    for (const back of [2, 1])
      await writeChunks(monitor.key, noon - back * hour, [
        check(noon - back * hour, { outcome: 'unknown' }),
      ]);
    expect(await lastOf(monitor, [check(noon, { outcome: 'unknown' })])).toBe(noon - 4 * hour - 1);
  });
});
