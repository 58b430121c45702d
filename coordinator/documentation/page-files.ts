import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * The pages of `docs/`, by their names in it without `.md`. In the single-file build a module that
 * contains them replaces this one.
 */
const folder = join(import.meta.dirname, '../../docs');

export function pageNames(): string[] {
  return readdirSync(folder)
    .filter((file) => file.endsWith('.md'))
    .map((file) => file.slice(0, -'.md'.length))
    .toSorted();
}

export function pageText(name: string): string {
  return readFileSync(join(folder, `${name}.md`), 'utf8');
}
