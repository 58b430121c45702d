import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline/promises';
import { UsageFault } from './arguments.ts';
import type { Surroundings } from './cli.ts';

const ask = async (question: string): Promise<string> => {
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return await lines.question(question);
  } finally {
    lines.close();
  }
};

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
  };
};
