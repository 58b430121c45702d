import { join, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '../..');

/** Where `npm start` writes what programs need to know of the local service: its address and a token, readable by the owner only. */
export const localSettingsFile = (environment: Readonly<Record<string, string | undefined>>): string =>
  join(resolve(root, environment.ANTIPODE_HOME || '.antipode'), 'local.json');
