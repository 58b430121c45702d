import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { openCache, openHome } from '../../deploy/local/home.ts';
import { runProgram } from './processes.ts';

/**
 * A Python with these packages, the first of which names it in the cache; undefined, said loudly,
 * where it cannot be had. What Debian has of it comes from there when we are root.
 */
export const pythonWith = async (
  packages: readonly [string, ...string[]],
  modules: string,
): Promise<string | undefined> => {
  const cache = openCache(process.env, openHome(process.env));
  const folder = join(cache, packages[0].replace('==', '-'));
  const python = join(folder, 'bin/python');
  const isThere = async (): Promise<boolean> =>
    existsSync(python) && (await runProgram([python, '-c', `import ${modules}`])).code === 0;
  if (await isThere()) return python;
  await mkdir(cache, { recursive: true });
  const hasVenv = async (): Promise<boolean> =>
    (await runProgram(['sh', '-c', 'python3 -c "import venv, ensurepip"'])).code === 0;
  if (!(await hasVenv()) && process.getuid?.() === 0 && existsSync('/usr/bin/apt-get'))
    await runProgram(['apt-get', 'install', '--yes', '--quiet', 'python3-venv']);
  const steps: readonly (readonly [string, ...string[]])[] = [
    ['python3', '-m', 'venv', '--clear', folder],
    [python, '-m', 'pip', 'install', '-q', '--disable-pip-version-check', ...packages],
  ];
  for (const step of (await hasVenv()) ? steps : []) if ((await runProgram(step)).code !== 0) break;
  if (await isThere()) return python;
  process.stderr.write(
    `SKIPPED: no ${packages[0]}: it needs python3 with venv, and pip with a package index\n`,
  );
  return undefined;
};
