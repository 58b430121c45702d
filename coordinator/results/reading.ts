import type { Log } from '../../shared/base/log.ts';
import type { Interval } from '../../shared/base/time.ts';
import type { Outcome } from '../../shared/checks/result.ts';
import type { Queryable } from '../database/connect.ts';
import { limited } from '../database/sql.ts';
import { type Check, unionOf } from './check.ts';
import { hourMs, hourOf, quarterMs, readChunk } from './chunk.ts';
import { createHourlyMeans, type HourlyMeans } from './hourly-means.ts';

/**
 * The one reader of stored checks. A check is in a chunk, in the unsealed hours, or in both: what is
 * read is the union. The unsealed hours are read first, because sealing moves checks from them to
 * chunks: one that is seen twice counts once, and none is missed.
 */
export type Results = {
  /** The checks of each window, oldest first. */
  readonly within: (
    sql: Queryable,
    windows: readonly MonitorWindow[],
  ) => Promise<readonly (readonly Check[])[]>;
  /** Logs, once, what is wrong with the row of a monitor's day. */
  readonly reportDay: (monitor: number, day: number, fault: string) => void;
  /** The newest checks of each monitor since a time, newest first, by its key. */
  readonly newest: (
    sql: Queryable,
    monitors: readonly MonitorKey[],
    wanted: Wanted,
  ) => Promise<ReadonlyMap<number, readonly Check[]>>;
  /**
   * The last check of each monitor with a verdict, by its key. What the unsealed hours know needs no
   * statement.
   */
  readonly lastVerdicts: (
    sql: Queryable,
    monitors: readonly MonitorKey[],
  ) => Promise<ReadonlyMap<number, Check>>;
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

/** Where every check is in a chunk. */
export const noUnsealedHours: UnsealedHours = {
  refresh: async () => undefined,
  checksOf: () => [],
  newestOf: () => [],
};

export type MonitorWindow = MonitorKey & Interval;

type StoredWindow = Omit<MonitorWindow, 'partition'>;

export type MonitorKey = { readonly key: number; readonly partition: number };

type Wanted = {
  readonly since: number;
  readonly limit: number;
  readonly outcomes: readonly Outcome[];
  /** How many chunks of each are read at most. Hours have many checks, unless it is checked seldom. */
  readonly chunks: number;
};

/** As far back as a monitor whose checks are all `unknown` is asked for its last verdict: at least six hours, where an hour takes four. */
const mostChunks = 24;
/** Monitors that are read in one statement. */
const atOnce = 1_000;

export function createResults({
  unsealed,
  log,
  onDamage = () => undefined,
}: {
  readonly unsealed: UnsealedHours;
  readonly log: Pick<Log, 'error'>;
  /** Called for each damaged chunk that is read, with its monitor. */
  readonly onDamage?: (monitor: number, at: number) => unknown;
}): Results {
  const report = createDamageReport(log);

  const refresh = async (monitors: readonly MonitorKey[]): Promise<void> => {
    const partitions = new Set(monitors.map(({ partition }) => partition));
    if (partitions.size > 0) await unsealed.refresh([...partitions]);
  };

  const checksIn = ({ key, chunks }: StoredChunks): Check[] =>
    unionOf(
      ...(chunks ?? []).map(([at, data]) => {
        const { checks, fault } = readChunk(at, Buffer.from(data, 'base64'));
        if (fault !== null) {
          report('a chunk', key, at, fault);
          onDamage(key, at);
        }
        return checks;
      }),
    );

  /** Of what is in chunks alone. */
  const storedWithin = async (
    sql: Queryable,
    windows: readonly StoredWindow[],
  ): Promise<readonly (readonly Check[])[]> => {
    const all: (readonly Check[])[] = [];
    for (const batch of batchesOf(windows))
      for (const [nth, row] of (await chunksWithin(sql, batch)).entries()) {
        const { from, to } = batch[nth] ?? { from: 0, to: 0 };
        all.push(checksIn(row).filter(({ at }) => at >= from && at < to));
      }
    return all;
  };

  const within: Results['within'] = async (sql, windows) => {
    await refresh(windows);
    const recent = windows.map(({ key, partition, from, to }) =>
      unsealed.checksOf(partition, key, from, to),
    );
    const stored = await storedWithin(sql, windows);
    return stored.map((checks, nth) => unionOf(recent[nth] ?? [], checks));
  };

  const newestStored = async (
    sql: Queryable,
    monitors: readonly MonitorKey[],
    since: number,
    chunks: number,
  ): Promise<readonly { readonly key: number; readonly checks: readonly Check[] }[]> => {
    const found = [];
    for (const batch of batchesOf(monitors))
      for (const row of await newestChunks(sql, batch, since, chunks))
        found.push({ key: row.key, checks: checksIn(row) });
    return found;
  };

  const newest: Results['newest'] = async (sql, monitors, wanted) => {
    await refresh(monitors);
    const { since, limit, outcomes, chunks } = wanted;
    const isWanted = ({ at, outcome }: Check): boolean => at >= since && outcomes.includes(outcome);
    const found = new Map<number, readonly Check[]>();
    for (const monitor of monitors)
      found.set(monitor.key, newestOf(unsealed, monitor, isWanted, limit));
    const wanting = monitors.filter(({ key }) => (found.get(key)?.length ?? 0) < limit);
    for (const { key, checks } of await newestStored(sql, wanting, since, chunks))
      found.set(
        key,
        unionOf(found.get(key) ?? [], checks.filter(isWanted))
          .reverse()
          .slice(0, limit),
      );
    return found;
  };

  const lastVerdicts: Results['lastVerdicts'] = async (sql, monitors) => {
    await refresh(monitors);
    const found = new Map<number, Check>();
    for (const monitor of monitors) {
      const [check] = newestOf(unsealed, monitor, hasVerdict, 1);
      if (check) found.set(monitor.key, check);
    }
    let wanting = monitors.filter(({ key }) => !found.has(key));
    for (const chunks of [1, mostChunks]) {
      const undecided = new Set<number>();
      for (const { key, checks } of await newestStored(sql, wanting, 0, chunks)) {
        const check = checks.findLast(hasVerdict);
        if (check) found.set(key, check);
        else if (checks.length > 0) undecided.add(key);
      }
      wanting = wanting.filter(({ key }) => undecided.has(key));
    }
    return found;
  };

  return {
    within,
    newest,
    lastVerdicts,
    hourlyMeans: createHourlyMeans(storedWithin),
    reportDay: (key, day, fault) => report('the summary of a day', key, day, fault),
  };
}

function hasVerdict({ outcome }: Check): boolean {
  return outcome !== 'unknown';
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

/** A monitor's chunks, with their time. */
type StoredChunks = {
  readonly key: number;
  readonly chunks: readonly (readonly [at: number, data: string])[] | null;
};

/** Up to the end of a quarter, because a chunk may stand a little after its time (chunksOf). */
function chunksWithin(sql: Queryable, windows: readonly StoredWindow[]): Promise<StoredChunks[]> {
  return sql<StoredChunks[]>`
    select w.key,
      (select ${packedChunks(sql)} from chunks c where c.monitor_key = w.key
        and c.at >= ${timeOf(sql, 'w.hour')} and c.at < ${timeOf(sql, 'w.until')}) as chunks
    from unnest(${windows.map(({ key }) => key)}::bigint[],
      ${windows.map(({ from }) => hourOf(from))}::float8[],
      ${windows.map(({ to }) => Math.ceil(to / quarterMs) * quarterMs)}::float8[])
      with ordinality as w (key, hour, until, nth)
    order by w.nth`;
}

function timeOf(sql: Queryable, column: string) {
  return sql`to_timestamp(${sql.unsafe(column)} / 1000.0)`;
}

function packedChunks(sql: Queryable) {
  return sql`json_agg(json_build_array(
  (date_part('epoch', c.at) * 1000)::bigint, encode(c.data, 'base64')))`;
}

/** The newest chunks of each monitor that may have checks since a time. */
function newestChunks(
  sql: Queryable,
  monitors: readonly MonitorKey[],
  since: number,
  limit: number,
): Promise<StoredChunks[]> {
  return sql<StoredChunks[]>`
    select w.key, h.chunks
    from unnest(${monitors.map(({ key }) => key)}::bigint[]) as w (key)
      cross join lateral (
        select ${packedChunks(sql)} as chunks
        from (select * from chunks c where c.monitor_key = w.key
          and c.at > ${new Date(since - hourMs)}
          order by c.at desc ${limited(sql, limit)}) c) h`;
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
