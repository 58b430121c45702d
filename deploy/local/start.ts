/**
 * `npm start` and, with a word, `antipode backup FILE` and `antipode restore FILE`, where `-` is
 * standard output or input.
 */
import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { open, rm } from 'node:fs/promises';
import { returnMemoryOfStart } from '../../shared/base/process.ts';
import { backUp, restore } from './backup.ts';
import { serveDemo } from './demo.ts';
import { launch } from './launch.ts';

const usage = `npm start takes nothing: what it does is chosen by variables such as PORT and ANTIPODE_HOME, which docs/start.md lists

antipode               the same from the package
antipode backup FILE   everything that runs here, its keys too, into one file; - for standard output
antipode restore FILE  such a file into a new home; - for standard input
`;

const [word, file] = process.argv.slice(2);
const saying = file === '-' ? process.stderr : process.stdout;
const say = (line: string): boolean => saying.write(`${line}\n`);

try {
  if (word === undefined) await serve();
  else if (word === 'demo') await demo(file);
  else if (word === 'backup' && file !== undefined) await writeTo(file);
  else if (word === 'restore' && file !== undefined) {
    await restore(process.env, file === '-' ? process.stdin : createReadStream(file), say);
    say('restored: the next start runs it');
  } else {
    const isHelp = word === '--help' || word === '-h' || word === 'help';
    (isHelp ? process.stdout : process.stderr).write(
      `${isHelp ? '' : `unknown argument "${word}"\n`}${usage}`,
    );
    process.exitCode = isHelp ? 0 : 2;
  }
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
process.exit();

async function serve(): Promise<void> {
  returnMemoryOfStart();
  const stop = new AbortController();
  // npm passes on a signal that the terminal has already sent. A second one changes nothing: the
  // stop has its own limit.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.on(signal, () => stop.abort());
  // A closed terminal must not end the launcher before it has stopped its services.
  process.stdout.on('error', () => stop.abort());
  await launch(process.env, stop.signal, say);
}

/** The launcher starts it, and ends it. */
async function demo(place: string | undefined): Promise<void> {
  const { hostname, port } = new URL(`http://${place}`);
  await serveDemo(hostname.replace(/^\[|\]$/g, ''), Number(port));
  await once(process, 'SIGTERM');
}

/** A file that is not whole must not look like a backup. */
async function writeTo(file: string): Promise<void> {
  if (file === '-') return backUp(process.env, process.stdout);
  const handle = await open(file, 'wx', 0o600);
  try {
    await backUp(process.env, handle.createWriteStream());
  } catch (error) {
    await rm(file);
    throw error;
  }
  say(`${file} has everything, its keys too: keep it as you keep those`);
}
