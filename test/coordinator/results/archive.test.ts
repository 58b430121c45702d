import { mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { zstdDecompressSync } from 'node:zlib';
import { asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects } from 'hyparquet';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { archiveDays, checksOfDay } from '../../../coordinator/results/archive.ts';
import type { Check } from '../../../coordinator/results/check.ts';
import { chunksOf } from '../../../coordinator/results/chunk.ts';
import { makeDays } from '../../../coordinator/results/days.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { createLog } from '../../../shared/base/log.ts';
import { minuteChecks } from '../../support/checks.ts';
import { createTestOrganisation } from '../../support/people.ts';
import { ownDatabase } from '../../support/services.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** Days that are over by the clock of the database, which marks them. */
const today = Math.floor(Date.now() / dayMs) * dayMs;
const day = today - 3 * dayMs;
const name = (at: number): string => `day=${new Date(at).toISOString().slice(0, 10)}`;

const { sql } = await ownDatabase();
const log = createLog({ name: 'test', level: 'silent' });
let folder: string;
const keys: number[] = [];
const monitors: { id: string; key: number; organisation: string }[] = [];

beforeAll(async () => {
  const ours = await createTestOrganisation(sql, { name: 'Ours' });
  const theirs = await createTestOrganisation(sql, { name: 'Theirs' });
  const place = newId();
  await sql`insert into places (id, organisation_id, name, continent)
    values (${place}, ${ours.organisation}, 'Office', 'Asia')`;
  for (const [nth, continent] of ['Europe', 'Asia', 'South America'].entries()) {
    const own = nth === 1 ? { organisation_id: ours.organisation, place_id: place } : {};
    const probe = { id: newId(), name: `probe ${nth}`, continent, ...own };
    const [row] = await sql<{ key: number }[]>`insert into probes ${sql(probe)} returning key`;
    keys.push(row?.key ?? 0);
  }
  for (const organisation of [ours.organisation, theirs.organisation]) {
    const id = newId();
    const [row] = await sql<{ key: number }[]>`
      insert into monitors (id, organisation_id, partition, name, type, target, interval_s)
      values (${id}, ${organisation}, 0, ${`Shop "${monitors.length}" ö`}, 'https', 'https://example.org/', 60)
      returning key`;
    monitors.push({ id, key: row?.key ?? 0, organisation });
  }
  await sql`create table chunks_of_test partition of chunks default`;
});

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'antipode-archive-'));
  await sql`truncate chunks, stale_days, daily_rollups`;
  return () => rm(folder, { recursive: true });
});

const hourOf = (hour: number, interval_ms = 60_000): Check[] =>
  minuteChecks(hour, interval_ms).map((check) => ({ ...check, probe: keys[check.probe - 1] ?? 0 }));

const store = async (monitor: number, hour: number, checks: readonly Check[]): Promise<void> => {
  for (const { at, data } of chunksOf(hour, checks))
    await sql`insert into chunks (monitor_key, at, data)
      values (${monitor}, ${new Date(at)}, ${Buffer.from(data)})
      on conflict (monitor_key, at) do update set data = excluded.data`;
};
const make = async (now = Date.now() + hourMs): Promise<void> => {
  while (await sql.begin((transaction) => makeDays(transaction, { now, bite: 10, log })));
};
const archive = (warn: (line: string) => void = () => undefined) =>
  archiveDays(folder, {
    sql,
    clock: { now: () => today + 2 * hourMs },
    progress: () => undefined,
    warn,
  });
const rowsOf = async (at = day) => {
  const file = await asyncBufferFromFile(join(folder, name(at), 'checks-00001.parquet'));
  return parquetReadObjects({ file, compressors: { ZSTD: (input) => zstdDecompressSync(input) } });
};
const keyOf = (nth: number): number => monitors[nth]?.key ?? 0;

describe('the archive', () => {
  test('has every check of a day, with the names of its monitor and place', async () => {
    const failure: Check = {
      probe: keys[1] ?? 0,
      at: day + 5,
      took_ms: 10_000,
      outcome: 'fail',
      cause: 'timeout',
      phases: null,
    };
    const all = [[failure, ...hourOf(day)], hourOf(day)];
    for (const [nth, checks] of all.entries()) await store(keyOf(nth), day, checks);
    await make();
    expect(await archive()).toEqual({
      written: [name(day).slice(4)],
      unchanged: [],
      unsettled: [],
    });
    const rows = await rowsOf();
    expect(rows).toHaveLength(121);
    const expected = [...all.entries()].flatMap(([nth, checks]) =>
      checks.toSorted((a, b) => a.at - b.at).map((check) => [nth, check] as const),
    );
    for (const [at, [nth, check]] of expected.entries()) {
      const row = rows[at];
      const number = (ms: number | null | undefined) =>
        ms === null || ms === undefined ? null : expect.closeTo(ms, 3);
      expect(row).toEqual({
        organisation_id: monitors[nth]?.organisation,
        organisation: nth === 0 ? 'Ours' : 'Theirs',
        monitor_id: monitors[nth]?.id,
        monitor: `Shop "${nth}" ö`,
        checked_at: new Date(check.at),
        continent: ['Europe', 'Asia', 'South America'][keys.indexOf(check.probe)],
        place: check.probe === keys[1] ? 'Office' : null,
        outcome: check.outcome,
        took_ms: number(check.took_ms),
        dns_ms: number(check.phases?.dns),
        tcp_ms: number(check.phases?.tcp),
        tls_ms: number(check.phases?.tls),
        first_byte_ms: number(check.phases?.first_byte),
        total_ms: number(check.phases?.total),
        cause: check.cause,
      });
    }
  });

  test('is compressed by zstd', async () => {
    await store(keyOf(0), day, hourOf(day));
    await make();
    await archive();
    const file = await asyncBufferFromFile(join(folder, name(day), 'checks-00001.parquet'));
    const { row_groups } = await parquetMetadataAsync(file);
    expect(row_groups[0]?.columns.every(({ meta_data }) => meta_data?.codec === 'ZSTD')).toBe(true);
  });

  test('leaves a day that did not change, and writes one again whose chunks changed', async () => {
    for (const at of [day, day + dayMs]) await store(keyOf(0), at, hourOf(at));
    await make();
    await archive();
    const again = { written: [], unchanged: [day, day + dayMs].map((at) => name(at).slice(4)) };
    expect(await archive()).toMatchObject(again);
    await store(keyOf(0), day, hourOf(day, 30_000));
    expect(await archive()).toMatchObject(again);
    await make(Date.now() + 2 * hourMs);
    expect(await archive()).toMatchObject({ written: [name(day).slice(4)] });
    expect(await rowsOf()).toHaveLength(120);
    expect((await readdir(folder)).toSorted()).toEqual([name(day), name(day + dayMs)]);
  });

  test('waits for a day of which rows are being made, and for one that runs', async () => {
    await store(keyOf(0), day, hourOf(day));
    await make();
    await store(keyOf(1), day, hourOf(day));
    await store(keyOf(1), today, hourOf(today));
    expect(await archive()).toEqual({
      written: [],
      unchanged: [],
      unsettled: [name(day).slice(4)],
    });
  });

  test('goes on after a run that was killed, at whatever step', async () => {
    await store(keyOf(0), day, hourOf(day));
    await make();
    await archive();
    // It had moved the day that it was to replace, and not yet put the new one there.
    await rename(join(folder, name(day)), join(folder, `.${name(day)}.former`));
    await archive();
    // It was in the middle of a file.
    await rename(join(folder, name(day)), join(folder, `.${name(day)}.partial`));
    await writeFile(
      join(folder, `.${name(day)}.partial`, 'checks-00002.parquet'),
      'PAR1 and a bit',
    );
    await archive();
    expect(await readdir(folder)).toEqual([name(day)]);
    expect(await readdir(join(folder, name(day)))).toEqual([
      'archive.json',
      'checks-00001.parquet',
    ]);
    expect(await rowsOf()).toHaveLength(60);
  });

  test('refuses a folder whose day it did not write', async () => {
    await store(keyOf(0), day, hourOf(day));
    await make();
    await archive();
    await writeFile(join(folder, name(day), 'archive.json'), '{}');
    await expect(archive()).rejects.toThrow('move its folder away');
    expect(await readFile(join(folder, name(day), 'archive.json'), 'utf8')).toBe('{}');
  });

  test('warns of a damaged chunk, and has what is readable of it', async () => {
    await store(keyOf(0), day, hourOf(day));
    await store(keyOf(0), day + hourMs, hourOf(day + hourMs));
    await make();
    await sql`update chunks set data = substr(data, 1, 60) where at = ${new Date(day)}`;
    await make(Date.now() + 2 * hourMs);
    const warnings: string[] = [];
    await archive((line) => void warnings.push(line));
    expect(warnings).toEqual([expect.stringContaining(monitors[0]?.id ?? '?')]);
    expect((await rowsOf()).length).toBeGreaterThanOrEqual(60);
  });

  test('of one organisation has nothing of another, nor the places of its probes', async () => {
    for (const { key } of monitors) await store(key, day, hourOf(day));
    await make();
    for (const [nth, places] of [['Office', null], [null]].entries()) {
      const of = monitors[nth]?.organisation ?? '';
      const seen = (await Array.fromAsync(checksOfDay(sql, day, of, () => undefined))).flat();
      expect(seen).toHaveLength(nth === 0 ? 60 : 40);
      expect(new Set(seen.map(({ organisation_id }) => organisation_id))).toEqual(new Set([of]));
      expect(new Set(seen.map(({ place }) => place))).toEqual(new Set(places));
    }
  });
});
