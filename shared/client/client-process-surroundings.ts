import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { UsageFault } from '../base/command-line.ts';
import { useProxies } from './client-proxy.ts';
import type { Surroundings } from './client-surroundings.ts';

/** Readline writes what is typed, and with it a secret, to where it is told to: here to nobody. */
const nowhere = (): Writable => new Writable({ write: (_chunk, _encoding, done) => done() });

/** Undefined when they leave by ^C or ^D. */
const ask = (question: string, secret?: 'secret'): Promise<string | undefined> =>
  new Promise((resolve) => {
    process.stderr.write(question);
    const output = secret ? nowhere() : process.stderr;
    const lines = createInterface({ input: process.stdin, output, terminal: true, prompt: '' });
    let answer: string | undefined;
    lines.once('line', (line) => {
      answer = line;
      lines.close();
    });
    lines.once('SIGINT', () => lines.close());
    lines.once('close', () => {
      if (secret && answer !== undefined) process.stderr.write('\n');
      resolve(answer);
    });
  });

const readText = (path: string): string => {
  try {
    return readFileSync(path === '-' ? 0 : path, 'utf8');
  } catch (error) {
    throw new UsageFault(`@${path} cannot be read: ${error instanceof Error ? error.message : String(error)}`);
  }
};

/** The world of a real process. A reader that goes away early (`| head`) ends the command without a fuss. */
export const surroundings = (settingsFiles: readonly string[] = []): Surroundings => {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') return;
    // The call has been made; only its answer is lost, and whoever wrote it to a full disk must hear so.
    process.stderr.write(`antipode: the answer cannot be written (${error.message})\n`);
    process.exit(1);
  });
  return {
    given: process.argv.slice(2),
    environment: process.env,
    settingsFiles,
    out: (text) => void process.stdout.write(text),
    err: (text) => void process.stderr.write(text),
    columns: process.stdout.isTTY ? (process.stdout.columns ?? 80) : undefined,
    attended: Boolean(process.stdin.isTTY && process.stderr.isTTY),
    ask,
    readText,
    now: () => Date.now(),
    reach: (url) => useProxies(url, process.env),
  };
};
