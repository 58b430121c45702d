import { DatabaseSync } from 'node:sqlite';

/**
 * The operating system's own lock on a file, taken through SQLite because Node offers none. It is
 * free the moment its holder is gone, for whatever reason, and a reused process number cannot be
 * mistaken for the holder. A lock that is no longer referenced is free, too.
 */
export type Lock = { readonly release: () => void };

/**
 * undefined when someone else holds it.
 *
 * @throws when the file cannot be made or locked.
 */
export function lockFile(path: string): Lock | undefined {
  const file = new DatabaseSync(path);
  try {
    file.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
  } catch (error) {
    file.close();
    if (error instanceof Error && /locked|busy/i.test(error.message)) return undefined;
    throw error;
  }
  return { release: () => file.close() };
}
