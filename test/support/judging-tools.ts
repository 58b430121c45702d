/** Programs that judge what we speak from outside. They are installed apart, in test/tools: CI has them, a newcomer's install is small. */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';

const folder = resolve(import.meta.dirname, '../tools');

/** The file of such a program; undefined, said loudly, where it is not installed. */
export const judgingTool = (path: string): string | undefined => {
  const file = resolve(folder, 'node_modules', path);
  if (existsSync(file)) return file;
  process.stderr.write(`SKIPPED: ${path} judges nothing here: run npm ci in test/tools to have it\n`);
  return undefined;
};
