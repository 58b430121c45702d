import { join } from 'node:path';
import { homeOf } from './local-folders.ts';

/** Where `npm start` writes what programs need to know of the local service: its address and a token, readable by the owner only. */
export const localSettingsFile = (environment: Readonly<Record<string, string | undefined>>): string =>
  join(homeOf(environment), 'local.json');
