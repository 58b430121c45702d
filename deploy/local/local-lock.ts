/**
 * One launcher for a home. The lock is the operating system's own lock on a file, taken through SQLite because Node offers none: it is
 * free the moment its holder is gone, however it went, and no number of a dead process can be mistaken for a living one.
 */
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { unwritable } from './local-folders.ts';

export type Lock = { readonly release: () => void };

const openLock = (home: string): DatabaseSync => {
  try {
    return new DatabaseSync(join(home, 'launcher.lock'));
  } catch (cause) {
    // Root is told that it may write everywhere, also where the system lets nobody make a file.
    throw unwritable(home, 'ANTIPODE_HOME', cause);
  }
};

/** undefined when another launcher has the home. */
export const lockHome = (home: string): Lock | undefined => {
  const file = openLock(home);
  try {
    file.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
  } catch (error) {
    file.close();
    if (error instanceof Error && /locked|busy/i.test(error.message)) return undefined;
    throw error;
  }
  return { release: () => file.close() };
};
