/** Everybody who can be killed: coordinators, probes, the bus and the database, each as a process of its own on disks of its own. */
import { appendFile, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { z } from 'zod';
import { type Child, type Command, signal, startChild } from '../../../deploy/local/processes.ts';
import type { MadeProbe } from '../../support/network.ts';
import type { Mortal } from '../../support/services-run.ts';

/**
 * Modes: `up` (whoever deployed it starts it again when it ends by itself) → kill → `dead` → start → `up`; `up` ↔ `frozen`; → `stopped`.
 */
export type Victim = {
  readonly name: string;
  readonly kind: 'coordinator' | 'probe' | 'bus' | 'database';
  /** kill -9; settles when it is gone. */
  readonly kill: () => Promise<void>;
  readonly start: () => Promise<void>;
  /** SIGSTOP and SIGCONT; only what has leases to lose can be frozen. */
  readonly freeze?: (frozen: boolean) => void;
  readonly stop: () => Promise<void>;
};

const again = 500;

/** A process that a service manager looks after: it is started again when it ends without having been told to. */
const keptProcess = (name: string, kind: Victim['kind'], command: Command, onKilled: () => Promise<void>): Victim => {
  let child: Child | undefined;
  let mode: 'up' | 'dead' | 'stopped' = 'dead';

  const start = async (): Promise<void> => {
    mode = 'up';
    const started = await startChild(command);
    child = started;
    void started.exited.then(async ({ code }) => {
      if (mode !== 'up' || child !== started) return;
      await appendFile(command.log, `\n(${name} ended by itself with ${code}; it is started again)\n`);
      await pause(again);
      // It may have been killed for good in that pause.
      if (mode === 'up' && child === started) await start();
    });
  };

  return {
    ...{ name, kind, start },
    kill: async () => {
      mode = 'dead';
      if (child) signal(child.pid, 'SIGKILL');
      await child?.exited;
      await onKilled();
    },
    freeze: (frozen) => {
      if (mode === 'up' && child) signal(child.pid, frozen ? 'SIGSTOP' : 'SIGCONT');
    },
    stop: async () => {
      mode = 'stopped';
      await child?.stop(10_000);
    },
  };
};

const root = join(import.meta.dirname, '../../..');
const path = process.env.PATH ?? '';

export const coordinatorVictim = (
  name: string,
  options: { readonly environment: Readonly<Record<string, string>>; readonly port: number; readonly folder: string },
): Victim => {
  const { environment, port, folder } = options;
  const env = { ...environment, PORT: String(port), DATA_DIR: join(folder, name), LOG_LEVEL: 'info', PATH: path };
  const log = join(folder, `${name}.log`);
  const args = [join(root, 'coordinator/main.ts')];
  return keptProcess(
    name,
    'coordinator',
    { name, file: process.execPath, args, env, stopSignal: 'SIGTERM', orphanSignal: 'SIGKILL', log },
    async () => undefined,
  );
};

/** What a killed probe had on its disk at that moment: to each of these the database must be able to answer in the end. */
export type Saved = { readonly probe: string; readonly monitor: string; readonly at: number };

const savedLine = z.object({ monitor: z.string(), at: z.number() });

const savedOf = async (made: MadeProbe): Promise<Saved[]> => {
  const spool = join(made.folder, 'spool');
  const saved: Saved[] = [];
  for (const generation of await readdir(spool, { withFileTypes: true }).catch(() => [])) {
    if (!generation.isDirectory()) continue;
    for (const segment of await readdir(join(spool, generation.name))) {
      const lines = (await readFile(join(spool, generation.name, segment), 'utf8')).split('\n');
      // What stands behind the last end of a line was never written whole.
      for (const line of lines.slice(0, -1)) saved.push({ probe: made.name, ...savedLine.parse(JSON.parse(line)) });
    }
  }
  return saved;
};

export const probeVictim = (
  made: MadeProbe,
  options: {
    readonly folder: string;
    readonly environment: Readonly<Record<string, string>>;
    readonly onKilled: (probe: string, at: number, saved: readonly Saved[]) => void;
  },
): Victim => {
  const log = join(options.folder, `${made.name}.log`);
  const env = {
    ...options.environment,
    PROBE_CREDENTIALS: made.credentials,
    PROBE_DATA_DIR: made.folder,
    PROBE_ALLOW_CIDRS: '127.0.0.0/8',
    LOG_LEVEL: 'info',
    PATH: path,
  };
  const command: Command = {
    name: made.name,
    file: process.execPath,
    args: [join(root, 'probe/main.ts')],
    ...{ env, stopSignal: 'SIGTERM', orphanSignal: 'SIGKILL', log },
  };
  const { freeze: _, ...victim } = keptProcess(made.name, 'probe', command, async () => {
    const at = Date.now();
    options.onKilled(made.name, at, await savedOf(made));
  });
  return victim;
};

export const serverVictim = (name: string, kind: 'bus' | 'database', server: Mortal): Victim => ({
  ...{ name, kind },
  kill: server.kill,
  start: server.start,
  stop: async () => undefined,
});
