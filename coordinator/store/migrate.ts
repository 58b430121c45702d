import { codeOf } from '../../shared/base/error-code.ts';
import { doAlone } from './advisory-locks.ts';
import type { Sql } from './database.ts';
import { migrationNames, migrationText } from './migration-files.ts';
import { inTransaction } from './transactions.ts';

/** The files that this database lacks, found by one question. One that nobody has been in yet has not even the table. */
export const missingMigrations = async (sql: Sql): Promise<readonly string[]> => {
  try {
    const there = new Set((await sql<{ name: string }[]>`select name from migrations`).map(({ name }) => name));
    return migrationNames().filter((name) => !there.has(name));
  } catch (error) {
    if (codeOf(error) === '42P01') return migrationNames();
    throw error;
  }
};

/**
 * Brings the database to this version's schema: each file once, forward only, in a transaction of its own. Several may start at once:
 * the lock lets one work and the others find it done. Names that this version does not know are left alone, because during an
 * upgrade one by one an older coordinator may start on a newer schema.
 * @returns the names that were applied by this call.
 */
export const migrate = async (sql: Sql): Promise<string[]> => {
  const applied: string[] = [];
  for (const name of await missingMigrations(sql)) {
    const fresh = await inTransaction(sql, async (transaction) => {
      // What does not wait for an answer goes out together.
      const [, , [known]] = await Promise.all([
        doAlone(transaction, 'migrations'),
        transaction`create table if not exists migrations (name text primary key, applied_at timestamptz not null default now())`,
        transaction`select 1 from migrations where name = ${name}`,
      ]);
      if (known) return false;
      await Promise.all([transaction.unsafe(migrationText(name)), transaction`insert into migrations (name) values (${name})`]);
      return true;
    });
    if (fresh) applied.push(name);
  }
  return applied;
};
