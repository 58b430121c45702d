/** For test files: one of our programs as a process of its own, to be killed, frozen and thawed. */
import { spawn, spawnSync } from 'node:child_process';
import { eventually } from './eventually.ts';

export type ChildProgram = {
  readonly pid: number;
  readonly signal: (name: NodeJS.Signals) => void;
  /** Settles with its exit code; null when a signal ended it. */
  readonly exited: Promise<number | null>;
  /** What it has written so far. */
  readonly output: () => string;
};

const tie = ['setpriv', '--pdeathsig', 'KILL'] as const;
/** Where the kernel can be told to, it ends the program with the process of the test, also when that is broken off. */
const isTied = process.platform === 'linux' && spawnSync(tie[0], [...tie.slice(1), 'true']).status === 0;

/** Settles when it is up; rejects with what it has written when it ends before that. */
export const startChildProgram = async (
  command: readonly [string, ...string[]],
  environment: Readonly<Record<string, string>>,
  isUp: (output: string) => boolean | Promise<boolean>,
): Promise<ChildProgram> => {
  const [file = '', ...args] = isTied ? [...tie, ...command] : command;
  const child = spawn(file, args, { env: { ...environment, PATH: process.env.PATH ?? '' }, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data: Buffer) => (output += data.toString()));
  const exited = new Promise<number | null>((resolve) => child.once('exit', (code) => resolve(code)));
  const endedEarly = exited.then(() => {
    throw new Error(`ended before it was up: ${output}`);
  });
  // One that will never be up ends, or the test does: on a full machine a start may take a minute.
  await Promise.race([eventually(() => isUp(output), 120_000), endedEarly]);
  return { pid: child.pid ?? 0, signal: (name) => void child.kill(name), exited, output: () => output };
};
