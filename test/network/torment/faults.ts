import { appendFile, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { z } from 'zod';
import type { Sql } from '../../../coordinator/database/connect.ts';
import { type Child, type Command, signal, startChild } from '../../../deploy/local/processes.ts';
import type { Continent } from '../../../shared/base/continents.ts';
import type { Chance } from '../../simulation/story.ts';
import type { TcpProxy } from '../../support/connections.ts';
import { refuseWrites } from '../../support/databases.ts';
import type { MadeProbe } from '../../support/network.ts';
import type { Mortal } from '../../support/services-run.ts';
import type { SlowApi } from '../../support/slow-api.ts';
import type { Kill, Saved } from './ledger.ts';
import type { Truth } from './truth.ts';

/**
 * Everybody who can be killed: coordinators, probes, the bus and the database, each as a process of
 * its own on disks of its own.
 */

/**
 * Modes: `up` (whoever deployed it starts it again when it ends by itself) → kill → `dead` → start
 * → `up`; `up` ↔ `frozen`; → `stopped`.
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

/**
 * A process that a service manager looks after: it is started again when it ends without having
 * been told to.
 */
const keptProcess = (
  name: string,
  kind: Victim['kind'],
  command: Command,
  onKilled: (at: number) => Promise<void>,
): Victim => {
  let child: Child | undefined;
  let mode: 'up' | 'dead' | 'stopped' = 'dead';

  const start = async (): Promise<void> => {
    mode = 'up';
    const started = await startChild(command);
    child = started;
    void started.exited.then(async ({ code }) => {
      if (mode !== 'up' || child !== started) return;
      await appendFile(
        command.log,
        `\n(${name} ended by itself with ${code}; it is started again)\n`,
      );
      await pause(again);
      // It may have been killed for good in that pause.
      if (mode === 'up' && child === started) await start();
    });
  };

  return {
    name,
    kind,
    start,
    kill: async () => {
      mode = 'dead';
      const at = Date.now();
      if (child) signal(child.pid, 'SIGKILL');
      await child?.exited;
      await onKilled(at);
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
  options: {
    readonly environment: Readonly<Record<string, string>>;
    readonly port: number;
    readonly folder: string;
  },
): Victim => {
  const { environment, port, folder } = options;
  const env = {
    ...environment,
    PORT: String(port),
    DATA_DIR: join(folder, name),
    LOG_LEVEL: 'info',
    PATH: path,
  };
  const log = join(folder, `${name}.log`);
  const args = [join(root, 'coordinator/main.ts')];
  return keptProcess(
    name,
    'coordinator',
    { name, file: process.execPath, args, env, stopSignal: 'SIGTERM', log },
    async () => undefined,
  );
};

const savedLine = z.object({ monitor: z.string(), at: z.number() });

const savedOf = async (made: MadeProbe): Promise<Saved[]> => {
  const spool = join(made.folder, 'spool');
  const saved: Saved[] = [];
  for (const generation of await readdir(spool, { withFileTypes: true }).catch(() => [])) {
    if (!generation.isDirectory()) continue;
    for (const segment of await readdir(join(spool, generation.name))) {
      const lines = (await readFile(join(spool, generation.name, segment), 'utf8')).split('\n');
      // What stands behind the last end of a line was never written whole.
      for (const line of lines.slice(0, -1))
        saved.push({ probe: made.name, ...savedLine.parse(JSON.parse(line)) });
    }
  }
  return saved;
};

export const probeVictim = (
  made: MadeProbe,
  options: {
    readonly folder: string;
    readonly environment: Readonly<Record<string, string>>;
    readonly onKilled: (kill: Kill, saved: readonly Saved[]) => void;
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
    env,
    stopSignal: 'SIGTERM',
    log,
  };
  const { freeze: _, ...victim } = keptProcess(made.name, 'probe', command, async (at) => {
    options.onKilled({ probe: made.name, at, goneAt: Date.now() }, await savedOf(made));
  });
  return victim;
};

export const serverVictim = (name: string, kind: 'bus' | 'database', server: Mortal): Victim => ({
  name,
  kind,
  kill: server.kill,
  start: server.start,
  stop: async () => undefined,
});

/**
 * All that can go wrong, each as something that begins and is over after a while: whoever is struck
 * is whole again afterwards.
 */

export const faultKinds = [
  'kill',
  'freeze',
  'reset',
  'delay',
  'silence',
  'cut',
  'full',
  'refuse',
  'slow',
  'sick',
] as const;
export type FaultKind = (typeof faultKinds)[number];

/** One that may happen to somebody. Two of the same subject never happen at once. */
export type Fault = {
  readonly kind: FaultKind;
  readonly name: string;
  readonly subject: string;
  /** Whether partitions may change hands by it. */
  readonly movesPartitions: boolean;
  /** Settles when it is over. */
  readonly strike: () => Promise<void>;
};

/** A way from somebody to the database or the bus. */
export type Way = {
  readonly name: string;
  readonly of: 'coordinator' | 'probe';
  readonly to: 'bus' | 'database';
  readonly relay: TcpProxy;
};

/** Longer than a lease lasts, so that partitions move. */
const frozenMs = 7_500;

const killed = (victim: Victim, chance: Chance): Fault => ({
  kind: 'kill',
  name: `kill ${victim.name}`,
  subject: victim.name,
  movesPartitions: victim.kind !== 'probe',
  strike: async () => {
    await victim.kill();
    await pause(chance.between(100, 4_000));
    await victim.start();
  },
});

const frozen = (victim: Victim, freeze: (isFrozen: boolean) => void): Fault => ({
  kind: 'freeze',
  name: `freeze ${victim.name}`,
  subject: victim.name,
  movesPartitions: true,
  strike: async () => {
    freeze(true);
    await pause(frozenMs);
    freeze(false);
  },
});

const onWay = ({ name, of, to, relay }: Way, chance: Chance): Fault[] => {
  const common = { subject: `${name} to ${to}`, movesPartitions: of === 'coordinator' };
  const until = async (ms: number, begin: () => void, end: () => void): Promise<void> => {
    begin();
    await pause(ms);
    end();
  };
  return [
    {
      ...common,
      kind: 'reset',
      name: `reset ${common.subject}`,
      strike: async () => {
        for (let times = chance.between(1, 4); times > 0; times -= 1) {
          relay.reset();
          await pause(chance.between(20, 800));
        }
      },
    },
    {
      ...common,
      kind: 'delay',
      name: `delay ${common.subject}`,
      strike: () => {
        const ms = chance.between(10, 250);
        return until(
          chance.between(2_000, 10_000),
          () => relay.delay(ms),
          () => relay.delay(0),
        );
      },
    },
    {
      ...common,
      kind: 'silence',
      name: `silence ${common.subject}`,
      strike: () => until(chance.between(1_000, 20_000), relay.silence, relay.heal),
    },
    {
      ...common,
      kind: 'cut',
      name: `cut ${common.subject}`,
      strike: () => until(chance.between(500, 10_000), relay.cut, relay.heal),
    },
  ];
};

/** Until it succeeds: a database that stays as we made it would be a fault of torment's own. */
const surely = async (work: () => Promise<unknown>): Promise<void> => {
  for (let tries = 0; ; tries += 1)
    try {
      await work();
      return;
    } catch (error) {
      if (tries === 100) throw error;
      await pause(200);
    }
};

/** `sql` goes straight to it, as one who may do everything. */
const onDatabase = (sql: Sql, chance: Chance): Fault[] => {
  const common = { subject: 'Postgres' };
  return [
    {
      ...common,
      kind: 'full',
      name: 'disk full',
      movesPartitions: false,
      strike: async () => {
        let takeAgain: (() => Promise<void>) | undefined;
        await surely(async () => {
          takeAgain = await refuseWrites(sql);
        });
        await pause(chance.between(2_000, 15_000));
        await surely(async () => takeAgain?.());
      },
    },
    {
      ...common,
      kind: 'refuse',
      name: 'database read only',
      movesPartitions: true,
      strike: async () => {
        const say = (word: string) =>
          surely(async () => {
            await sql.unsafe(`alter system ${word}`);
            await sql.unsafe('select pg_reload_conf()');
          });
        await say('set default_transaction_read_only = on');
        await pause(chance.between(2_000, 15_000));
        await say('reset default_transaction_read_only');
      },
    },
  ];
};

/** All that the bus is asked about its streams takes 3 to 5 s. */
const onApi = (api: SlowApi, chance: Chance): Fault => ({
  kind: 'slow',
  name: 'slow bus',
  subject: 'API of the bus',
  movesPartitions: true,
  strike: async () => {
    api.setSlow(true);
    await pause(chance.between(5_000, 40_000));
    api.setSlow(false);
  },
});

/** Two of the continents see every page fail, and the third sees all of them well. */
const onContinents = (
  truth: Pick<Truth, 'sicken'>,
  continents: readonly Continent[],
  chance: Chance,
): Fault => {
  // The same two each time: where others followed within a moment, all three would have failed.
  const well = chance.pick(continents);
  return {
    kind: 'sick',
    name: 'two sick continents',
    subject: 'continents',
    movesPartitions: false,
    strike: async () => {
      truth.sicken(continents.filter((one) => one !== well));
      await pause(chance.between(2_000, 45_000));
      truth.sicken([]);
    },
  };
};

export const allFaults = (parts: {
  readonly cast: readonly Victim[];
  readonly api: SlowApi;
  readonly truth: Pick<Truth, 'sicken'>;
  readonly continents: readonly Continent[];
  readonly ways: readonly Way[];
  readonly sql: Sql;
  readonly chance: Chance;
  readonly kinds: readonly FaultKind[];
}): Fault[] => {
  const { cast, ways, api, truth, continents, sql, chance, kinds } = parts;
  const all = [
    ...cast.map((victim) => killed(victim, chance)),
    ...cast.flatMap((victim) =>
      victim.freeze && victim.kind === 'coordinator' ? [frozen(victim, victim.freeze)] : [],
    ),
    ...ways.flatMap((way) => onWay(way, chance)),
    ...onDatabase(sql, chance),
    onApi(api, chance),
    onContinents(truth, continents, chance),
  ];
  return all.filter(({ kind }) => kinds.includes(kind));
};

/**
 * What happens in one round: mostly one fault, sometimes two or three at once, sometimes everybody
 * is killed. Kinds are equally likely.
 */
export const choose = (chance: Chance, faults: readonly Fault[]): readonly Fault[] => {
  const share = chance.next();
  const kills = faults.filter(({ kind }) => kind === 'kill');
  if (share < 0.06 && kills.length > 0) return kills;
  const count = share < 0.55 ? 1 : share < 0.85 ? 2 : 3;
  const chosen: Fault[] = [];
  for (let tries = 0; chosen.length < count && tries < 20; tries += 1) {
    const kind = chance.pick([...new Set(faults.map((one) => one.kind))]);
    const fault = chance.pick(faults.filter((one) => one.kind === kind));
    // A database that is killed while it is told to refuse cannot be told that it is over.
    if (!chosen.some(({ subject }) => subject === fault.subject)) chosen.push(fault);
  }
  return chosen;
};
