/** `npm start`. */
import { returnMemoryOfStart } from '../../shared/base/process.ts';
import { launch } from './launch.ts';

const [word] = process.argv.slice(2);
if (word !== undefined) {
  const isHelp = word === '--help' || word === '-h' || word === 'help';
  const usage =
    'npm start takes nothing: what it does is chosen by variables such as PORT and ANTIPODE_HOME, which README.md lists\n';
  (isHelp ? process.stdout : process.stderr).write(
    `${isHelp ? '' : `unknown argument "${word}"\n`}${usage}`,
  );
  process.exit(isHelp ? 0 : 2);
}

returnMemoryOfStart();
const stop = new AbortController();
// npm passes on a signal that the terminal has already sent. A second one changes nothing: the stop
// has its own limit.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.on(signal, () => stop.abort());
// A closed terminal must not end the launcher before it has stopped its services.
process.stdout.on('error', () => stop.abort());

try {
  await launch(process.env, stop.signal, (line) => process.stdout.write(`${line}\n`));
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
process.exit();
