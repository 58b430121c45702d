/**
 * One launcher for a home. The lock is the operating system's own lock on a file, taken through SQLite because Node offers none: it is
 * free the moment its holder is gone, however it went, and no number of a dead process can be mistaken for a living one.
 */
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

export type Lock = { readonly release: () => void };

/** undefined when another launcher has the home. */
export const lockHome = (home: string): Lock | undefined => {
  const file = new DatabaseSync(join(home, 'launcher.lock'));
  try {
    file.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
  } catch (error) {
    file.close();
    if (error instanceof Error && /locked|busy/i.test(error.message)) return undefined;
    throw error;
  }
  return { release: () => file.close() };
};
