import { zstdDecompressSync } from 'node:zlib';
import { parquetReadObjects } from 'hyparquet';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createArchive, readArchive, showArchive } from '../../../coordinator/archives/contract.ts';
import { createArchiver } from '../../../coordinator/archives/making.ts';
import { forgetArchives } from '../../../coordinator/archives/queries.ts';
import { holdAlone } from '../../../coordinator/database/sql.ts';
import { chunksOf } from '../../../coordinator/results/chunk.ts';
import { makeDays } from '../../../coordinator/results/days.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { createLog } from '../../../shared/base/log.ts';
import { minuteChecks } from '../../support/checks.ts';
import { gateBench } from '../../support/gate.ts';
import { createTestOrganisation, type TestOrganisation } from '../../support/people.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const today = Math.floor(Date.now() / dayMs) * dayMs;
const days = [today - 3 * dayMs, today - 2 * dayMs];
const nameOf = (day: number): string => new Date(day).toISOString().slice(0, 10);

const bench = gateBench();
const log = createLog({ name: 'test', level: 'silent' });
let ours: TestOrganisation;
let theirs: TestOrganisation;

const monitors: number[] = [];

const monitorOf = async ({ organisation }: TestOrganisation): Promise<number> => {
  const [row] = await bench.sql<{ key: number }[]>`
    insert into monitors (id, organisation_id, partition, name, type, target, interval_s)
    values (${newId()}, ${organisation}, 0, 'Shop', 'https', 'https://example.org/', 60)
    returning key`;
  return row?.key ?? 0;
};

let keys: readonly number[];

/** An hour of checks. */
const store = async (monitor: number, hour: number): Promise<void> => {
  const checks = minuteChecks(hour, 60_000).map((check) => ({
    ...check,
    probe: keys[check.probe - 1] ?? 0,
  }));
  for (const { at, data } of chunksOf(hour, checks))
    await bench.sql`insert into chunks (monitor_key, at, data)
      values (${monitor}, ${new Date(at)}, ${Buffer.from(data)})`;
};

beforeAll(async () => {
  [ours, theirs] = [
    await createTestOrganisation(bench.sql),
    await createTestOrganisation(bench.sql),
  ];
  for (const continent of ['Europe', 'Asia', 'South America'] as const)
    await bench.addProbe(continent);
  const probes = await bench.sql<{ key: number }[]>`select key from probes order by key`;
  await bench.sql`create table chunks_of_test partition of chunks default`;
  keys = probes.map(({ key }) => key);
  for (const house of [ours, theirs]) {
    const monitor = await monitorOf(house);
    for (const day of days) await store(monitor, day);
    monitors.push(monitor);
  }
  const now = Date.now() + hourMs;
  while (await bench.sql.begin((transaction) => makeDays(transaction, { now, bite: 10, log })));
});

beforeEach(async () => {
  bench.now = today + 2 * hourMs;
  await bench.sql`delete from archives`;
  await bench.sql`delete from stale_days`;
});

const archiver = (more: { maxBytes?: number; signal?: AbortSignal } = {}) =>
  createArchiver({
    sql: bench.sql,
    clock: { now: () => bench.now },
    log,
    signal: new AbortController().signal,
    ...more,
  });
const shown = async (house = ours) => (await bench.call(showArchive, house.owner)).archive;
const fileOf = (day: number, checks = 60) => ({
  day: nameOf(day),
  checks,
  bytes: expect.any(Number),
});

const lastDay = days[1] ?? 0;
/** As a chunk that changes does. */
const mark = (nth: number, day: number) =>
  bench.sql`insert into stale_days (day, monitor_key) values (${nameOf(day)}, ${monitors[nth] ?? 0})`;

const contentOf = async (archive: string, day: string) => {
  const pieces: Buffer[] = [];
  for (let nth = 0; ; nth += 1) {
    const { data } = await bench.call(readArchive, ours.owner, { archive, day, nth });
    if (data === null) return Buffer.concat(pieces);
    pieces.push(Buffer.from(data, 'base64'));
  }
};
const rowsOf = async (archive: string, day: string) => {
  const content = await contentOf(archive, day);
  const file = content.buffer.slice(content.byteOffset, content.byteOffset + content.length);
  return parquetReadObjects({ file, compressors: { ZSTD: (input) => zstdDecompressSync(input) } });
};

describe('an archive of an organisation', () => {
  test('has a file for each day, of its own checks alone', async () => {
    const { id } = await bench.call(createArchive, ours.owner);
    expect(await shown()).toMatchObject({ id, ended_at: null, files: [] });
    await archiver().tick();
    expect(await shown()).toMatchObject({
      ended_at: new Date(today + 2 * hourMs).toISOString(),
      is_too_large: false,
      files: days.map((day) => ({ day: nameOf(day), checks: 60 })),
    });
    for (const day of days) {
      const rows = await rowsOf(id, nameOf(day));
      expect(rows).toHaveLength(60);
      expect(new Set(rows.map((row) => row.organisation_id))).toEqual(new Set([ours.organisation]));
    }
    const input = { archive: id, day: nameOf(days[0] ?? 0), nth: 0 };
    expect(await bench.refusal(readArchive, theirs.owner, input)).toBe('archive_not_found');
  });

  test('is made once while it is being made, and anew after that', async () => {
    const { id } = await bench.call(createArchive, ours.owner);
    expect((await bench.call(createArchive, ours.owner)).id).toBe(id);
    await archiver().tick();
    const next = await bench.call(createArchive, ours.owner);
    expect(next).toMatchObject({ ended_at: null, files: [] });
    expect(next.id).not.toBe(id);
    expect(await bench.sql`select 1 from archive_pieces`).toEqual([]);
  });

  test('is in the audit log', async () => {
    const { id } = await bench.call(createArchive, ours.owner);
    const entries = await bench.sql<{ changed: object }[]>`select changed from audit_log
      where organisation_id = ${ours.organisation} and operation = 'createArchive' order by key`;
    expect(entries.at(-1)?.changed).toMatchObject({ after: { archive: id } });
  });

  test('has a day of which checks of another organisation arrived late', async () => {
    await bench.call(createArchive, ours.owner);
    await mark(1, lastDay);
    await archiver().tick();
    expect(await shown()).toMatchObject({
      ended_at: new Date(bench.now).toISOString(),
      files: days.map((day) => fileOf(day)),
    });
  });

  test('waits for a day of which its own checks arrived late, and no other archive does', async () => {
    await bench.call(createArchive, ours.owner);
    bench.now += 1;
    await bench.call(createArchive, theirs.owner);
    await mark(0, lastDay);
    await archiver().tick();
    expect(await shown()).toMatchObject({ ended_at: null, files: [fileOf(days[0] ?? 0)] });
    expect(await shown(theirs)).toMatchObject({
      ended_at: new Date(bench.now).toISOString(),
      files: days.map((day) => fileOf(day)),
    });
    await bench.sql`delete from stale_days`;
    await archiver().tick();
    expect(await shown()).toMatchObject({
      ended_at: new Date(bench.now).toISOString(),
      files: days.map((day) => fileOf(day)),
    });
  });

  test('has a day that checks keep arriving of as it is after half an hour, with monitors that have no row of it', async () => {
    const monitor = await monitorOf(ours);
    await store(monitor, lastDay);
    await bench.call(createArchive, ours.owner);
    bench.now += hourMs / 2 - 1;
    await archiver().tick();
    expect(await shown()).toMatchObject({ ended_at: null, files: [fileOf(days[0] ?? 0)] });
    bench.now += 1;
    await archiver().tick();
    expect(await shown()).toMatchObject({
      ended_at: new Date(bench.now).toISOString(),
      files: [fileOf(days[0] ?? 0), fileOf(lastDay, 120)],
    });
    await bench.sql`delete from chunks where monitor_key = ${monitor}`;
  });

  test('goes on where a killed coordinator left it', async () => {
    const { id } = await bench.call(createArchive, ours.owner);
    // A whole day, and pieces of the next that are of no whole file.
    const [first = '', second = ''] = days.map(nameOf);
    await bench.sql`insert into archive_files (archive_id, organisation_id, day, checks, bytes)
      values (${id}, ${ours.organisation}, ${first}, 7, 7)`;
    await bench.sql`insert into archive_pieces (archive_id, organisation_id, day, nth, data)
      select ${id}, ${ours.organisation}, ${second}, nth, 'x' from generate_series(0, 9) nth`;
    const input = { archive: id, day: second, nth: 0 };
    expect(await bench.refusal(readArchive, ours.owner, input)).toBe('archive_not_found');
    await archiver().tick();
    expect((await shown())?.files).toMatchObject([
      { day: first, checks: 7 },
      { day: second, checks: 60 },
    ]);
    expect(await rowsOf(id, second)).toHaveLength(60);
  });

  test('waits for another process that makes it, and stops when the coordinator does', async () => {
    await bench.call(createArchive, ours.owner);
    await holdAlone(bench.sql, 'archives', () => archiver().tick());
    await archiver({ signal: AbortSignal.abort() }).tick();
    expect(await shown()).toMatchObject({ ended_at: null, files: [] });
  });

  test('ends when it is too large, with the days that fit', async () => {
    await bench.call(createArchive, ours.owner);
    await archiver().tick();
    const bytes = (await shown())?.files[0]?.bytes ?? 0;
    await bench.call(createArchive, ours.owner);
    await archiver({ maxBytes: bytes + 10 }).tick();
    expect(await shown()).toMatchObject({
      is_too_large: true,
      files: [{ day: nameOf(days[0] ?? 0) }],
    });
    expect(await bench.sql`select distinct day::text from archive_pieces`).toHaveLength(1);
  });

  test('is deleted after its time', async () => {
    await bench.call(createArchive, ours.owner);
    await forgetArchives(bench.sql, new Date(bench.now));
    expect(await shown()).not.toBeNull();
    await forgetArchives(bench.sql, new Date(bench.now + 1));
    expect(await shown()).toBeNull();
  });

  test('is for owners and admins', async () => {
    for (const operation of [createArchive, showArchive])
      expect(await bench.refusal(operation, ours.viewer)).toBe('role_insufficient');
  });
});
