/**
 * A backup that was never restored is a hope. The drill puts one into a scratch database, counts what is there, looks how old the newest result is,
 * and drops the scratch. The file's own sum and row count are checked by restoring it.
 */
import { codeOf } from '../../shared/base/errors.ts';
import { NoBackup } from '../store/store-backup-format.ts';
import { backupHeader, readBackup } from '../store/store-backup-restore.ts';
import { connect, longWork, type Sql } from '../store/store-database.ts';
import { migrate } from '../store/store-migrate.ts';

export type Drilled = { readonly tables: number; readonly rows: number; readonly made_at: string; readonly newest: string | null };

/** Watched monitors give results all the time: a backup without any of the last day is of another database, or of one that stores nothing. */
const mostSilentMs = 86_400_000;

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
  if (row?.watched_since && since !== undefined && Date.parse(made_at) - since > mostSilentMs)
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
