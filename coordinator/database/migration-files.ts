import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * The migrations as files of this folder. In the single-file build a module that contains them
 * replaces this one.
 */
const folder = join(import.meta.dirname, 'migrations');

/** The files in order of the number at the start of their names. */
export function migrationNames(): string[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.sql'))
    .toSorted();
}

export function migrationText(name: string): string {
  return readFileSync(join(folder, name), 'utf8');
}
