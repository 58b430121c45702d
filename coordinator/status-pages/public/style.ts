import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The style of public pages as it lies here; the coordinator that is one file holds it itself. */
export const styleText = (): string => readFileSync(join(import.meta.dirname, 'style.css'), 'utf8');
