import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { pack } from '../../../coordinator/engine/checkpoint.ts';
import { commitUnits, emptyUnit } from '../../../coordinator/engine/commit.ts';
import { loadPartition } from '../../../coordinator/engine/load.ts';
import { takeLeases } from '../../../coordinator/engine/queries.ts';
import { sealTurn } from '../../../coordinator/engine/seal-turn.ts';
import type { PartitionState } from '../../../coordinator/engine/state.ts';
import { createDirectory } from '../../../coordinator/probes/directory.ts';
import { type Check, unionOf } from '../../../coordinator/results/check.ts';
import { chunksOf, hourMs, hourOf } from '../../../coordinator/results/chunk.ts';
import { addBatch, checksIn, type Hours } from '../../../coordinator/results/hours.ts';
import {
  batchesAtOnce,
  dropJournalHours,
  insertJournal,
  type JournalRow,
  makeJournalHours,
} from '../../../coordinator/results/journal.ts';
import { packBatch } from '../../../coordinator/results/packed-batch.ts';
import { createResults } from '../../../coordinator/results/reading.ts';
import { makeResultDays } from '../../../coordinator/results/retention.ts';
import { createUnsealedHours, type Earlier } from '../../../coordinator/results/unsealed-hours.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { createLog } from '../../../shared/base/log.ts';
import { batchText, passText, readBatch, wholeText } from '../../../shared/bus/batch.ts';
import type { Result } from '../../../shared/checks/result.ts';
import { createTestOrganisation } from '../../support/people.ts';
import fc from '../../support/random.ts';
import { ownDatabase } from '../../support/services.ts';
import { rosterOf } from '../core/story.ts';

const noon = Date.UTC(2026, 10, 20, 12);
const day = 24 * hourMs;
const log = createLog({ name: 'test', level: 'silent' });
const owner = newId();
const { sql } = await ownDatabase();
const slot = sql.access.openSlot();
afterAll(() => slot.end());

const monitors: { id: string; key: number }[] = [];
const probes: number[] = [];
const deleted = { id: newId(), key: 999 };
const partition = 3;
let now = noon;
const clock = { now: () => now };

beforeAll(async () => {
  const { organisation } = await createTestOrganisation(sql);
  for (let nth = 0; nth < 5; nth += 1) {
    const id = newId();
    const [row] = await sql<{ key: number }[]>`
      insert into monitors (id, organisation_id, partition, name, type, target, interval_s)
      values (${id}, ${organisation}, ${partition}, ${`monitor ${nth}`}, 'https', 'https://a.example/', 60)
      returning key`;
    if (row) monitors.push({ id, key: row.key });
  }
  for (const continent of ['Europe', 'Asia']) {
    const [row] = await sql<{ key: number }[]>`
      insert into probes (id, name, continent) values (${newId()}, ${continent}, ${continent})
      returning key`;
    if (row) probes.push(row.key);
  }
  await makeResultDays(sql, noon - 2 * day, noon + 2 * day);
});

type Sent = { readonly monitor: number; readonly probe: number; readonly check: Check };

const checkOf = (probe: number, at: number, outcome: Check['outcome'] = 'ok'): Check => ({
  probe: probes[probe] ?? 0,
  at,
  took_ms: 10 + (at % 7),
  outcome,
  cause: outcome === 'fail' ? 'http_status' : null,
  phases: { dns: 1, tcp: 2, tls: null, first_byte: 3, total: 10 + (at % 7) },
});

const batchOf = (arrival: number, probe: number, sent: readonly Sent[]): JournalRow => {
  const texts = sent.map(({ monitor, check: { probe: _, cause, ...check } }, nth) => {
    const result: Omit<Result, 'seq'> = {
      ...check,
      monitor: (monitors[monitor] ?? deleted).id,
      config_version: 1,
      cause: cause === null ? null : { class: cause, params: {} },
      evidence: null,
      look: null,
    };
    return passText(nth + 1, result) ?? wholeText(nth + 1, result);
  });
  const head = { probe: newId(), generation: newId(), partition, after: null };
  const data = Buffer.from(batchText(head, texts));
  const batch = readBatch(JSON.parse(data.toString()));
  if (!batch) throw new Error('no batch');
  const keys = sent.map(({ monitor }) => (monitors[monitor] ?? deleted).key);
  return {
    arrival: hourOf(arrival),
    partition,
    probe: probes[probe] ?? 0,
    data: packBatch(data, batch, keys),
    counts: { ok: sent.length, fail: 0, unknown: 0 },
    oldest: 0,
    signature: Buffer.alloc(64, 1),
    digests: Buffer.alloc(64, 2),
  };
};

const unsealed = createUnsealedHours({ sql, log });

type State = Pick<PartitionState, 'lease' | 'hours' | 'earlier' | 'sealing'>;

/** A coordinator that has just taken the partition over; its checkpoint knew so many batches. */
const takeOver = async (known = 0): Promise<State> => {
  await sql`update leases set expires_at = 'epoch' where partition = ${partition}`;
  await sql`update leases set expires_at = 'infinity' where partition <> ${partition}`;
  const [lease] = await takeLeases(sql, owner, [partition], 60_000);
  if (!lease) throw new Error('no lease');
  const [newest] = await sql<{ id: number }[]>`
    select id from journal where partition = ${partition} order by id offset ${Math.max(0, known - 1)} limit 1`;
  const to = known === 0 ? 0 : (newest?.id ?? 0);
  const hours = await unsealed.read(partition, to);
  const earlier = to === 0 ? undefined : { partition, last: 0, to };
  return { lease, hours, earlier, sealing: undefined };
};

const commit = async (state: State, rows: readonly JournalRow[]): Promise<void> => {
  await commitUnits({ sql, slot }, owner, [{ ...emptyUnit(state.lease), journal: rows }]);
  for (const row of rows) expect(addBatch(state.hours, row)).toBe(null);
};

const deps = {
  sql,
  clock,
  log,
  writer: {
    commit: (unit: Parameters<typeof commitUnits>[2][number]) =>
      commitUnits({ sql, slot }, owner, [unit]),
    prepare: async () => undefined,
    close: async () => undefined,
  },
  oldestKept: () => noon - 2 * day,
  unsealed: {
    ...unsealed,
    readEarlier: (hours: Hours, earlier: Earlier) => unsealed.readEarlier(hours, earlier, 3),
  },
};

const sealAll = async (state: State): Promise<void> => {
  for (;;) {
    const answer = await sealTurn(state, deps, 2);
    if (answer.is !== 'sealed') throw answer.is === 'failed' ? answer.error : new Error(answer.is);
    if (!answer.isMore) return;
  }
};

const readAll = async () => {
  const results = createResults({ unsealed: createUnsealedHours({ sql, log }), log });
  const windows = monitors.map(({ key }) => ({
    key,
    partition,
    from: noon - 2 * day,
    to: noon + day,
  }));
  return results.within(sql, windows);
};

const makeHours = () =>
  sql.begin((transaction) => makeJournalHours(transaction, now - hourMs, now + day));

const empty = async (): Promise<void> => {
  await sql`truncate chunks, journal`;
  await sql`update sealed_hours set until = 'epoch', newest = 'epoch', checks = 0`;
  now = noon;
  await makeHours();
};

const newestHour = () =>
  sql`select newest, checks from sealed_hours where partition = ${partition}`;

const check = fc.record({
  monitor: fc.integer({ min: 0, max: 4 }),
  probe: fc.integer({ min: 0, max: 1 }),
  /** How long before its arrival it began. */
  age: fc.oneof(fc.integer({ min: 0, max: 9_000 }), fc.integer({ min: 0, max: 3 * hourMs })),
  outcome: fc.constantFrom('ok' as const, 'ok' as const, 'fail' as const),
});
const step = fc.oneof(
  fc.record({
    is: fc.constant('batch' as const),
    checks: fc.array(check, { minLength: 1, maxLength: 6 }),
  }),
  fc.record({ is: fc.constant('again' as const) }),
  fc.record({ is: fc.constant('wait' as const), ms: fc.integer({ min: 1, max: 2 * hourMs }) }),
  fc.record({ is: fc.constant('seal' as const), turns: fc.integer({ min: 1, max: 9 }) }),
  fc.record({ is: fc.constant('take over' as const), known: fc.nat({ max: 12 }) }),
  fc.record({ is: fc.constant('drop hours' as const) }),
);

describe('a partition that was taken over', () => {
  test('decides once it has read what came after the checkpoint, and reads the rest as it seals', async () => {
    await empty();
    await sql`update monitors set created_at = ${new Date(noon - day)}`;
    const state = await takeOver();
    const [monitor] = monitors;
    if (!monitor) throw new Error('no monitor');
    const at = [noon - 3_000, noon - 2_000, noon - 1_000, noon];
    const rows = at.map((each) =>
      batchOf(each, 0, [{ monitor: 0, probe: 0, check: checkOf(0, each) }]),
    );
    await commit(state, rows.slice(0, 3));
    const checkpoint = { takenAt: noon - 500, state: pack([]) };
    await commitUnits({ sql, slot }, owner, [{ ...emptyUnit(state.lease), checkpoint }]);
    const late = noon - 3 * hourMs;
    const backlog = batchOf(noon, 1, [{ monitor: 0, probe: 1, check: checkOf(1, late, 'fail') }]);
    await commit(state, [...rows.slice(3), backlog]);

    const directory = await createDirectory({ sql, log });
    const roster = () => rosterOf(['Europe', 'Asia']);
    const loading = { sql, directory, roster, unsealed, clock, log };
    const loaded = await loadPartition(state.lease, loading);
    const startsOf = () =>
      checksIn(loaded.hours, monitor.key, 0, noon + day).map((check) => check.at);
    expect(startsOf()).toEqual([late, noon]);
    expect(loaded.monitors.stateOf(monitor.id)?.views).toMatchObject([
      { from: { continent: 'Asia' }, at: late, ok: false },
      { from: { continent: 'Europe' }, at: noon, ok: true },
    ]);
    expect(await sealTurn(loaded, deps)).toEqual({ is: 'sealed', isMore: true });
    await sealAll(loaded);
    expect(startsOf()).toEqual(at);
    expect(loaded.earlier).toBeUndefined();
  });
});

describe('sealing', () => {
  test('stores each check once, whatever arrives late or twice, and wherever an owner dies', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 25 }), async (steps) => {
        await empty();
        let state = await takeOver();
        const sent: Sent[] = [];
        let last: JournalRow[] = [];
        for (const each of steps) {
          if (each.is === 'batch') {
            const made = each.checks.map(({ monitor, probe, age, outcome }) => ({
              monitor,
              probe,
              check: checkOf(probe, now - age, outcome),
            }));
            sent.push(...made);
            last = [0, 1].flatMap((probe) => {
              const own = made.filter((one) => one.probe === probe);
              return own.length === 0 ? [] : [batchOf(now, probe, own)];
            });
            await commit(state, last);
          } else if (each.is === 'again')
            await commit(
              state,
              last.map((row) => ({ ...row, arrival: Math.max(hourOf(now), state.hours.until) })),
            );
          else if (each.is === 'wait') {
            now += each.ms;
            await makeHours();
          } else if (each.is === 'seal')
            for (let turn = 0; turn < each.turns; turn += 1) await sealTurn(state, deps, 2);
          else if (each.is === 'take over') state = await takeOver(each.known);
          else {
            await sql`update sealed_hours set until = ${new Date(state.hours.until)}`;
            await sql.begin((transaction) => dropJournalHours(transaction));
            await makeHours();
          }
        }
        const expected = (nth: number): Check[] =>
          unionOf(sent.filter(({ monitor }) => monitor === nth).map((one) => one.check));
        const before = await readAll();
        for (const nth of monitors.keys()) expect(before[nth]).toEqual(expected(nth));

        now += 4 * hourMs;
        await makeHours();
        await sealAll(state);
        await sealAll(await takeOver(2));
        expect(
          await sql`select 1 from journal j join sealed_hours s using (partition) where j.hour >= s.until`,
        ).toEqual([]);
        const chunks = await sql<{ monitor_key: number; at: number; data: Uint8Array }[]>`
          select monitor_key, at, data from chunks order by 1, 2`;
        const wanted = monitors.flatMap(({ key }, nth) =>
          [...Map.groupBy(expected(nth), ({ at }) => hourOf(at))].flatMap(([hour, checks]) =>
            chunksOf(hour, checks).map(({ at, data }) => ({
              monitor_key: key,
              at,
              data: Buffer.from(data),
            })),
          ),
        );
        expect(chunks).toEqual(wanted);
        const all = monitors.flatMap((_, nth) => expected(nth));
        const newest = Math.max(0, ...all.map(({ at }) => hourOf(at)));
        expect(await newestHour()).toEqual([
          { newest, checks: all.filter(({ at }) => at >= newest).length },
        ]);
      }),
      { numRuns: 40 },
    );
  });

  test('forgets monitors that were deleted meanwhile, and writes nothing under a lease of before', async () => {
    await empty();
    const state = await takeOver();
    await commit(state, [
      batchOf(noon, 0, [{ monitor: 0, probe: 0, check: checkOf(0, noon + 5) }]),
      batchOf(noon, 0, [{ monitor: 9, probe: 0, check: checkOf(0, noon) }]),
    ]);
    now = noon + 2 * hourMs;
    const other = await takeOver();
    await expect(sealAll(state)).rejects.toThrow('belong to another coordinator');
    expect(await sql`select 1 from chunks`).toEqual([]);
    await sealAll(other);
    expect(await sql`select monitor_key from chunks`).toEqual([{ monitor_key: monitors[0]?.key }]);
  });

  test('keeps what a monitor in the trash got before it was deleted', async () => {
    await empty();
    const state = await takeOver();
    await commit(state, [batchOf(noon, 0, [{ monitor: 9, probe: 0, check: checkOf(0, noon) }])]);
    await sql`insert into deleted_monitors (monitor_id, monitor_key, organisation_id, name, type, target, deleted_by)
      select ${deleted.id}, ${deleted.key}, organisation_id, 'deleted', type, target, 'somebody' from monitors limit 1`;
    await sql`insert into deleted_rows (monitor_id, source, row)
      values (${deleted.id}, 'monitors', '{"places": null}')`;
    now = noon + 2 * hourMs;
    await sealAll(state);
    await sql`delete from deleted_monitors`;
    expect(await sql`select monitor_key from chunks`).toEqual([{ monitor_key: deleted.key }]);
  });

  test('merges what comes late in the next round, not at once', async () => {
    await empty();
    const state = await takeOver();
    const late = (at: number) =>
      commit(state, [batchOf(now, 0, [{ monitor: 0, probe: 0, check: checkOf(0, at) }])]);
    const chunk = async () =>
      (await sql`select data from chunks where monitor_key = ${monitors[0]?.key ?? 0}`)[0]?.data;
    await late(noon + 5);
    await commit(state, [
      batchOf(noon, 0, [{ monitor: 1, probe: 0, check: checkOf(0, noon + 5) }]),
    ]);
    now = noon + 2 * hourMs;
    await makeHours();
    // The first batch: its round goes on.
    expect(await sealTurn(state, deps, 1)).toEqual({ is: 'sealed', isMore: true });
    const before = await chunk();
    await late(noon + 6);
    expect(await sealTurn(state, deps, 1)).toEqual({ is: 'sealed', isMore: false });
    expect(await chunk()).toEqual(before);
    expect(state.hours.until).toBe(noon + hourMs);
    await sealAll(state);
    expect((await readAll())[0]?.map(({ at }) => at)).toEqual([noon + 5, noon + 6]);
    expect(await chunk()).not.toEqual(before);
  });

  test('leaves a damaged chunk as it is, and writes what comes beside it', async () => {
    await empty();
    const state = await takeOver();
    const send = (...offsets: readonly number[]) =>
      commit(state, [
        batchOf(
          now,
          0,
          offsets.map((ms) => ({ monitor: 0, probe: 0, check: checkOf(0, noon + ms) })),
        ),
      ]);
    await send(1_000);
    now = noon + 2 * hourMs;
    await makeHours();
    await sealAll(state);
    await sql`update chunks set data = set_byte(data, 0, 99)`;
    await send(2_000);
    await sealAll(state);
    // As after a death before the mark.
    await sql`update sealed_hours set until = 'epoch'`;
    await sealAll(await takeOver());
    expect(await sql`select at, get_byte(data, 0) as version from chunks order by at`).toEqual([
      { at: noon, version: 99 },
      { at: noon + 1, version: 1 },
    ]);
    expect((await readAll())[0]?.map(({ at }) => at - noon)).toEqual([1_000, 2_000]);
    await sql`update chunks set data = set_byte(data, 0, 1)`;
    expect((await readAll())[0]?.map(({ at }) => at - noon)).toEqual([1_000, 2_000]);
    // The first is in both chunks: it could not be read when it came again.
    expect(await newestHour()).toEqual([{ newest: noon, checks: 3 }]);
  });

  test('leaves no chunk of the hour beside those of its quarters', async () => {
    await empty();
    const state = await takeOver();
    // Of a monitor that was created at 12:15: none of its quarters begins with the hour.
    const checks = Array.from({ length: 500 }, (_, nth) =>
      checkOf(0, noon + 15 * 60_000 + nth * 5_000 + ((nth * 7_919) % 4_999)),
    );
    const send = (some: readonly Check[]) =>
      commit(state, [
        batchOf(
          now,
          0,
          some.map((one) => ({ monitor: 0, probe: 0, check: one })),
        ),
      ]);
    const starts = async () =>
      (await sql<{ at: number }[]>`select at from chunks order by at`).map(
        ({ at }) => (at - noon) / 60_000,
      );
    await send(checks.slice(0, 10));
    now = noon + 2 * hourMs;
    await makeHours();
    await sealAll(state);
    expect(await starts()).toEqual([0]);
    await send(checks.slice(10));
    await sealAll(state);
    expect(await starts()).toEqual([15, 30, 45]);
    expect((await readAll())[0]).toEqual(checks);
  });

  test('is read whole, although more arrived than is read at once', async () => {
    await empty();
    const count = 2 * batchesAtOnce(1) + 1;
    const { lease } = await takeOver();
    const journal = Array.from({ length: count }, (_, n) =>
      batchOf(noon, 0, [{ monitor: n % 5, probe: 0, check: checkOf(0, noon + n) }]),
    );
    await commitUnits({ sql, slot }, owner, [{ ...emptyUnit(lease), journal }]);
    const { held } = await unsealed.read(partition);
    expect(held.reduce((sum, { arena }) => sum + arena.count, 0)).toBe(count);
    expect((await readAll()).flat().map(({ at }) => at - noon)).toEqual(
      monitors.flatMap((_, nth) =>
        Array.from({ length: count }, (_, n) => n).filter((n) => n % 5 === nth),
      ),
    );
  });

  test('keeps the proof of each batch, and once what several share', async () => {
    await empty();
    const state = await takeOver();
    const row = batchOf(noon, 0, [{ monitor: 0, probe: 0, check: checkOf(0, noon + 5) }]);
    await insertJournal(sql, [row, row, { ...row, signature: null, digests: null }])[0];
    const rows = await sql`select signature, digests from journal order by id`;
    expect(rows).toEqual([
      { signature: row.signature, digests: row.digests },
      { signature: row.signature, digests: null },
      { signature: null, digests: null },
    ]);
    expect(state.hours.held).toEqual([]);
  });
});
