/** One run: a backup into the folder, restored on trial, old ones let go, and a heartbeat told of it. */
import { mkdir, rm, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Clock } from '../../shared/base/time.ts';
import { writeBackup } from '../store/store-backup.ts';
import { NoBackup } from '../store/store-backup-format.ts';
import type { Sql } from '../store/store-database.ts';
import { holdAlone } from '../store/store-database-locks.ts';
import { type Drilled, drill } from './backup-drill.ts';
import { createHeartbeat, type Heartbeat } from './backup-heartbeat.ts';
import { demandRoom, type FreeBytes, freeBytes, listKept, NoRoom, nameOf, sweepHalves, tooOld } from './backups-kept.ts';

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

type Parts = {
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

export const createBackups = ({ sql, settings, clock, warn, free = freeBytes, tryOut = drill }: Parts): Backups => {
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
