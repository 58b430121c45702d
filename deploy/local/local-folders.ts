/** Where `npm start` keeps things: the home (data, secrets), and the cache (what was fetched or copied and can be had again). */
import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { makeFolder } from '../../shared/base/make-folder.ts';
import { homeOf, projectFolder, wantedCache } from '../node/places.mjs';

export { homeOf, projectFolder };

type Environment = { readonly [name: string]: string | undefined };

export const isRoot = process.getuid?.() === 0;

/** What a home remembers: there as soon as it has been started once. */
export const stateFile = (home: string): string => join(home, 'state.json');

/** What is said of a folder that somebody chose and nothing can be kept in. */
export const unwritable = (folder: string, variable: 'ANTIPODE_HOME' | 'ANTIPODE_CACHE', cause?: unknown): Error =>
  new Error(`cannot write to ${folder}: choose another folder with ${variable}`, { cause });

/** Root leaves it passable: Postgres runs as another user below it. */
export const openHome = (env: Environment): string => {
  const home = homeOf(env);
  try {
    makeFolder(home, isRoot ? 0o711 : 0o700);
    accessSync(home, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (cause) {
    throw unwritable(home, 'ANTIPODE_HOME', cause);
  }
  return home;
};

const isUsable = (folder: string): boolean => {
  try {
    makeFolder(folder, 0o755);
    accessSync(folder, constants.W_OK | constants.X_OK);
    return true;
  } catch {
    return false; // The next candidate is tried; the last one's failure is told by whoever writes there.
  }
};

/** Where the launcher keeps its compiled code; undefined where that cannot be: Node would try for ever to make some folders. */
export const compileFolder = (env: Environment): string | undefined => {
  const folder = join(wantedCache(env), 'compile');
  return isUsable(folder) ? folder : undefined;
};

/**
 * `ANTIPODE_CACHE`, else the user's own cache folder (so that it outlives a removed `.antipode`), else a folder in the home for
 * a user who has none.
 */
export const openCache = (env: Environment, home: string): string => {
  const wanted = wantedCache(env);
  if (isUsable(wanted)) return wanted;
  if (!env.ANTIPODE_CACHE) return join(home, 'cache');
  // What others filled may be there to be read alone.
  if (!existsSync(wanted)) throw unwritable(wanted, 'ANTIPODE_CACHE');
  return wanted;
};

/** Whether a user who has the rights of "others" (or owns a folder) may pass through this folder and all above it. */
export const isPassableFor = (uid: number, folder: string): boolean => {
  for (let at = resolve(folder); ; at = dirname(at)) {
    const { mode, uid: owner } = statSync(at);
    if (((owner === uid ? mode >> 6 : mode) & 0o1) === 0) return false;
    if (at === dirname(at)) return true;
  }
};

/** Whether that user may also read and run the file itself. */
export const isRunnableFor = (uid: number, file: string): boolean => {
  const { mode, uid: owner } = statSync(file);
  return ((owner === uid ? mode >> 6 : mode) & 0o5) === 0o5 && isPassableFor(uid, dirname(file));
};

/** The first of these folders that can be made and that the user may pass through. */
export const firstPassableFor = (uid: number, candidates: readonly string[]): string | undefined =>
  candidates.find((folder) => isUsable(folder) && isPassableFor(uid, folder));
