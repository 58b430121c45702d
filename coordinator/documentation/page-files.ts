import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * The pages and pictures of `docs/`, by their names in it without `.md` or `.svg`. In the single-file build a module that
 * contains them replaces this one.
 */
const folder = join(import.meta.dirname, '../../docs');

export function pageNames(): string[] {
  return namesEndingIn('.md');
}

export function pageText(name: string): string {
  return readFileSync(join(folder, `${name}.md`), 'utf8');
}

export function pictureNames(): string[] {
  return namesEndingIn('.svg');
}

export function pictureText(name: string): string {
  return readFileSync(join(folder, `${name}.svg`), 'utf8');
}

function namesEndingIn(ending: string): string[] {
  return readdirSync(folder)
    .filter((file) => file.endsWith(ending))
    .map((file) => file.slice(0, -ending.length))
    .toSorted();
}
