/**
 * The process that makes a network (local-first-start-process.ts), seen from the launcher. In a file without zod, so that it can begin before the
 * launcher has loaded. Modes: loading → loaded → making → ended.
 */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { inherited } from './local-environments.ts';
import { homeOf, projectFolder, stateFile } from './local-folders.ts';

export type Maker = {
  /** Settles when the compiled code of all programs is kept, or it has ended: that only costs speed, and shows when it is to make something. */
  readonly loaded: Promise<void>;
  /** Says what to make; each line that it answers is handed on. Rejects with what it said when it ends. */
  readonly order: (order: unknown, onLine: (line: string) => void) => Promise<never>;
  readonly kill: () => void;
};

/** It begins to load at once, and ends with us or with its work. */
export const summonMaker = (env: Readonly<Record<string, string>>): Maker => {
  const options = { env: { ...env }, cwd: projectFolder, stdio: 'pipe' } as const;
  const child = spawn(process.execPath, [join(import.meta.dirname, 'local-first-start-process.ts')], options);
  const loaded = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<never>();
  let complaint = '';
  child.stderr.on('data', (chunk) => {
    complaint += String(chunk);
  });
  child.stdin.on('error', () => undefined); // It ended before it was told what to make: its end says why.
  child.once('error', ended.reject);
  child.once('close', () => ended.reject(new Error(`the first start failed: ${complaint.trim()}`)));
  ended.promise.catch(() => loaded.resolve()); // Told to whoever has something made.
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
 * For a home that has never been started: loading is the longest work of a first start, so it begins first.
 * @param compileCache the folder in use for our own compiled code.
 */
export const summonMakerEarly = (env: Readonly<Record<string, string | undefined>>, compileCache: string): Maker | undefined =>
  existsSync(stateFile(homeOf(env))) ? undefined : summonMaker(inherited(env, dirname(compileCache)));
