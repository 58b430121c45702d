import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Order } from './first-start-steps.ts';
import { homeOf, inherited, type Made, madeShape, projectFolder, type SiteName, stateFile } from './home.ts';

/**
 * The process that makes a network (local/first-start-process.ts), as the launcher sees it. This
 * file does not use zod, so it can start before the launcher has loaded. Modes: loading → loaded →
 * making → ended.
 */

export type Maker = {
  /**
   * Settles when the compiled code of all programs is cached, or when the process ended. An end
   * here only costs speed, and shows when something is to be made.
   */
  readonly loaded: Promise<void>;
  /**
   * Sends what to make and passes on each line of the answer. Rejects with the process's output
   * when it ends.
   */
  readonly order: (order: unknown, onLine: (line: string) => void) => Promise<never>;
  readonly kill: () => void;
};

/** It begins to load at once, and ends with us or with its work. */
export const summonMaker = (env: Readonly<Record<string, string>>): Maker => {
  const options = { env: { ...env }, cwd: projectFolder, stdio: 'pipe' } as const;
  const child = spawn(process.execPath, [join(import.meta.dirname, 'first-start-process.ts')], options);
  const loaded = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<never>();
  let complaint = '';
  child.stderr.on('data', (chunk) => {
    complaint += String(chunk);
  });
  // It ended before it received the order: its exit says why.
  child.stdin.on('error', () => undefined);
  child.once('error', ended.reject);
  child.once('close', () => ended.reject(new Error(`the first start failed: ${complaint.trim()}`)));
  ended.promise.catch(() => loaded.resolve()); // Reported to the caller of `order`.
  const lines = createInterface({ input: child.stdout });
  lines.once('line', () => loaded.resolve());
  return {
    loaded: loaded.promise,
    order: async (order, onLine) => {
      await loaded.promise;
      lines.on('line', onLine);
      child.stdin.end(JSON.stringify(order));
      return await ended.promise;
    },
    kill: () => child.kill(),
  };
};

/**
 * For a home that has never been started: loading takes longest in a first start, so it begins
 * first.
 * @param compileCache the folder in use for our own compiled code.
 */
export const summonMakerEarly = (env: Readonly<Record<string, string | undefined>>, compileCache: string): Maker | undefined =>
  existsSync(stateFile(homeOf(env))) ? undefined : summonMaker(inherited(env, dirname(compileCache)));

/**
 * What the first start makes in a database: a local organisation, its owner with a read-write
 * token, and the three probes. It uses the operator's own operations through the gate, in one
 * process that ends (local/first-start-process.ts). Each result is kept at once, so an interrupted
 * start continues where it was.
 */

export type Network = {
  readonly email: string;
  readonly password: string;
  readonly apiToken: string;
  readonly probes: Readonly<Record<SiteName, string>>;
};

/** The network, when nothing is missing. */
export const asNetwork = ({ owner, apiToken, probes: { Frankfurt, Virginia, Singapore } }: Made): Network | undefined =>
  owner && apiToken && Frankfurt && Virginia && Singapore ? { ...owner, apiToken, probes: { Frankfurt, Virginia, Singapore } } : undefined;

export type FirstStart = {
  readonly maker: Maker;
  readonly order: Order;
  /** Called after every step with everything made so far. */
  readonly keep: (made: Made) => void;
};

/** Settles as soon as everything is made. @throws with the process's output when it failed. */
export const makeNetwork = async ({ maker, order, keep }: FirstStart): Promise<Network> => {
  const whole = Promise.withResolvers<Network>();
  const ended = maker.order(order, (line) => {
    const made = madeShape.parse(JSON.parse(line));
    keep(made);
    const network = asNetwork(made);
    if (network !== undefined) whole.resolve(network);
  });
  return await Promise.race([whole.promise, ended]);
};
