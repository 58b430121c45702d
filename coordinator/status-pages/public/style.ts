import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The style of public pages, read from this folder; the single-file coordinator contains it. */
export function styleText(): string {
  return readFileSync(join(import.meta.dirname, 'style.css'), 'utf8');
}
