import { existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { codeOf } from './error-code.ts';

/**
 * Makes a folder and those above it that are not there, for a place that a person chose: Node's own `recursive` never comes back where a
 * folder takes no other one and calls that "no such file", as `/proc` does. @throws when it cannot be made.
 */
export const makeFolder = (folder: string, mode = 0o700): void => {
  try {
    mkdirSync(folder, { mode });
  } catch (error) {
    if (statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return;
    const above = dirname(folder);
    if (codeOf(error) !== 'ENOENT' || existsSync(above)) throw error;
    makeFolder(above, mode);
    makeFolder(folder, mode);
  }
};
