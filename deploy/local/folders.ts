/** Where `npm start` keeps things: the home (data, secrets), and the cache (what was fetched or copied and can be had again). */
import { accessSync, constants, mkdirSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';

type Environment = { readonly [name: string]: string | undefined };

export const projectFolder = resolve(import.meta.dirname, '../..');

export const isRoot = process.getuid?.() === 0;

/** `ANTIPODE_HOME`, by default `.antipode` in the project. */
export const homeOf = (env: Environment): string => resolve(projectFolder, env.ANTIPODE_HOME || '.antipode');

/** What a home remembers: there as soon as it has been started once. */
export const stateFile = (home: string): string => join(home, 'state.json');

/** Root leaves it passable: Postgres runs as another user below it. */
export const openHome = (env: Environment): string => {
  const home = homeOf(env);
  try {
    mkdirSync(home, { recursive: true, mode: isRoot ? 0o711 : 0o700 });
    accessSync(home, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (cause) {
    throw new Error(`cannot write to ${home}: choose another folder with ANTIPODE_HOME`, { cause });
  }
  return home;
};

const isUsable = (folder: string): boolean => {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o755 });
    accessSync(folder, constants.W_OK | constants.X_OK);
    return true;
  } catch {
    return false; // The next candidate is tried; the last one's failure is told by whoever writes there.
  }
};

/**
 * `ANTIPODE_CACHE`, else the user's own cache folder (so that it outlives a removed `.antipode`), else a folder in the home for
 * a user who has none.
 */
export const openCache = (env: Environment, home: string): string => {
  if (env.ANTIPODE_CACHE) return resolve(env.ANTIPODE_CACHE);
  const own = join(env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'antipode');
  return isUsable(own) ? own : join(home, 'cache');
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
