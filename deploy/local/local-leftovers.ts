/** What a launcher that was killed left running: written down while it ran, ended by the next start on the same home. */
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import { signal } from './local-child.ts';
import { readJson, writeJson } from './local-json-file.ts';
import { endLeftPostgres } from './local-postgres.ts';
import { endProcess, findProcess } from './local-processes.ts';

const recordShape = z.array(z.object({ name: z.string(), pid: z.number(), started: z.string() }));

export type ProcessRecord = {
  /** Written down with the time of its start, so that a number given out anew is not mistaken for it. */
  readonly note: (name: string, pid: number) => void;
};

const fileOf = (home: string): string => join(home, 'processes.json');

export const openProcessRecord = (home: string): ProcessRecord => {
  const known = new Map<string, { pid: number; started: string }>();
  const noteLater = async (name: string, pid: number): Promise<void> => {
    const found = await findProcess(pid);
    if (found === undefined) return;
    known.set(name, { pid, started: found.started });
    writeJson(
      fileOf(home),
      [...known].map(([part, process]) => ({ name: part, ...process })),
    );
  };
  // A record that cannot be written costs the next start its knowledge of leftovers, and must not cost this one the part.
  return { note: (name, pid) => void noteLater(name, pid).catch(() => undefined) };
};

/** Ends what the last launcher left behind and says so. @throws when something does not end. */
export const endLeftovers = async (home: string, say: (line: string) => void): Promise<void> => {
  const recorded = readJson(fileOf(home), recordShape) ?? [];
  const endOne = async ({ name, pid, started }: (typeof recorded)[number]): Promise<void> => {
    const found = await findProcess(pid);
    if (found === undefined || found.started !== started) return;
    say(`ending ${name} (process ${pid}), left by a launcher that was killed`);
    const signals = name === 'postgres' ? (['SIGINT', 'SIGQUIT', 'SIGKILL'] as const) : (['SIGTERM', 'SIGKILL'] as const);
    if (!(await endProcess(pid, signals))) throw new Error(`process ${pid} (${name}) of an earlier start does not end`);
    signal(-pid, 'SIGKILL');
  };
  await Promise.all(recorded.map(endOne));
  // Also one that was started in the moment before its launcher was killed: Postgres keeps a record of its own.
  const place = join(home, 'postgres.place');
  await endLeftPostgres(resolve(home, existsSync(place) ? readFileSync(place, 'utf8').trim() : 'postgres'));
};
