/**
 * What the first start makes in a database: a local organisation, its owner with a read-write token, and the three probes. The operator's
 * own operations, through the gate, in one process that ends (first-start-process.ts); each result is kept as soon as it is there, so
 * that an interrupted start goes on where it was.
 */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { projectFolder } from './folders.ts';
import { type Made, madeShape, type SiteName } from './home-state.ts';

export type Network = {
  readonly email: string;
  readonly password: string;
  readonly apiToken: string;
  readonly probes: Readonly<Record<SiteName, string>>;
};

const asNetwork = ({ owner, apiToken, probes: { Frankfurt, Virginia, Singapore } }: Made): Network | undefined =>
  owner && apiToken && Frankfurt && Virginia && Singapore ? { ...owner, apiToken, probes: { Frankfurt, Virginia, Singapore } } : undefined;

export type FirstStart = {
  /** Of the coordinator: the process reads the same variables. */
  readonly env: Readonly<Record<string, string>>;
  readonly known: Made;
  /** Called after every step with all that is made so far. */
  readonly keep: (made: Made) => void;
  readonly stop: AbortSignal;
};

/** What is known already, or what is made now. @throws with what the process said when it failed. */
export const makeNetwork = async ({ env, known, keep, stop }: FirstStart): Promise<Network> => {
  const complete = asNetwork(known);
  if (complete !== undefined) return complete;
  const maker = spawn(process.execPath, [join(import.meta.dirname, 'first-start-process.ts')], {
    env: { ...env },
    cwd: projectFolder,
    signal: stop,
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const ended = Promise.withResolvers<void>();
  let complaint = '';
  maker.stderr.on('data', (chunk) => {
    complaint += String(chunk);
  });
  maker.once('error', ended.reject);
  maker.once('close', (code) => (code === 0 ? ended.resolve() : ended.reject(new Error(`the first start failed: ${complaint.trim()}`))));
  maker.stdin.end(JSON.stringify(known));
  let made = known;
  createInterface({ input: maker.stdout }).on('line', (line) => {
    made = madeShape.parse(JSON.parse(line));
    keep(made);
  });
  await ended.promise;
  const whole = asNetwork(made);
  if (whole === undefined) throw new Error(`the first start ended before it was done: ${complaint.trim()}`);
  return whole;
};
