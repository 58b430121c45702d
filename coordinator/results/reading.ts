import type { Log } from '../../shared/base/log.ts';
import type { Clock, Interval } from '../../shared/base/time.ts';
import type { Phases } from '../../shared/checks/result.ts';
import type { Queryable } from '../database/connect.ts';
import { type Check, outcomeOf, unionOf } from './check.ts';
import { hourOf, readChunk } from './chunk.ts';
import { createHourlyMeans, type HourlyMeans } from './hourly-means.ts';

/**
 * The one reader of stored checks. A check is a row, in a chunk, in the unsealed hours, or in
 * several of them: what is read is the union. The unsealed hours are read first, because sealing
 * moves checks from them to chunks: one that is seen twice counts once, and none is missed.
 */
export type Results = {
  /** The checks of each window, oldest first. */
  readonly within: (
    sql: Queryable,
    windows: readonly MonitorWindow[],
  ) => Promise<readonly (readonly Check[])[]>;
  /** Those of its checks in a window that may be in no chunk yet. */
  readonly recent: (monitor: MonitorKey, window: Interval) => Promise<readonly Check[]>;
  /** Logs, once, what is wrong with the row of a monitor's day. */
  readonly reportDay: (monitor: number, day: number, fault: string) => void;
  /** The newest checks of each monitor since a time, newest first, by its key. */
  readonly newest: (
    sql: Queryable,
    monitors: readonly MonitorKey[],
    wanted: Wanted,
  ) => Promise<ReadonlyMap<number, readonly Check[]>>;
  /**
   * When each monitor was last checked with a verdict, by its key, given the newest row's time
   * (`newestRowAt`). What the unsealed hours know needs no statement.
   */
  readonly newestAt: (
    sql: Queryable,
    monitors: readonly (MonitorKey & { readonly last_result_at: number | null })[],
  ) => Promise<ReadonlyMap<number, number | null>>;
  readonly hourlyMeans: HourlyMeans;
};

/** Checks that are committed and may be in no chunk yet. */
export type UnsealedHours = {
  /** Brings these partitions up to what is committed. */
  readonly refresh: (partitions: readonly number[]) => Promise<void>;
  /** Oldest first. After refresh(). */
  readonly checksOf: (
    partition: number,
    monitor: number,
    from: number,
    to: number,
  ) => readonly Check[];
  /** Newest first. After refresh(). */
  readonly newestOf: (partition: number, monitor: number) => Iterable<Check>;
};

/** Where every check is in a row or a chunk. */
export const noUnsealedHours: UnsealedHours = {
  refresh: async () => undefined,
  checksOf: () => [],
  newestOf: () => [],
};

export type MonitorWindow = MonitorKey & Interval;

export type MonitorKey = { readonly key: number; readonly partition: number };

type Wanted = {
  readonly since: number;
  readonly limit: number;
  /** Whether failures count, or passes alone; `unknown` never does. */
  readonly failures: boolean;
};

/** In a statement about monitors: when the newest row with a verdict was checked. */
export function newestRowAt(sql: Queryable, key: string) {
  return newestRow(sql, sql`r.monitor_key = ${sql.unsafe(key)} and r.outcome < 2`);
}

/** The same of failures, which all have rows. */
export function newestFailureAt(sql: Queryable, key: string) {
  return newestRow(sql, sql`r.monitor_key = ${sql.unsafe(key)} and r.outcome = 1`);
}

function newestRow(sql: Queryable, condition: ReturnType<Queryable>) {
  return sql`(
  select (date_part('epoch', r.at) * 1000)::bigint from results r
  where ${condition} order by r.at desc limit 1)`;
}

/** Chunks of an hour are written when it has been over for so long. */
const sealedAfterMs = 120_000;
/** A day's: as far back as a monitor whose checks are all `unknown` is asked for its last verdict. */
const mostChunks = 24;
/** Monitors that are read in one statement. */
const atOnce = 1_000;

export function createResults({
  unsealed,
  clock,
  log,
  onDamage = () => undefined,
}: {
  readonly unsealed: UnsealedHours;
  readonly clock: Clock;
  readonly log: Pick<Log, 'error'>;
  /** Called for each damaged chunk that is read, with its monitor. */
  readonly onDamage?: (monitor: number) => unknown;
}): Results {
  const report = createDamageReport(log);

  const refresh = async (monitors: readonly MonitorKey[]): Promise<void> => {
    const partitions = new Set(monitors.map(({ partition }) => partition));
    if (partitions.size > 0) await unsealed.refresh([...partitions]);
  };

  const checksIn = ({ key, rows, chunks }: StoredRow): Check[] =>
    unionOf(
      (rows ?? []).map(checkOf),
      ...(chunks ?? []).map(([at, data]) => {
        const { checks, fault } = readChunk(at, Buffer.from(data, 'base64'));
        if (fault !== null) {
          report('a chunk', key, at, fault);
          onDamage(key);
        }
        return checks;
      }),
    );

  const newestStored: NewestStored = async (sql, monitors, limits) => {
    const found = new Map<number, readonly Check[]>();
    for (const batch of batchesOf(monitors))
      for (const row of await newestRows(sql, batch, limits)) found.set(row.key, checksIn(row));
    return found;
  };

  const within: Results['within'] = async (sql, windows) => {
    await refresh(windows);
    const recent = windows.map(({ key, partition, from, to }) =>
      unsealed.checksOf(partition, key, from, to),
    );
    const all: (readonly Check[])[] = [];
    for (const batch of batchesOf(windows))
      for (const [nth, row] of (await rowsWithin(sql, batch)).entries()) {
        const { from, to } = batch[nth] ?? { from: 0, to: 0 };
        const stored = checksIn(row).filter(({ at }) => at >= from && at < to);
        all.push(unionOf(recent[all.length] ?? [], stored));
      }
    return all;
  };

  const newest: Results['newest'] = async (sql, monitors, { since, limit, failures }) => {
    await refresh(monitors);
    const isWanted = ({ at, outcome }: Check): boolean =>
      at >= since && (outcome === 'ok' || (failures && outcome === 'fail'));
    const found = new Map<number, readonly Check[]>();
    const wanting: (MonitorKey & { readonly after: number })[] = [];
    for (const monitor of monitors) {
      const recent = newestOf(unsealed, monitor, isWanted, limit);
      found.set(monitor.key, recent);
      if (recent.length < limit) wanting.push({ ...monitor, after: since });
    }
    // Hours have many checks, unless it is checked seldom.
    const limits = { rows: limit, chunks: Math.min(limit, 8), failures };
    for (const [key, stored] of await newestStored(sql, wanting, limits))
      found.set(
        key,
        unionOf(found.get(key) ?? [], stored.filter(isWanted))
          .reverse()
          .slice(0, limit),
      );
    return found;
  };

  const newestAt: Results['newestAt'] = async (sql, monitors) => {
    await refresh(monitors);
    const firstUnsealed = hourOf(clock.now() - sealedAfterMs);
    const found = new Map<number, number | null>();
    let wanting: { readonly key: number; readonly after: number }[] = [];
    for (const monitor of monitors) {
      const { key, last_result_at } = monitor;
      const recent = newestOf(unsealed, monitor, hasVerdict, 1)[0]?.at ?? null;
      found.set(key, latest(recent, last_result_at));
      // No chunk has anything newer than the hour that runs.
      if (recent === null && (last_result_at === null || last_result_at < firstUnsealed))
        wanting.push({ key, after: last_result_at ?? 0 });
    }
    for (const chunks of [1, mostChunks]) {
      const stored = await newestStored(sql, wanting, { rows: 0, chunks, failures: true });
      wanting = wanting.filter(({ key }) => {
        const checks = stored.get(key) ?? [];
        const last = checks.findLast(hasVerdict)?.at ?? null;
        found.set(key, latest(found.get(key) ?? null, last));
        return last === null && checks.length > 0;
      });
    }
    return found;
  };

  return {
    within,
    newest,
    newestAt,
    hourlyMeans: createHourlyMeans(),
    reportDay: (key, day, fault) => report('the summary of a day', key, day, fault),
    recent: async (monitor, { from, to }) => {
      await refresh([monitor]);
      return unsealed.checksOf(monitor.partition, monitor.key, from, to);
    },
  };
}

function hasVerdict({ outcome }: Check): boolean {
  return outcome !== 'unknown';
}

function latest(one: number | null, other: number | null): number | null {
  return one === null ? other : Math.max(one, other ?? one);
}

function* batchesOf<Item>(items: readonly Item[]): Generator<readonly Item[]> {
  for (let from = 0; from < items.length; from += atOnce) yield items.slice(from, from + atOnce);
}

function newestOf(
  unsealed: UnsealedHours,
  { key, partition }: MonitorKey,
  isWanted: (check: Check) => boolean,
  limit: number,
): Check[] {
  const found: Check[] = [];
  for (const check of unsealed.newestOf(partition, key)) {
    if (isWanted(check)) found.push(check);
    if (found.length === limit) break;
  }
  return found;
}

/** A monitor's rows, and its chunks with their time. */
type StoredRow = {
  readonly key: number;
  readonly rows: readonly PackedCheck[] | null;
  readonly chunks: readonly (readonly [at: number, data: string])[] | null;
};

type PackedCheck = readonly [
  probe: number,
  at: number,
  took_ms: number,
  outcome: number,
  cause: string | null,
  phases: readonly (number | null)[] | null,
];

function checkOf([probe, at, took_ms, outcome, cause, phases]: PackedCheck): Check {
  return { probe, at, took_ms, outcome: outcomeOf(outcome), cause, phases: phasesOf(phases) };
}

function phasesOf(phases: PackedCheck[5]): Phases | null {
  const [dns = null, tcp = null, tls = null, first_byte = null, total = null] = phases ?? [];
  const isEmpty = [dns, tcp, tls, first_byte, total].every((each) => each === null);
  return isEmpty ? null : { dns, tcp, tls, first_byte, total };
}

function rowsWithin(sql: Queryable, windows: readonly MonitorWindow[]): Promise<StoredRow[]> {
  return sql<StoredRow[]>`
    select w.key,
      (select ${packedRows(sql)} from results r where r.monitor_key = w.key
        and r.at >= ${timeOf(sql, 'w.since')} and r.at < ${timeOf(sql, 'w.until')}) as rows,
      (select ${packedChunks(sql)} from chunks c where c.monitor_key = w.key
        and c.at >= ${timeOf(sql, 'w.hour')} and c.at < ${timeOf(sql, 'w.until')}) as chunks
    from unnest(${windows.map(({ key }) => key)}::bigint[],
      ${windows.map(({ from }) => from)}::float8[],
      ${windows.map(({ from }) => hourOf(from))}::float8[],
      ${windows.map(({ to }) => to)}::float8[])
      with ordinality as w (key, since, hour, until, nth)
    order by w.nth`;
}

function packedRows(sql: Queryable) {
  return sql`json_agg(json_build_array(r.probe_key,
  (date_part('epoch', r.at) * 1000)::bigint, r.took_ms, r.outcome, r.cause_class, r.phases))`;
}

function timeOf(sql: Queryable, column: string) {
  return sql`to_timestamp(${sql.unsafe(column)} / 1000.0)`;
}

function packedChunks(sql: Queryable) {
  return sql`json_agg(json_build_array(
  (date_part('epoch', c.at) * 1000)::bigint, encode(c.data, 'base64')))`;
}

/** The checks that have rows, for those who make chunks of them. */
export async function storedRows(
  sql: Queryable,
  keys: readonly number[],
  { from, to }: Interval,
): Promise<readonly { readonly key: number; readonly checks: readonly Check[] }[]> {
  const rows = await sql<Omit<StoredRow, 'chunks'>[]>`
    select w.key, (select ${packedRows(sql)} from results r where r.monitor_key = w.key
      and r.at >= ${new Date(from)} and r.at < ${new Date(to)}) as rows
    from unnest(${keys}::bigint[]) as w (key)`;
  return rows.map(({ key, rows: packed }) => ({ key, checks: (packed ?? []).map(checkOf) }));
}

type Limits = { readonly rows: number; readonly chunks: number; readonly failures: boolean };

type NewestStored = (
  sql: Queryable,
  monitors: readonly { readonly key: number; readonly after: number }[],
  limits: Limits,
) => Promise<ReadonlyMap<number, readonly Check[]>>;

/** Chunks only where they may have something newer than the rows. */
function newestRows(
  sql: Queryable,
  monitors: readonly { readonly key: number; readonly after: number }[],
  { rows, chunks, failures }: Limits,
): Promise<StoredRow[]> {
  return sql<StoredRow[]>`
    select w.key, n.rows, h.chunks
    from unnest(${monitors.map(({ key }) => key)}::bigint[],
        ${monitors.map(({ after }) => after)}::float8[]) as w (key, after)
      cross join lateral (
        select ${packedRows(sql)} as rows, case when count(*) = ${rows} then min(r.at) end as last
        from (select * from results r where r.monitor_key = w.key
          and r.at >= ${timeOf(sql, 'w.after')} and r.outcome <= ${failures ? 1 : 0}
          order by r.at desc ${limited(sql, rows)}) r) n
      cross join lateral (
        select ${packedChunks(sql)} as chunks
        from (select * from chunks c where c.monitor_key = w.key
          and c.at > coalesce(n.last, ${timeOf(sql, 'w.after')}) - interval '1 hour'
          order by c.at desc ${limited(sql, chunks)}) c) h`;
}

/** A literal of the statement: with a parameter it would be planned again each time. */
function limited(sql: Queryable, limit: number) {
  return sql`limit ${sql.unsafe(String(limit))}`;
}

/** What is damaged is read often, and reported once. */
const maxReported = 10_000;

function createDamageReport(
  log: Pick<Log, 'error'>,
): (what: string, key: number, at: number, fault: string) => void {
  const reported = new Set<string>();
  return (what, key, at, fault) => {
    const name = `${what} ${key} ${at}`;
    if (reported.has(name) || reported.size >= maxReported) return;
    reported.add(name);
    log.error(
      { monitor_key: key, at: new Date(at).toISOString(), fault },
      `${what} of results is damaged: what is readable of it counts; restore it from a backup, or delete it`,
    );
  };
}
