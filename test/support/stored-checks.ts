import type { Queryable, Sql } from '../../coordinator/database/connect.ts';
import type { Check } from '../../coordinator/results/check.ts';
import { chunksOf, hourMs, hourOf } from '../../coordinator/results/chunk.ts';
import { dayMs, makeDays } from '../../coordinator/results/days.ts';
import { insertJournal, makeJournalHours } from '../../coordinator/results/journal.ts';
import { packBatch } from '../../coordinator/results/packed-batch.ts';
import { createResults, noUnsealedHours } from '../../coordinator/results/reading.ts';
import { makeResultDays } from '../../coordinator/results/table.ts';
import { createUnsealedHours } from '../../coordinator/results/unsealed-hours.ts';
import type { Continent } from '../../shared/base/continents.ts';
import { newId } from '../../shared/base/crypto.ts';
import { createLog } from '../../shared/base/log.ts';
import { systemClock } from '../../shared/base/time.ts';
import { batchText, readBatch, wholeText } from '../../shared/bus/batch.ts';
import { minuteChecks } from './checks.ts';

const log = createLog({ name: 'checks', level: 'silent' });

/** Reads what is in rows and chunks. */
export const stored = createResults({ unsealed: noUnsealedHours, clock: systemClock, log });

export type StoredCheck = Omit<Check, 'probe'> & {
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
  const results = createResults({ unsealed, clock: systemClock, log });
  const to = Date.now() + 86_400_000;
  const checks = await results.within(
    sql,
    monitors.map(({ key, partition }) => ({ key, partition, from: since, to })),
  );
  return monitors
    .flatMap((row, nth) => (checks[nth] ?? []).map((check) => storedOf(row, check, probes)))
    .sort((a, b) => a.at - b.at);
};

/** Those that the journal, or the table of rows, has more than once. */
export const repeatedChecks = async (sql: Queryable): Promise<StoredCheck[]> => {
  const { monitors, probes, unsealed } = await known(sql);
  await unsealed.refresh(monitors.map(({ partition }) => partition));
  const rows = await sql<{ key: number; at: Date; probe: number }[]>`
    select monitor_key as key, at, probe_key as probe from results
    group by 1, 2, 3 having count(*) > 1`;
  return monitors.flatMap((row) => {
    const names = new Set<string>();
    const repeated: Check[] = [];
    for (const check of unsealed.newestOf(row.partition, row.key)) {
      const name = `${check.probe} ${check.at}`;
      if (names.has(name)) repeated.push(check);
      names.add(name);
    }
    for (const { at, probe } of rows.filter(({ key }) => key === row.key))
      repeated.push({
        at: at.getTime(),
        probe,
        took_ms: 0,
        outcome: 'unknown',
        cause: null,
        phases: null,
      });
    return repeated.map((check) => storedOf(row, check, probes));
  });
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
 * day that is over as a chunk, with the row of its day and a rollup; failures of the last hours as
 * rows; and passes of the last minutes in the journal.
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
  for (const { at, data } of chunksOf(day, checks))
    await sql`insert into chunks (monitor_key, at, data)
      values (${key}, ${new Date(at)}, ${Buffer.from(data)})`;
  while (
    await sql.begin((transaction) =>
      makeDays(transaction, { now: now + hourMs, batchSize: 9, log }),
    )
  );
  await sql`insert into rollups
    (monitor_key, continent, hour, ok, failed, unknown, took_sum, took_min, took_max)
    values (${key}, 'Europe', ${new Date(day)}, 60, 0, 0, 6000, 90, 110)`;
  for (const of of probes) {
    await sql`insert into results (monitor_key, at, probe_key, took_ms, outcome, cause_class)
      values (${key}, ${new Date(now - hourMs)}, ${of.key}, 5, 1, 'timeout')`;
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
      checks: 1,
      passes: 1,
      oldest: now,
    };
    const data = packBatch(sent, batch, [key]);
    await insertJournal(sql, [{ ...row, data, signature: null, digests: null }])[0];
  }
};
