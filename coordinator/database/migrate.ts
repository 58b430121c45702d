import { backoff, pause } from '../../shared/base/async.ts';
import { ConfigurationFault } from '../../shared/base/env.ts';
import { codeOf } from '../../shared/base/errors.ts';
import { version } from '../../shared/base/process.ts';
import { connect, longWork, type Sql } from './connect.ts';
import { migrationNames, migrationText } from './migration-files.ts';
import { inTransaction, takeAdvisoryLock } from './sql.ts';

export type MigrationFiles = {
  readonly names: () => readonly string[];
  readonly text: (name: string) => string;
};

const migrationFiles: MigrationFiles = { names: migrationNames, text: migrationText };

type MigrateOptions = { readonly files?: MigrationFiles; readonly wait?: number };

/**
 * Brings the database to this version's schema, on a connection of its own: a migration may take
 * long, as no other work may. @returns the names that this call applied.
 */
export async function bringUpToDate(sql: Sql, url: string): Promise<readonly string[]> {
  if ((await missingMigrations(sql, migrationFiles)).length === 0) return [];
  const own = connect(url, { name: 'antipode migrations', connections: 1, patience: longWork });
  return await migrate(own).finally(() => own.end({ timeout: 1 }));
}

/**
 * The files that this database lacks, by one query. A new database does not even have the table.
 * @throws ConfigurationFault when a newer version left no place for this one.
 */
async function missingMigrations(sql: Sql, files: MigrationFiles): Promise<readonly string[]> {
  try {
    const there = await sql<{ name: string; oldest: string | null }[]>`
      select name, oldest from migrations order by name desc`;
    const known = files.names();
    for (const { name, oldest } of there)
      if (oldest !== null && !known.includes(name) && isBefore(version, oldest))
        throw new ConfigurationFault([
          `DATABASE_URL: a newer Antipode changed this database (${name}) so that none before ${oldest} can work on it; this is ${version}. Start ${oldest} or newer, or restore the backup from before that upgrade into an empty database`,
        ]);
    return known.filter((file) => !there.some(({ name }) => name === file));
  } catch (error) {
    if (codeOf(error) === '42P01') return files.names();
    throw error;
  }
}

function isBefore(one: string, other: string): boolean {
  return one.localeCompare(other, 'en', { numeric: true }) < 0;
}

/**
 * The oldest version that can work on the schema after a file that takes something away, as its line
 * `-- oldest: 1.2.0` says. Null: every version, as after a file that only adds.
 */
export function oldestAfter(text: string): string | null {
  return /^-- oldest: (\d+\.\d+\.\d+)$/m.exec(text)?.[1] ?? null;
}

/**
 * Lock timeout of a migration: while it waits for a lock, it blocks all others that want the table.
 */
const lockMs = 3_000;
/** Between tries other transactions get their turn. One that blocks all tries is not temporary. */
const restMs = { first: 250, most: 5_000 };
const maxTries = 30;

/**
 * Brings the database to this version's schema: each file once, forward only, in its own
 * transaction. Several coordinators may start at once: a lock lets one work, and the others find it
 * done. Code that is behind starts on a newer schema, during a rolling upgrade or after going back,
 * unless a file says that it is too old. A file that has to wait for a table steps back and tries
 * again, so that running coordinators go on. @returns the names that this call applied.
 */
export async function migrate(
  sql: Sql,
  { files = migrationFiles, wait = lockMs }: MigrateOptions = {},
): Promise<string[]> {
  const applied: string[] = [];
  for (const name of await missingMigrations(sql, files)) {
    for (let attempt = 0; ; attempt += 1) {
      try {
        if (await applyOne(sql, name, files.text(name), wait)) applied.push(name);
        break;
      } catch (error) {
        if (!isLockedOut(error) || attempt >= maxTries) throw error;
        await pause(backoff(attempt, restMs.first, restMs.most));
      }
    }
  }
  return applied;
}

/** Applies one file in its own transaction. False: another coordinator did so meanwhile. */
function applyOne(sql: Sql, name: string, text: string, wait: number): Promise<boolean> {
  return inTransaction(sql, async (transaction) => {
    // Statements that need no answer are sent together. Other migrations are awaited for as long as
    // they take.
    const [, , , [known]] = await Promise.all([
      takeAdvisoryLock(transaction, 'migrations'),
      transaction.unsafe(`set local lock_timeout = ${wait}`),
      transaction`create table if not exists migrations (name text primary key, applied_at timestamptz not null default now(), oldest text)`,
      transaction`select 1 from migrations where name = ${name}`,
    ]);
    if (known) return false;
    await Promise.all([
      transaction.unsafe(text),
      transaction`insert into migrations (name, oldest) values (${name}, ${oldestAfter(text)})`,
    ]);
    return true;
  });
}

function isLockedOut(error: unknown): boolean {
  return codeOf(error) === '55P03';
}
