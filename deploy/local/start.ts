/** `npm start`. Contains only what makes the rest start fast; the rest is in local/launch.ts. */
import { enableCompileCache, getCompileCacheDir } from 'node:module';
import { ConfigurationFault } from '../../shared/base/env.ts';
import { loadLightly } from '../../shared/base/light-loading.ts';

const [word] = process.argv.slice(2);
if (word !== undefined) {
  const isHelp = word === '--help' || word === '-h' || word === 'help';
  const usage = 'npm start takes nothing: what it does is chosen by variables such as PORT and ANTIPODE_HOME, which README.md lists\n';
  (isHelp ? process.stdout : process.stderr).write(`${isHelp ? '' : `"${word}" is not understood\n`}${usage}`);
  process.exit(isHelp ? 0 : 2);
}

// The compile cache of earlier starts. (`npm start` has already named a folder, for this file too.)
// If the folder cannot be used, the start is only slower.
const { compileFolder } = await loadLightly(() => import('./home.ts'));
const folder = getCompileCacheDir() === undefined ? compileFolder(process.env) : undefined;
if (folder !== undefined) enableCompileCache(folder);

const compileCache = getCompileCacheDir();
const { summonMakerEarly } = await loadLightly(() => import('./first-start.ts'));
const maker = compileCache === undefined ? undefined : summonMakerEarly(process.env, compileCache);

const { launch, StartRefused } = await loadLightly(() => import('./launch.ts'));

const stop = new AbortController();
// npm passes on a signal that the terminal has already sent. A second one changes nothing: the stop
// has its own limit.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stop.abort());
// A closed terminal must not end the launcher before it has stopped its services.
process.stdout.on('error', () => stop.abort());

try {
  await launch(process.env, stop.signal, (line) => process.stdout.write(`${line}\n`), maker);
} catch (error) {
  const expected = error instanceof StartRefused || error instanceof ConfigurationFault;
  process.stderr.write(`${expected ? error.message : error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
maker?.kill();
process.exit();
