import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The migrations as they lie here. In the coordinator that is one file another module stands in this one's place, which holds them. */
const folder = join(import.meta.dirname, 'migrations');

/** The files in their order; the number at the head of a name gives it. */
export const migrationNames = (): string[] =>
  readdirSync(folder)
    .filter((name) => name.endsWith('.sql'))
    .toSorted();

export const migrationText = (name: string): string => readFileSync(join(folder, name), 'utf8');
