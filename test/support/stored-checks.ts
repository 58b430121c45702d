import type { Queryable } from '../../coordinator/database/connect.ts';
import type { Check } from '../../coordinator/results/check.ts';
import { createResults, noRunningHours } from '../../coordinator/results/reading.ts';
import { createRunningHours } from '../../coordinator/results/running.ts';
import type { Continent } from '../../shared/base/continents.ts';
import { createLog } from '../../shared/base/log.ts';
import { systemClock } from '../../shared/base/time.ts';

const log = createLog({ name: 'checks', level: 'silent' });

/** Reads what is in rows and chunks. */
export const stored = createResults({ running: noRunningHours, clock: systemClock, log });

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
  const { monitors, probes, running } = await known(sql, monitor);
  const results = createResults({ running, clock: systemClock, log });
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
  const { monitors, probes, running } = await known(sql);
  await running.refresh(monitors.map(({ partition }) => partition));
  const rows = await sql<{ key: number; at: Date; probe: number }[]>`
    select monitor_key as key, at, probe_key as probe from results
    group by 1, 2, 3 having count(*) > 1`;
  return monitors.flatMap((row) => {
    const names = new Set<string>();
    const repeated: Check[] = [];
    for (const check of running.newestOf(row.partition, row.key)) {
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
    running: createRunningHours({ sql, log }),
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
