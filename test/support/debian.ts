/** Programs of Debian for tests and measurements, unpacked into the cache without root; nothing is installed. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { access, mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { openCache, openHome } from '../../deploy/local/home.ts';

const run = promisify(execFile);

export type Program = { readonly file: string; readonly env: Readonly<Record<string, string>> };

const isThere = (file: string): Promise<boolean> =>
  access(file).then(
    () => true,
    () => false,
  );

const onMachine = async (name: string): Promise<Program | undefined> => {
  for (const folder of [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/usr/local/sbin'])
    if (folder !== '' && (await isThere(join(folder, name)))) return { file: join(folder, name), env: {} };
  return undefined;
};

const inFolder = async (folder: string, name: string): Promise<Program | undefined> => {
  for (const place of ['usr/sbin', 'usr/bin']) {
    const file = join(folder, place, name);
    if (!(await isThere(file))) continue;
    const libraries = join(folder, 'usr/lib');
    const architectures = await readdir(libraries).catch(() => []); // A program without libraries of its own needs no path to them.
    return { file, env: { LD_LIBRARY_PATH: architectures.map((one) => join(libraries, one)).join(delimiter) } };
  }
  return undefined;
};

/** The program from the machine, the cache, or the machine's own Debian mirror; undefined, said loudly, where none of these has it. */
export const debianProgram = async (name: string, packages: readonly string[]): Promise<Program | undefined> => {
  const found = await onMachine(name);
  if (found) return found;
  const cache = openCache(process.env, openHome(process.env));
  // A list that grew is fetched anew.
  const kept = join(cache, `debian-${name}-${createHash('sha256').update(packages.join()).digest('hex').slice(0, 8)}`);
  const cached = await inFolder(kept, name);
  if (cached) return cached;
  await mkdir(cache, { recursive: true });
  const scratch = await mkdtemp(join(cache, 'fetching-'));
  try {
    await run('apt-get', ['download', '-q', ...packages], { cwd: scratch });
    for (const file of await readdir(scratch)) await run('dpkg', ['-x', file, join(scratch, 'root')], { cwd: scratch });
    await rename(join(scratch, 'root'), kept).catch(async (error: unknown) => {
      // Somebody else was quicker: what they fetched is as good.
      if (!(await isThere(kept))) throw error;
    });
    return await inFolder(kept, name);
  } catch (error) {
    process.stderr.write(`SKIPPED: ${name} is not on this machine and could not be obtained: ${String(error)}\n`);
    return undefined;
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
};
