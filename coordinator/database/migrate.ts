import { backoff, pause } from '../../shared/base/async.ts';
import { codeOf } from '../../shared/base/errors.ts';
import type { Sql } from './connect.ts';
import { migrationNames, migrationText } from './migration-files.ts';
import { inTransaction, takeAdvisoryLock } from './sql.ts';

export type MigrationFiles = {
  readonly names: () => readonly string[];
  readonly text: (name: string) => string;
};

const migrationFiles: MigrationFiles = { names: migrationNames, text: migrationText };

type MigrateOptions = { readonly files?: MigrationFiles; readonly wait?: number };

/**
 * The files that this database lacks, by one query. A new database does not even have the table.
 */
export async function missingMigrations(
  sql: Sql,
  files: MigrationFiles = migrationFiles,
): Promise<readonly string[]> {
  try {
    const there = new Set(
      (await sql<{ name: string }[]>`select name from migrations`).map(({ name }) => name),
    );
    return files.names().filter((name) => !there.has(name));
  } catch (error) {
    if (codeOf(error) === '42P01') return files.names();
    throw error;
  }
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
 * done. Unknown names are left alone, because during a rolling upgrade an older coordinator may
 * start on a newer schema. A file that has to wait for a table steps back and tries again, so that
 * running coordinators go on. @returns the names that this call applied.
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
      transaction`create table if not exists migrations (name text primary key, applied_at timestamptz not null default now())`,
      transaction`select 1 from migrations where name = ${name}`,
    ]);
    if (known) return false;
    await Promise.all([
      transaction.unsafe(text),
      transaction`insert into migrations (name) values (${name})`,
    ]);
    return true;
  });
}

function isLockedOut(error: unknown): boolean {
  return codeOf(error) === '55P03';
}
