/**
 * The paths of this checkout and of its files. Written for Node 18, like all of this folder: it
 * runs before the package's own Node.
 */
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/** @typedef {{ readonly [name: string]: string | undefined }} Environment */

export const projectFolder = resolve(fileURLToPath(import.meta.url), '../../..');

/**
 * `ANTIPODE_CACHE`, else the user's own cache folder, which survives the removal of `.antipode`.
 *
 * @param {Environment} env
 */
export const wantedCache = (env) =>
  resolve(env.ANTIPODE_CACHE || join(env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'antipode'));

/**
 * Where the service that runs here writes its address and a token for programs, readable by its
 * owner only.
 *
 * @param {string} home
 */
export const localFile = (home) => join(home, 'local.json');
