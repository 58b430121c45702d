import { mkdir, readdir, rm, stat, statfs } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { codeOf } from '../../shared/base/errors.ts';
import { keptOfOutput, pingHeartbeat } from '../../shared/base/heartbeat.ts';
import type { Clock } from '../../shared/base/time.ts';
import { connect, longWork, type Sql } from '../database/connect.ts';
import { migrate } from '../database/migrate.ts';
import { holdAlone } from '../database/sql.ts';
import { backupHeader, readBackup } from './restore.ts';
import { NoBackup, writeBackup } from './write.ts';

/**
 * A backup that was never restored is a hope. The drill puts one into a scratch database, counts what is there, looks how old the newest result is,
 * and drops the scratch. The file's own sum and row count are checked by restoring it.
 */

export type Drilled = { readonly tables: number; readonly rows: number; readonly made_at: string; readonly newest: string | null };

/** Watched monitors give results all the time: a backup without any of the last day is of another database, or of one that stores nothing. */
const maxSilentMs = 86_400_000;

const nameIn = (url: string): string => decodeURIComponent(new URL(url).pathname.slice(1));

/** Beside the database itself, or on the server that is named for trials. */
export const scratchName = (databaseUrl: string): string => `${nameIn(databaseUrl).slice(0, 45)}_restore_drill`;

const countAll = async (sql: Sql, counted: ReadonlyMap<string, number>): Promise<void> => {
  for (const [table, rows] of counted) {
    const [row] = await sql<{ count: number }[]>`select count(*) as count from ${sql(table)}`;
    if (row?.count !== rows) throw new NoBackup(`restored, ${table} has ${row?.count ?? 0} rows and not ${rows}`);
  }
};

const iso = (at: number): string => new Date(at).toISOString();

/** @returns when the newest result, or the newest hour of results, is from. */
const newestOf = async (sql: Sql, { made_at, results }: Awaited<ReturnType<typeof backupHeader>>): Promise<string | null> => {
  const [row] = await sql<{ result: Date | null; hour: Date | null; watched_since: Date | null }[]>`
    select (select max(at) from results) as result, (select max(hour) from rollups) as hour,
      (select min(created_at) from monitors where enabled and type <> 'heartbeat') as watched_since`;
  const result = row?.result?.getTime() ?? null;
  if (results && result !== results.to)
    throw new NoBackup(`restored, its newest result is of ${result === null ? 'never' : iso(result)} and not of ${iso(results.to)}`);
  const newest = result ?? row?.hour?.getTime() ?? null;
  const since = newest ?? row?.watched_since?.getTime();
  if (row?.watched_since && since !== undefined && Date.parse(made_at) - since > maxSilentMs)
    throw new NoBackup(
      newest === null
        ? 'monitors are watched, and it holds no result'
        : `its newest result is of ${iso(newest)}, more than a day before it was made`,
    );
  return newest === null ? null : iso(newest);
};

/** @throws NoBackup that says what is wrong with it. */
export const drill = async (databaseUrl: string, trialUrl: string | undefined, file: string): Promise<Drilled> => {
  const header = await backupHeader(file);
  const server = trialUrl ?? databaseUrl;
  const scratch = scratchName(databaseUrl);
  const admin = connect(server, { name: 'antipode restore drill', connections: 1, patience: longWork });
  const drop = () => admin`drop database if exists ${admin(scratch)} with (force)`;
  try {
    // One is there when an earlier drill was killed.
    await drop();
    await admin`create database ${admin(scratch)}`.catch((error: unknown) => {
      if (codeOf(error) !== '42501') throw error;
      throw new NoBackup(
        'no drill is possible: this user may create no databases there. Grant it CREATEDB, or name another server as BACKUP_TRIAL_URL',
      );
    });
    const url = Object.assign(new URL(server), { pathname: `/${encodeURIComponent(scratch)}` }).href;
    const sql = connect(url, { name: 'antipode restore drill', connections: 2, patience: longWork });
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
};

/** Tells a heartbeat of a run: that it began, and how it ended. Best one at another installation, which is there when this one is not. */

export type Heartbeat = {
  readonly began: () => Promise<void>;
  readonly ended: (isWell: boolean, output: string) => Promise<void>;
};

const attempts = 3;

/** What cannot be told is said, and keeps no backup from being made. */
export const createHeartbeat = (address: string | undefined, warn: (text: string) => void): Heartbeat => {
  const tell = async (ending: string, output: string): Promise<void> => {
    if (address === undefined) return;
    const fault = await pingHeartbeat(`${address.replace(/\/+$/, '')}${ending}`, output.slice(-keptOfOutput), attempts);
    if (fault !== undefined) warn(`the heartbeat could not be told: ${fault}\n`);
  };
  return { began: () => tell('/start', ''), ended: (isWell, output) => tell(isWell ? '' : '/fail', output) };
};

/** A folder of backups: which are there, which may go, and whether there is room for another. */

const dayMs = 86_400_000;

export type Kept = { readonly file: string; readonly at: number };

/** Sorted by name they are sorted by time. */
export const nameOf = (at: number): string => `antipode-${new Date(at).toISOString().replaceAll(/[-:]|\.\d+/g, '')}.backup`;

/** Undefined for every file that is not a whole backup of ours; what is still being written has another name. */
export const timeOf = (name: string): number | undefined => {
  const [, day, time] = /^antipode-(\d{8})T(\d{6})Z\.backup$/.exec(name) ?? [];
  if (day === undefined || time === undefined) return undefined;
  const at = Date.parse(`${day.replace(/(....)(..)/, '$1-$2-')}T${time.replace(/(..)(..)/, '$1:$2:')}Z`);
  return Number.isNaN(at) ? undefined : at;
};

/** Whole ones, the newest first. */
export const listKept = async (folder: string): Promise<readonly Kept[]> =>
  (await readdir(folder))
    .flatMap((name) => {
      const at = timeOf(name);
      return at === undefined ? [] : [{ file: join(folder, name), at }];
    })
    .toSorted((one, other) => other.at - one.at);

/** What a run left that was killed while it wrote. Only who works on the folder alone may ask for this. */
export const sweepHalves = async (folder: string): Promise<readonly string[]> => {
  const halves = (await readdir(folder)).filter(
    (name) => name.endsWith('.partial') && timeOf(name.slice(0, -'.partial'.length)) !== undefined,
  );
  for (const name of halves) await rm(join(folder, name), { force: true });
  return halves;
};

/** Those older than `days`; the newest stays however old it is. */
export const tooOld = (kept: readonly Kept[], days: number, now: number): readonly Kept[] =>
  kept.slice(1).filter(({ at }) => at < now - days * dayMs);

export class NoRoom extends Error {
  constructor(folder: string, free: number, needed: number) {
    const mb = (bytes: number): string => `${Math.ceil(bytes / 1e6)} MB`;
    super(
      `the disk of ${folder} would be full: ${mb(free)} are free, ${mb(needed)} are wanted. Make room, keep fewer days (--keep-days), or leave raw results out (--without-results).`,
    );
    this.name = 'NoRoom';
  }
}

export type FreeBytes = (folder: string) => Promise<number>;

/** What a user without rights may take. */
export const freeBytes: FreeBytes = async (folder) => {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
};

/** @throws NoRoom where another backup like the newest would leave less than `reserve`. */
export const demandRoom = async (folder: string, reserve: number, free: FreeBytes): Promise<void> => {
  const [newest] = await listKept(folder);
  const needed = reserve + (newest === undefined ? 0 : (await stat(newest.file)).size);
  const there = await free(folder);
  if (there < needed) throw new NoRoom(folder, there, needed);
};

/** One run: a backup into the folder, restored on trial, old ones let go, and a heartbeat told of it. */

export type BackupSettings = {
  readonly databaseUrl: string;
  /** A server for trials; without it the scratch database lies beside the real one. */
  readonly trialUrl: string | undefined;
  readonly heartbeat: string | undefined;
};

export type BackupWishes = {
  readonly folder: string;
  readonly keepDays: number;
  readonly withResults: boolean;
  /** So much of the disk is left to others. */
  readonly reserveBytes: number;
};

export type Backups = {
  readonly nightly: (wishes: BackupWishes) => Promise<Nightly>;
  /** Of the newest in the folder. */
  readonly drillNewest: (folder: string, tells: boolean) => Promise<Drilled & { readonly file: string }>;
};

export type Nightly = { readonly file: string; readonly bytes: number; readonly drill: Drilled; readonly dropped: readonly string[] };

type Dependencies = {
  readonly sql: Sql;
  readonly settings: BackupSettings;
  readonly clock: Clock;
  readonly warn: (text: string) => void;
  readonly free?: FreeBytes;
  /** Restores a file on trial. */
  readonly tryOut?: typeof drill;
};

const inMegabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`;

const saysOf = (file: string, { rows, newest }: Drilled): string =>
  `${basename(file)} restored on trial: ${rows} rows are there; the newest result is of ${newest ?? 'never'}`;

export const createBackups = ({ sql, settings, clock, warn, free = freeBytes, tryOut = drill }: Dependencies): Backups => {
  const { databaseUrl, trialUrl } = settings;

  const work = async ({ folder, keepDays, withResults, reserveBytes }: BackupWishes, say: (line: string) => void): Promise<Nightly> => {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    for (const half of await sweepHalves(folder)) say(`${half} was left by a run that ended early, and is gone`);
    await demandRoom(folder, reserveBytes, free);
    const file = join(folder, nameOf(clock.now()));
    const demand = async (): Promise<void> => {
      const there = await free(folder);
      if (there < reserveBytes) throw new NoRoom(folder, there, reserveBytes);
    };
    const written = await writeBackup(sql, file, () => undefined, { withResults, demand });
    const { size: bytes } = await stat(file);
    say(`${basename(file)}: ${written.tables} tables, ${written.rows} rows, ${inMegabytes(bytes)}`);
    const drilled = await tryOut(databaseUrl, trialUrl, file);
    say(saysOf(file, drilled));
    // Nothing goes before what comes after it has proved good.
    const old = tooOld(await listKept(folder), keepDays, clock.now());
    for (const one of old) await rm(one.file, { force: true });
    if (old.length > 0) say(`older than ${keepDays} days, and gone: ${old.length}`);
    return { file, bytes, drill: drilled, dropped: old.map((one) => one.file) };
  };

  /** Alone, and with the heartbeat told how it ended. */
  const told = async <Done>(heartbeat: Heartbeat, run: (say: (line: string) => void) => Promise<Done>): Promise<Done> => {
    const lines: string[] = [];
    await heartbeat.began();
    try {
      const done = await holdAlone(sql, 'backups', () => run((line) => lines.push(line)));
      if (done === undefined) throw new NoBackup('another run of backups goes on; wait for its end');
      await heartbeat.ended(true, lines.join('\n'));
      return done;
    } catch (error) {
      await heartbeat.ended(false, [...lines, error instanceof Error ? error.message : String(error)].join('\n'));
      throw error;
    }
  };

  return {
    nightly: (wishes) => told(createHeartbeat(settings.heartbeat, warn), (say) => work(wishes, say)),
    drillNewest: (folder, tells) =>
      told(createHeartbeat(tells ? settings.heartbeat : undefined, warn), async (say) => {
        const [newest] = await listKept(folder);
        if (newest === undefined) throw new NoBackup(`there is none in ${folder}`);
        const drilled = await tryOut(databaseUrl, trialUrl, newest.file);
        say(saysOf(newest.file, drilled));
        return { file: newest.file, ...drilled };
      }),
  };
};
