import { mkdir, readdir, rm, stat, statfs } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { codeOf } from '../../shared/base/errors.ts';
import { keptOfOutput, pingHeartbeat } from '../../shared/base/heartbeat.ts';
import type { Clock } from '../../shared/base/time.ts';
import { connect, longWork, type Sql } from '../database/connect.ts';
import { migrate } from '../database/migrate.ts';
import { withAdvisoryLock } from '../database/sql.ts';
import { backupHeader, readBackup } from './restore.ts';
import { NoBackup, resultsSpan, writeBackup } from './write.ts';

/**
 * A backup is proven only by restoring it. The drill restores one into a scratch database, counts
 * its content, finds the age of its newest result, and drops the scratch. Restoring also checks the
 * file's own sum and row count.
 */

type DrillResult = {
  readonly tables: number;
  readonly rows: number;
  readonly made_at: string;
  readonly newest: string | null;
};

/** Beside the database itself, or on the server that is configured for drills. */
export function scratchName(databaseUrl: string): string {
  return `${nameIn(databaseUrl).slice(0, 45)}_restore_drill`;
}

function nameIn(url: string): string {
  return decodeURIComponent(new URL(url).pathname.slice(1));
}

/** @throws NoBackup with the problem. */
async function drill(
  databaseUrl: string,
  trialUrl: string | undefined,
  file: string,
): Promise<DrillResult> {
  const header = await backupHeader(file);
  const server = trialUrl ?? databaseUrl;
  const scratch = scratchName(databaseUrl);
  const admin = connect(server, {
    name: 'antipode restore drill',
    connections: 1,
    patience: longWork,
  });
  const drop = () => admin`drop database if exists ${admin(scratch)} with (force)`;
  try {
    // A killed drill leaves its scratch database.
    await drop();
    await admin`create database ${admin(scratch)}`.catch((error: unknown) => {
      if (codeOf(error) !== '42501') throw error;
      throw new NoBackup(
        'no drill is possible: this user may create no databases there. Grant it CREATEDB, or name another server as BACKUP_TRIAL_URL',
      );
    });
    const url = Object.assign(new URL(server), {
      pathname: `/${encodeURIComponent(scratch)}`,
    }).href;
    const sql = connect(url, {
      name: 'antipode restore drill',
      connections: 2,
      patience: longWork,
    });
    try {
      await migrate(sql);
      const counted = new Map<string, number>();
      const done = await readBackup(sql, file, false, (table, rows) => counted.set(table, rows));
      await countAll(sql, counted);
      return { ...done, made_at: header.made_at, newest: await newestOf(sql, header) };
    } finally {
      await sql.end({ timeout: 5 });
      await drop();
    }
  } finally {
    await admin.end({ timeout: 5 });
  }
}

async function countAll(sql: Sql, counted: ReadonlyMap<string, number>): Promise<void> {
  for (const [table, rows] of counted) {
    const [row] = await sql<{ count: number }[]>`select count(*) as count from ${sql(table)}`;
    if (row?.count !== rows)
      throw new NoBackup(`restored, ${table} has ${row?.count ?? 0} rows and not ${rows}`);
  }
}

/**
 * Active monitors give results all the time. A backup without a result of the last day is of
 * another database, or of one that stores nothing.
 */
const maxSilentMs = 86_400_000;

/** @returns the time of the newest result, or of the end of the newest day of results. */
async function newestOf(
  sql: Sql,
  { made_at, results }: Awaited<ReturnType<typeof backupHeader>>,
): Promise<string | null> {
  const [row] = await sql<{ until: number | null; watched_since: number | null }[]>`
    select (select max(day) + 1 from days) as until, (select min(created_at) from monitors
        where enabled and type <> 'heartbeat') as watched_since`;
  const result = (await resultsSpan(sql))?.to ?? null;
  if (results && result !== results.to)
    throw new NoBackup(
      `restored, its newest result is of ${result === null ? 'never' : iso(result)} and not of ${iso(results.to)}`,
    );
  const newest = result ?? row?.until ?? null;
  const since = newest ?? row?.watched_since ?? null;
  if (row?.watched_since && since !== null && Date.parse(made_at) - since > maxSilentMs)
    throw new NoBackup(
      newest === null
        ? 'monitors are watched, and it holds no result'
        : `its newest result is of ${iso(newest)}, more than a day before it was made`,
    );
  return newest === null ? null : iso(newest);
}

function iso(at: number): string {
  return new Date(at).toISOString();
}

/**
 * Pings a heartbeat when a run begins and ends. Best use one at another installation, which is
 * there when this one is not.
 */
type Heartbeat = {
  readonly began: () => Promise<void>;
  readonly ended: (isWell: boolean, output: string) => Promise<void>;
};

const attempts = 3;

/** A failed ping is reported, and does not stop the backup. */
function createHeartbeat(address: string | undefined, warn: (text: string) => void): Heartbeat {
  const tell = async (ending: string, output: string): Promise<void> => {
    if (address === undefined) return;
    const fault = await pingHeartbeat(
      `${address.replace(/\/+$/, '')}${ending}`,
      output.slice(-keptOfOutput),
      attempts,
    );
    if (fault !== undefined) warn(`the heartbeat could not be told: ${fault}\n`);
  };
  return {
    began: () => tell('/start', ''),
    ended: (isWell, output) => tell(isWell ? '' : '/fail', output),
  };
}

const dayMs = 86_400_000;

/**
 * A folder of backups: which are there, which may be deleted, and whether there is space for
 * another.
 */
type BackupFile = { readonly file: string; readonly at: number };

/** The order of names is the order of time. */
function nameOf(at: number): string {
  return `antipode-${new Date(at).toISOString().replaceAll(/[-:]|\.\d+/g, '')}.backup`;
}

/**
 * Undefined for every file that is not a complete backup of ours; an incomplete one has another
 * name.
 */
function timeOf(name: string): number | undefined {
  const [, day, time] = /^antipode-(\d{8})T(\d{6})Z\.backup$/.exec(name) ?? [];
  if (day === undefined || time === undefined) return undefined;
  const at = Date.parse(
    `${day.replace(/(....)(..)/, '$1-$2-')}T${time.replace(/(..)(..)/, '$1:$2:')}Z`,
  );
  return Number.isNaN(at) ? undefined : at;
}

/** Complete backups, the newest first. */
async function listKept(folder: string): Promise<readonly BackupFile[]> {
  return (await readdir(folder))
    .flatMap((name) => {
      const at = timeOf(name);
      return at === undefined ? [] : [{ file: join(folder, name), at }];
    })
    .toSorted((one, other) => other.at - one.at);
}

/** Deletes what a killed run left. Only the holder of the folder's lock may call this. */
async function deletePartialBackups(folder: string): Promise<readonly string[]> {
  const halves = (await readdir(folder)).filter(
    (name) => name.endsWith('.partial') && timeOf(name.slice(0, -'.partial'.length)) !== undefined,
  );
  for (const name of halves) await rm(join(folder, name), { force: true });
  return halves;
}

/** Those older than `days`, but never the newest. */
function tooOld(kept: readonly BackupFile[], days: number, now: number): readonly BackupFile[] {
  return kept.slice(1).filter(({ at }) => at < now - days * dayMs);
}

class NotEnoughSpace extends Error {
  constructor(folder: string, free: number, needed: number) {
    const mb = (bytes: number): string => `${Math.ceil(bytes / 1e6)} MB`;
    super(
      `the disk of ${folder} would be full: ${mb(free)} are free, ${mb(needed)} are wanted. Make room, keep fewer days (--keep-days), or leave raw results out (--without-results).`,
    );
    this.name = 'NotEnoughSpace';
  }
}

type FreeBytes = (folder: string) => Promise<number>;

/** The space that a user without privileges may use. */
const freeBytes: FreeBytes = async (folder) => {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
};

/** @throws NotEnoughSpace where another backup like the newest would leave less than `reserve`. */
async function requireDiskSpace(folder: string, reserve: number, free: FreeBytes): Promise<void> {
  const [newest] = await listKept(folder);
  const needed = reserve + (newest === undefined ? 0 : (await stat(newest.file)).size);
  const there = await free(folder);
  if (there < needed) throw new NotEnoughSpace(folder, there, needed);
}

/**
 * One run: writes a backup into the folder, restores it as a drill, deletes old ones, and pings a
 * heartbeat.
 */
type BackupSettings = {
  readonly databaseUrl: string;
  /** A server for drills; without it the scratch database lies beside the real one. */
  readonly trialUrl: string | undefined;
  readonly heartbeat: string | undefined;
};

export type BackupOptions = {
  readonly folder: string;
  readonly keepDays: number;
  readonly withResults: boolean;
  /** How much disk space stays free for others. */
  readonly reserveBytes: number;
};

export type Backups = {
  readonly nightly: (options: BackupOptions) => Promise<Nightly>;
  /** Drills the newest backup in the folder. */
  readonly drillNewest: (
    folder: string,
    tells: boolean,
  ) => Promise<DrillResult & { readonly file: string }>;
};

type Nightly = {
  readonly file: string;
  readonly bytes: number;
  readonly drill: DrillResult;
  readonly dropped: readonly string[];
};

type Dependencies = {
  readonly sql: Sql;
  readonly settings: BackupSettings;
  readonly clock: Clock;
  readonly warn: (text: string) => void;
  readonly free?: FreeBytes;
  readonly tryOut?: typeof drill;
};

export function createBackups({
  sql,
  settings,
  clock,
  warn,
  free = freeBytes,
  tryOut = drill,
}: Dependencies): Backups {
  const { databaseUrl, trialUrl } = settings;

  const work = async (
    { folder, keepDays, withResults, reserveBytes }: BackupOptions,
    say: (line: string) => void,
  ): Promise<Nightly> => {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    for (const half of await deletePartialBackups(folder))
      say(`${half} was left by a run that ended early, and is gone`);
    await requireDiskSpace(folder, reserveBytes, free);
    const file = join(folder, nameOf(clock.now()));
    const demand = async (): Promise<void> => {
      const there = await free(folder);
      if (there < reserveBytes) throw new NotEnoughSpace(folder, there, reserveBytes);
    };
    const written = await writeBackup(sql, file, () => undefined, { withResults, demand });
    const { size: bytes } = await stat(file);
    say(`${basename(file)}: ${written.tables} tables, ${written.rows} rows, ${inMegabytes(bytes)}`);
    const drilled = await tryOut(databaseUrl, trialUrl, file);
    say(saysOf(file, drilled));
    // No backup is deleted before its successor has passed the drill.
    const old = tooOld(await listKept(folder), keepDays, clock.now());
    for (const one of old) await rm(one.file, { force: true });
    if (old.length > 0) say(`older than ${keepDays} days, and gone: ${old.length}`);
    return { file, bytes, drill: drilled, dropped: old.map((one) => one.file) };
  };

  /** Runs alone, with a ping to the heartbeat about how it ended. */
  const told = async <Done>(
    heartbeat: Heartbeat,
    run: (say: (line: string) => void) => Promise<Done>,
  ): Promise<Done> => {
    const lines: string[] = [];
    await heartbeat.began();
    try {
      const done = await withAdvisoryLock(sql, 'backups', () => run((line) => lines.push(line)));
      if (done === undefined)
        throw new NoBackup('another run of backups goes on; wait for its end');
      await heartbeat.ended(true, lines.join('\n'));
      return done;
    } catch (error) {
      await heartbeat.ended(
        false,
        [...lines, error instanceof Error ? error.message : String(error)].join('\n'),
      );
      throw error;
    }
  };

  return {
    nightly: (options) =>
      told(createHeartbeat(settings.heartbeat, warn), (say) => work(options, say)),
    drillNewest: (folder, tells) =>
      told(createHeartbeat(tells ? settings.heartbeat : undefined, warn), async (say) => {
        const [newest] = await listKept(folder);
        if (newest === undefined) throw new NoBackup(`there is none in ${folder}`);
        const drilled = await tryOut(databaseUrl, trialUrl, newest.file);
        say(saysOf(newest.file, drilled));
        return { file: newest.file, ...drilled };
      }),
  };
}

function inMegabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}

function saysOf(file: string, { rows, newest }: DrillResult): string {
  return `${basename(file)} restored on trial: ${rows} rows are there; the newest result is of ${newest ?? 'never'}`;
}
