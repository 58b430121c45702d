/** For test files: docker compose, from the machine, the cache, or Debian's stable suite: the machine's own may have one too old for today's files. */
import { access, chmod, copyFile, mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { openCache, openHome } from '../../deploy/local/home.ts';
import { unpackDebianPackage } from '../../deploy/node/debian-package.mjs';
import { runProgram } from './programs.ts';

const plugin = 'docker/cli-plugins/docker-compose';
const places = ['/usr/libexec', '/usr/lib', '/usr/local/libexec', '/usr/local/lib'].map((place) => join(place, plugin));

/** Version 2 or newer: what `docker compose` is. */
const isOne = async (file: string): Promise<boolean> => {
  const isThere = await access(file).then(
    () => true,
    () => false,
  );
  if (!isThere) return false;
  const said = await runProgram([file, 'version', '--short']).catch(() => ({ code: 1, out: '' })); // One that does not run is none.
  return said.code === 0 && Number(said.out.replace(/^v/, '').split('.')[0]) >= 2;
};

/** Undefined, said loudly, where it cannot be had. */
export const composeProgram = async (): Promise<string | undefined> => {
  const cache = openCache(process.env, openHome(process.env));
  const kept = join(cache, 'docker-compose');
  for (const file of [...places, kept]) if (await isOne(file)) return file;
  await mkdir(cache, { recursive: true });
  const scratch = await mkdtemp(join(cache, 'fetching-'));
  try {
    const fetched = join(scratch, 'docker-compose');
    await copyFile(join(await unpackDebianPackage(scratch, 'docker-compose', 'stable first'), 'usr/libexec', plugin), fetched);
    await chmod(fetched, 0o755);
    if (!(await isOne(fetched))) throw new Error('what Debian has does not run here');
    await rename(fetched, kept);
    return kept;
  } catch (error) {
    process.stderr.write(`SKIPPED: no docker compose is on this machine, and none could be obtained: ${String(error)}\n`);
    return undefined;
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
};
