import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The style of public pages, with what they share with those of members; the single-file coordinator contains it. */
export function styleText(): string {
  return ['style.css', '../../web/assets/style/witnesses.css']
    .map((file) => readFileSync(join(import.meta.dirname, file), 'utf8'))
    .join('');
}
