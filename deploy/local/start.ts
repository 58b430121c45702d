/** `npm start`. Only what is needed to make the rest start fast; the rest is in local/launch.ts. */
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

// The compiled code of earlier starts (`npm start` has named a place already, for this file too); where the folder cannot be used the start is merely slower.
const { compileFolder } = await loadLightly(() => import('./home.ts'));
const folder = getCompileCacheDir() === undefined ? compileFolder(process.env) : undefined;
if (folder !== undefined) enableCompileCache(folder);

const compileCache = getCompileCacheDir();
const { summonMakerEarly } = await loadLightly(() => import('./first-start.ts'));
const maker = compileCache === undefined ? undefined : summonMakerEarly(process.env, compileCache);

const { launch, StartRefused } = await loadLightly(() => import('./launch.ts'));

const stop = new AbortController();
// npm passes on a signal that the terminal has already sent: a second one changes nothing, the stop has a limit of its own.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stop.abort());
// A terminal that was closed must not end the launcher before it has stopped its parts.
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
