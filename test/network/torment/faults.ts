/** All that can go wrong, each as something that begins and is over after a while: whoever is struck is whole again afterwards. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Sql } from '../../../coordinator/database/connect.ts';
import type { Chance } from '../../simulation/chance.ts';
import type { TcpProxy } from '../../support/connections.ts';
import { refuseWrites } from '../../support/databases.ts';
import type { Victim } from './victims.ts';

export const faultKinds = ['kill', 'freeze', 'reset', 'delay', 'silence', 'cut', 'full', 'refuse'] as const;
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
  ...{ kind: 'kill', name: `kill ${victim.name}`, subject: victim.name, movesPartitions: victim.kind !== 'probe' },
  strike: async () => {
    await victim.kill();
    await pause(chance.between(100, 4_000));
    await victim.start();
  },
});

const frozen = (victim: Victim, freeze: (isFrozen: boolean) => void): Fault => ({
  ...{ kind: 'freeze', name: `freeze ${victim.name}`, subject: victim.name, movesPartitions: true },
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
      ...{ ...common, kind: 'reset', name: `reset ${common.subject}` },
      strike: async () => {
        for (let times = chance.between(1, 4); times > 0; times -= 1) {
          relay.reset();
          await pause(chance.between(20, 800));
        }
      },
    },
    {
      ...{ ...common, kind: 'delay', name: `delay ${common.subject}` },
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
      ...{ ...common, kind: 'silence', name: `silence ${common.subject}` },
      strike: () => until(chance.between(1_000, 20_000), relay.silence, relay.heal),
    },
    {
      ...{ ...common, kind: 'cut', name: `cut ${common.subject}` },
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
      ...{ ...common, kind: 'full', name: 'disk full', movesPartitions: false },
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
      ...{ ...common, kind: 'refuse', name: 'database read only', movesPartitions: true },
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

export const allFaults = (parts: {
  readonly cast: readonly Victim[];
  readonly ways: readonly Way[];
  readonly sql: Sql;
  readonly chance: Chance;
  readonly kinds: readonly FaultKind[];
}): Fault[] => {
  const { cast, ways, sql, chance, kinds } = parts;
  const all = [
    ...cast.map((victim) => killed(victim, chance)),
    ...cast.flatMap((victim) => (victim.freeze && victim.kind === 'coordinator' ? [frozen(victim, victim.freeze)] : [])),
    ...ways.flatMap((way) => onWay(way, chance)),
    ...onDatabase(sql, chance),
  ];
  return all.filter(({ kind }) => kinds.includes(kind));
};

/** What happens in one round: mostly one fault, sometimes two or three at once, sometimes everybody is killed. Kinds are equally likely. */
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
