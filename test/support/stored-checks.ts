import type { Queryable, Sql } from '../../coordinator/database/connect.ts';
import type { Check } from '../../coordinator/results/check.ts';
import { hourMs, hourOf } from '../../coordinator/results/chunk.ts';
import { dayMs, makeDays } from '../../coordinator/results/days.ts';
import { insertJournal, makeJournalHours } from '../../coordinator/results/journal.ts';
import { packBatch } from '../../coordinator/results/packed-batch.ts';
import { createResults } from '../../coordinator/results/reading.ts';
import { makeResultDays } from '../../coordinator/results/retention.ts';
import { createUnsealedHours } from '../../coordinator/results/unsealed-hours.ts';
import type { Continent } from '../../shared/base/continents.ts';
import { newId } from '../../shared/base/crypto.ts';
import { createLog } from '../../shared/base/log.ts';
import { batchText, readBatch, wholeText } from '../../shared/bus/batch.ts';
import { turns } from '../../shared/checks/placement.ts';
import { minuteChecks, storeChecks } from './checks.ts';
import { probeIn, rosterOf } from './rosters.ts';

const log = createLog({ name: 'checks', level: 'silent' });

type StoredCheck = Omit<Check, 'probe'> & {
  readonly monitor: string;
  /** Of the monitor. */
  readonly key: number;
  readonly type: string;
  readonly partition: number;
  readonly probe: string;
  readonly probe_id: string;
  readonly continent: Continent;
  readonly is_private: boolean;
};

type MonitorRow = {
  readonly id: string;
  readonly key: number;
  readonly partition: number;
  readonly type: string;
};
type ProbeRow = Pick<StoredCheck, 'continent' | 'is_private'> & {
  readonly key: number;
  readonly id: string;
  readonly name: string;
};

/** Every check of the monitors that exist, or of one, wherever it is stored, oldest first. */
export const storedChecks = async (
  sql: Queryable,
  { monitor, since = 0 }: { readonly monitor?: string; readonly since?: number } = {},
): Promise<StoredCheck[]> => {
  const { monitors, probes, unsealed } = await known(sql, monitor);
  const results = createResults({ unsealed, log });
  const to = Date.now() + 86_400_000;
  const checks = await results.within(
    sql,
    monitors.map(({ key, partition }) => ({ key, partition, from: since, to })),
  );
  return monitors
    .flatMap((row, nth) => (checks[nth] ?? []).map((check) => storedOf(row, check, probes)))
    .sort((a, b) => a.at - b.at);
};

/** Those that the journal has more than once. */
export const repeatedChecks = async (sql: Queryable): Promise<StoredCheck[]> => {
  const { monitors, probes, unsealed } = await known(sql);
  await unsealed.refresh(monitors.map(({ partition }) => partition));
  return monitors.flatMap((row) => {
    const names = new Set<string>();
    const repeated: Check[] = [];
    for (const check of unsealed.newestOf(row.partition, row.key)) {
      const name = `${check.probe} ${check.at}`;
      if (names.has(name)) repeated.push(check);
      names.add(name);
    }
    return repeated.map((check) => storedOf(row, check, probes));
  });
};

/**
 * The turns of all monitors between two moments: how many were due, those that no probe took, and
 * those that were taken more than once.
 */
export const turnsBetween = async (
  sql: Queryable,
  { from, to }: { readonly from: number; readonly to: number },
): Promise<{ readonly due: number; readonly lost: string[]; readonly twice: string[] }> => {
  const checks = Map.groupBy(await storedChecks(sql), ({ monitor }) => monitor);
  const monitors = await sql<{ id: string; key: number; interval_s: number }[]>`
    select id, key, interval_s from monitors`;
  const all = monitors.flatMap(({ id, key, interval_s }) => {
    const every = interval_s * 1_000;
    const turnAt = (at: number) => Math.floor((at - phaseOf(key, every)) / every);
    const taken = Map.groupBy(checks.get(id) ?? [], ({ at }) => turnAt(at));
    const first = turnAt(from) + 1;
    return Array.from({ length: turnAt(to) - first }, (_, nth) => ({
      turn: `${id} ${first + nth}`,
      times: taken.get(first + nth)?.length ?? 0,
    }));
  });
  return {
    due: all.length,
    lost: all.filter(({ times }) => times === 0).map(({ turn }) => turn),
    twice: all.filter(({ times }) => times > 1).map(({ turn }) => turn),
  };
};

/** When in its interval a monitor is due: the only probe there is would take all its turns. */
const phaseOf = (ordinal: number, interval_ms: number): number => {
  const placed = { monitor: '', interval_ms, ordinal, continents: null, probe: null };
  return turns(placed, 'Asia', rosterOf(probeIn('Asia', 1)))?.offset_ms ?? 0;
};

const known = async (sql: Queryable, monitor?: string) => {
  const monitors = await sql<MonitorRow[]>`
    select id, key, partition, type from monitors
    where ${monitor === undefined} or id::text = ${monitor ?? ''}`;
  const probes = await sql<ProbeRow[]>`
    select key, id, name, continent, organisation_id is not null as is_private from probes`;
  return {
    monitors,
    probes: new Map(probes.map((row) => [row.key, row])),
    unsealed: createUnsealedHours({ sql, log }),
  };
};

const storedOf = (
  { id, key, type, partition }: MonitorRow,
  check: Check,
  probes: ReadonlyMap<number, ProbeRow>,
): StoredCheck => {
  const probe = probes.get(check.probe);
  if (!probe) throw new Error(`a check is of the unknown probe ${check.probe}`);
  const { continent, is_private } = probe;
  return {
    ...check,
    monitor: id,
    key,
    type,
    partition,
    probe: probe.name,
    probe_id: probe.id,
    continent,
    is_private,
  };
};

/**
 * Stores checks of a monitor by this probe and the public ones wherever checks can be: an hour of a
 * day that is over as a chunk, with the row of its day; a failure of the hour before in
 * a chunk; and passes of the last minutes in the journal.
 */
export const storeEverywhere = async (
  sql: Sql,
  monitor: string,
  probe: string,
  now: number,
): Promise<void> => {
  const day = Math.floor(now / dayMs - 2) * dayMs;
  await makeResultDays(sql, day, now + 1);
  await makeJournalHours(sql, now, now + 1);
  const [{ key, partition } = { key: 0, partition: 0 }] = await sql<MonitorRow[]>`
    select key, partition from monitors where id = ${monitor}`;
  const probes = await sql<{ key: number }[]>`
    select key from probes where id = ${probe} or organisation_id is null order by key`;
  const checks = minuteChecks(day, 60_000).map((check, nth) => ({
    ...check,
    probe: probes[nth % probes.length]?.key ?? 0,
  }));
  await storeChecks(sql, key, checks);
  while (
    await sql.begin((transaction) =>
      makeDays(transaction, { now: now + hourMs, batchSize: 9, log }),
    )
  );
  for (const of of probes) {
    const failure = { probe: of.key, took_ms: 5, outcome: 'fail', cause: 'timeout' } as const;
    await storeChecks(sql, key, [{ ...failure, at: now - hourMs }]);
    const head = { probe: newId(), generation: newId(), partition, after: null };
    const result = { monitor, config_version: 1, at: now - 60_000, took_ms: 40 };
    const more = { outcome: 'ok', cause: null, phases: null, evidence: null, look: null } as const;
    const sent = Buffer.from(batchText(head, [wholeText(1, { ...result, ...more })]));
    const batch = readBatch(JSON.parse(sent.toString()));
    if (!batch) throw new Error('no batch');
    const row = {
      arrival: hourOf(now),
      partition,
      probe: of.key,
      counts: { ok: 1, fail: 0, unknown: 0 },
      oldest: now,
    };
    const data = packBatch(sent, batch, [key]);
    await insertJournal(sql, [{ ...row, data, signature: null, digests: null }])[0];
  }
};
