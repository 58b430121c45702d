import type { Sql } from '../../../coordinator/database/connect.ts';
import { commitUnits, emptyUnit, type Unit } from '../../../coordinator/engine/commit.ts';
import { takeLeases } from '../../../coordinator/engine/queries.ts';
import { sealTurn } from '../../../coordinator/engine/seal-turn.ts';
import { hourMs, hourOf } from '../../../coordinator/results/chunk.ts';
import { addBatch } from '../../../coordinator/results/hours.ts';
import {
  dropJournalHours,
  type JournalRow,
  makeJournalHours,
} from '../../../coordinator/results/journal.ts';
import { packBatch } from '../../../coordinator/results/packed-batch.ts';
import { makeResultDays } from '../../../coordinator/results/retention.ts';
import { createUnsealedHours } from '../../../coordinator/results/unsealed-hours.ts';
import { newId } from '../../../shared/base/crypto.ts';
import type { Log } from '../../../shared/base/log.ts';
import { batchText, passText, readBatch } from '../../../shared/bus/batch.ts';
import { cpuOf } from '../processes.ts';

/**
 * What storing costs, as the owner of a partition stores: the journal's batches with their
 * watermarks, and chunks after each hour. The day goes by as fast as the database takes
 * it.
 */
export type StoredDay = {
  readonly checks: number;
  /** Of chunks, with their index, as Postgres counts them. */
  readonly bytes: number;
  readonly logBytes: number;
  /** CPU of the connection that writes. */
  readonly databaseUs: number;
};

type Monitor = { readonly id: string; readonly key: number };
type Rig = { readonly sql: Sql; readonly log: Log; readonly probes: readonly number[] };

const minuteMs = 60_000;
const day = 24 * hourMs;

export const storeDay = async (
  { sql, log, probes }: Rig,
  monitors: readonly Monitor[],
): Promise<StoredDay> => {
  const owner = newId();
  const slot = sql.access.openSlot();
  const begin = hourOf(Date.now()) - 2 * day;
  let now = begin;
  const partition = 0;
  await sql`update leases set owner = null, expires_at = 'epoch'`;
  const [lease] = await takeLeases(sql, owner, [0], day);
  if (!lease) throw new Error('no lease');
  await sql`truncate chunks, journal`;
  await sql`update sealed_hours set until = ${new Date(begin)}`;
  await sql.begin(async (transaction) => {
    await makeResultDays(transaction, begin, begin + 2 * day);
    await makeJournalHours(transaction, begin, begin + day + 3 * hourMs);
  });
  const unsealed = createUnsealedHours({ sql, log });
  const state = {
    lease,
    hours: await unsealed.read(partition),
    earlier: undefined,
    sealing: undefined,
  };
  const commit = (unit: Unit) => commitUnits({ sql, slot }, owner, [unit]);
  const deps = {
    sql,
    log,
    clock: { now: () => now },
    writer: { commit, prepare: async () => undefined, close: async () => undefined },
    oldestKept: () => 0,
    unsealed,
  };
  try {
    const generation = newId();
    const pid = await slot.ask(async (question) => {
      const [row] = await question<{ pid: number }[]>`select pg_backend_pid() as pid`;
      return row?.pid ?? 0;
    });
    // Of one connection: other databases and the collection of garbage write log, too.
    const logBytes = async (): Promise<number> => {
      await slot.ask((question) => question`select pg_stat_force_next_flush()`);
      const [row] = await sql<
        { bytes: number }[]
      >`select wal_bytes::float8 as bytes from pg_stat_get_backend_wal(${pid})`;
      return row?.bytes ?? Number.NaN;
    };
    await sql`checkpoint`;
    const from = await logBytes();
    const cpu = cpuOf(pid);
    let checks = 0;
    for (let minute = 0; minute < day / minuteMs; minute += 1) {
      now = begin + minute * minuteMs + 1_000;
      const rows = probes.map((probe, nth) => {
        const turn = monitors.filter((_, ordinal) => (ordinal + minute) % probes.length === nth);
        return batchOf(turn, { partition, probe, at: begin + minute * minuteMs, seed: minute });
      });
      checks += rows.reduce((sum, row) => sum + row.counts.ok, 0);
      const watermarks = probes.map((probe_key) => ({
        probe_key,
        generation,
        partition,
        seq: minute + 1,
        ahead: [],
      }));
      await commit({ ...emptyUnit(lease), journal: rows, watermarks });
      for (const row of rows) addBatch(state.hours, row);
      await seal(state, deps);
    }
    now = begin + day + hourMs;
    await seal(state, deps);
    const databaseUs = ((cpuOf(pid) - cpu) * 1_000) / checks;
    const written = (await logBytes()) - from;
    await sql.begin((transaction) => dropJournalHours(transaction));
    return {
      checks,
      bytes: await chunkBytes(sql),
      logBytes: written,
      databaseUs,
    };
  } finally {
    await slot.end();
  }
};

type SealDependencies = Parameters<typeof sealTurn>[1];

const seal = async (
  state: Parameters<typeof sealTurn>[0],
  deps: SealDependencies,
): Promise<void> => {
  for (;;) {
    const answer = await sealTurn(state, deps);
    if (answer.is === 'failed') throw answer.error;
    if (answer.is !== 'sealed' || !answer.isMore) return;
  }
};

/** How long the owner of a partition takes to have its full hour in memory, and its bytes a check. */
export const readHour = async (
  { sql, log, probes }: Rig,
  monitors: readonly Monitor[],
): Promise<{ readonly checks: number; readonly ms: number; readonly bytes: number }> => {
  const owner = newId();
  const slot = sql.access.openSlot();
  const partition = 0;
  await sql`update leases set owner = null, expires_at = 'epoch'`;
  const [lease] = await takeLeases(sql, owner, [0], day);
  if (!lease) throw new Error('no lease');
  const hour = hourOf(Date.now());
  await sql`update sealed_hours set until = ${new Date(hour)}`;
  await sql.begin((transaction) => makeJournalHours(transaction, hour, hour + hourMs));
  const perBatch = 400;
  try {
    for (let minute = 0; minute < 60; minute += 1) {
      const journal: JournalRow[] = [];
      for (let from = 0; from < monitors.length; from += perBatch)
        journal.push(
          batchOf(monitors.slice(from, from + perBatch), {
            partition,
            probe: probes[minute % probes.length] ?? 0,
            at: hour + minute * minuteMs,
            seed: minute,
          }),
        );
      await commitUnits({ sql, slot }, owner, [{ ...emptyUnit(lease), journal }]);
    }
  } finally {
    await slot.end();
  }
  const began = performance.now();
  const { held } = await createUnsealedHours({ sql, log }).read(partition);
  const ms = performance.now() - began;
  const checks = held.reduce((sum, { arena }) => sum + arena.count, 0);
  const bytes = held.reduce((sum, { arena }) => sum + arena.bytes.data.length, 0);
  return { checks, ms, bytes: bytes / checks };
};

const batchOf = (
  monitors: readonly Monitor[],
  { partition, probe, at, seed }: { partition: number; probe: number; at: number; seed: number },
): JournalRow => {
  const texts = monitors.map(({ id, key }, nth) => {
    // As measured times are: around a monitor's own, a tenth more or less, in hundredths.
    const some = (least: number, turn: number): number => {
      const spread = ((key * 7_919 + seed * 104_729 + turn * 1_299_709) % 1_000) / 1_000;
      return Math.round(least * (1 + (key % 13) / 6) * (0.95 + spread / 10) * 100) / 100;
    };
    const [dns, tcp, tls, first_byte] = [some(1.2, 1), some(9.8, 2), some(20.1, 3), some(12, 4)];
    const total = Math.round((dns + tcp + tls + first_byte + some(4, 5)) * 100) / 100;
    const phases = { dns, tcp, tls, first_byte, total };
    return (
      passText(nth + 1, {
        monitor: id,
        config_version: 1,
        at: at + Math.floor((nth * minuteMs) / monitors.length),
        took_ms: total,
        outcome: 'ok',
        cause: null,
        evidence: null,
        look: null,
        phases,
      }) ?? ''
    );
  });
  const head = { probe: newId(), generation: newId(), partition, after: null };
  const data = Buffer.from(batchText(head, texts));
  const batch = readBatch(JSON.parse(data.toString()));
  if (!batch) throw new Error('no batch');
  const keys = monitors.map(({ key }) => key);
  return {
    arrival: hourOf(at),
    partition,
    probe,
    data: packBatch(data, batch, keys),
    counts: { ok: keys.length, fail: 0, unknown: 0 },
    oldest: 0,
    signature: Buffer.alloc(64, seed),
    digests: null,
  };
};

const chunkBytes = async (sql: Sql): Promise<number> => {
  const [row] = await sql<{ bytes: number }[]>`
    select sum(pg_total_relation_size(relid))::float8 as bytes
    from pg_partition_tree('chunks') where isleaf`;
  return row?.bytes ?? 0;
};
