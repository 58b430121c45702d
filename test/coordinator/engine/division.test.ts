import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  circling,
  type DivisionInput,
  divide,
  fairShare,
  type History,
  remember,
} from '../../../coordinator/engine/division.ts';

const leaseMs = 6_000;
const all = [...Array(32).keys()];
const unknown: History = { takes: [], givenUp: [] };
const freeSince = (partitions: readonly number[], freeMs: number) =>
  partitions.map((partition) => ({ partition, freeMs }));

const ask = (input: Partial<DivisionInput>) =>
  divide({
    now: 1_000_000,
    leaseMs,
    running: [],
    loading: 0,
    leaving: 0,
    free: [],
    share: { keep: 16, take: 16 },
    isUnable: false,
    history: unknown,
    ...input,
  });

describe('a coordinator', () => {
  test('takes four at once, and more as these have loaded', () => {
    const free = freeSince(all, 0);
    expect(ask({ free }).take).toEqual([0, 1, 2, 3]);
    const history = { ...unknown, takes: remember([], [0, 1, 2, 3], 999_000) };
    const running = [0, 1, 2, 3];
    expect(ask({ free: free.slice(4), running, loading: 3, history }).take).toEqual([4]);
    expect(ask({ free: free.slice(4), running, loading: 4, history }).take).toEqual([]);
  });

  test('takes more although these still load after a lease, since nobody works on the rest', () => {
    const history = { ...unknown, takes: remember([], [0, 1, 2, 3], 994_000) };
    const input = { free: freeSince([4, 5], 9_000), running: [0, 1, 2, 3], history };
    expect(ask({ ...input, loading: 4 }).take).toEqual([4, 5]);
  });

  test('gives up four at once, and more when these have an owner', () => {
    expect(ask({ running: all }).giveUp).toEqual([16, 17, 18, 19]);
    expect(ask({ running: all.slice(0, 28), leaving: 1, free: freeSince([30], 0) }).giveUp).toEqual(
      [16, 17],
    );
    expect(ask({ running: all.slice(0, 28), leaving: 4 }).giveUp).toEqual([]);
  });

  test('gives up all that is beyond its share when it cannot work on them', () => {
    const share = { keep: 0, take: 0 };
    expect(ask({ running: all, share, isUnable: true }).giveUp).toEqual(all);
  });

  test('takes from a silent one only what nobody holds for a while', () => {
    const share = fairShare(32, {
      cutOffMs: null,
      others: { heard: 0, counted: 1 },
      reportedWithinMs: 12_000,
    });
    expect(share).toEqual({ keep: 32, take: 16 });
    const running = all.slice(0, 16);
    expect(ask({ running, share, free: freeSince([16, 17], 1_999) }).take).toEqual([]);
    expect(ask({ running, share, free: freeSince([16, 17], 2_000) }).take).toEqual([16, 17]);
  });

  test('leaves what it gave up to others, unless nobody takes it', () => {
    const history = { ...unknown, givenUp: remember([], [7], 990_000) };
    expect(ask({ history, free: freeSince([7], 5_999) }).take).toEqual([]);
    expect(ask({ history, free: freeSince([7], 6_000) }).take).toEqual([7]);
    expect(ask({ history, free: freeSince([7], 0), now: 1_020_001 }).take).toEqual([7]);
  });

  test('rests between bites when partitions come back, and reports those that circle', () => {
    const roundAt = (at: number, takes: History['takes']) => remember(takes, all, at);
    const thrice = [900_000, 930_000, 960_000].reduce(
      (takes, at) => roundAt(at, takes),
      unknown.takes,
    );
    expect(circling({ ...unknown, takes: thrice }, 1_000_000)).toEqual([]);
    const takes = roundAt(999_000, thrice);
    expect(circling({ ...unknown, takes }, 1_000_000)).toEqual(all);
    expect(circling({ ...unknown, takes }, 1_260_001)).toEqual([]);
    const input = { free: freeSince([3], 0), history: { ...unknown, takes } };
    expect(ask(input).take).toEqual([]);
    expect(ask({ ...input, now: 1_005_400 }).take).toEqual([3]);
    expect(ask({ ...input, free: freeSince([3], 2_000) }).take).toEqual([3]);
  });
});

/** A coordinator of the simulation. Its clock starts anywhere; the database's dates the leases. */
type Simulated = {
  readonly id: number;
  readonly clockAhead: number;
  isAlive: boolean;
  isStopping: boolean;
  readonly running: Map<number, { epoch: number; loadedAt: number }>;
  readonly stopping: Map<number, number>;
  others: { heard: number; counted: number };
  history: History;
  renewAt: number;
  divideAt: number;
  seenAt: number;
  validUntil: number;
};
type Row = { owner: number | null; epoch: number; expiresAt: number };

const faultMs = 120_000;
const settleMs = 30_000;
const calmMs = 60_000;
const stepMs = 100;

type Plan = {
  readonly coordinators: number;
  readonly clocks: readonly number[];
  readonly delays: readonly number[];
  readonly faults: readonly {
    readonly at: number;
    readonly who: number;
    readonly isCrash: boolean;
  }[];
};

/**
 * Until `faultMs` each call takes up to 10 s, and coordinators crash or are rolled; then a call
 * takes up to 0.5 s.
 */
function simulate({ coordinators, clocks, delays, faults }: Plan) {
  const table = new Map<number, Row>(
    all.map((partition) => [partition, { owner: null, epoch: 0, expiresAt: -1 }]),
  );
  const moves: { partition: number; at: number }[] = [];
  let calls = 0;
  let ids = 0;
  let now = 0;
  const took = (): number => {
    const delay = delays[calls++ % delays.length] ?? 0;
    return now < faultMs ? delay : delay / 20;
  };
  const start = (slot: number): Simulated => ({
    id: ids++,
    clockAhead: clocks[slot] ?? 0,
    isAlive: true,
    isStopping: false,
    running: new Map(),
    stopping: new Map(),
    others: { heard: 0, counted: 0 },
    history: unknown,
    renewAt: now,
    divideAt: Number.POSITIVE_INFINITY,
    seenAt: Number.NEGATIVE_INFINITY,
    validUntil: Number.NEGATIVE_INFINITY,
  });
  const fleet = Array.from({ length: coordinators }, (_, slot) => start(slot));
  const restarts: { readonly at: number; readonly slot: number }[] = [];

  const renew = (one: Simulated): void => {
    const heard = (withinMs: number) =>
      fleet.filter((other) => other.id !== one.id && now - other.seenAt < withinMs).length;
    one.others = { heard: heard(leaseMs), counted: heard(3 * leaseMs) };
    one.seenAt = now;
    one.validUntil = now + leaseMs;
    for (const row of table.values()) if (row.owner === one.id) row.expiresAt = now + leaseMs;
    for (const [partition, { epoch }] of one.running)
      if (table.get(partition)?.epoch !== epoch) {
        one.running.delete(partition);
        one.stopping.set(partition, now + took());
      }
    one.divideAt = Math.min(one.divideAt, now + took());
    one.renewAt = now + Math.max(1_500, took());
  };

  const decide = (one: Simulated): void => {
    one.divideAt = Number.POSITIVE_INFINITY;
    const own = now + one.clockAhead;
    const { giveUp, take } = divide({
      now: own,
      leaseMs,
      running: [...one.running.keys()],
      loading: [...one.running.values()].filter(({ loadedAt }) => loadedAt > now).length,
      leaving: one.stopping.size,
      free: [...table].flatMap(([partition, { expiresAt }]) =>
        expiresAt < now && !one.stopping.has(partition)
          ? [{ partition, freeMs: now - expiresAt }]
          : [],
      ),
      share: fairShare(32, { cutOffMs: null, others: one.others, reportedWithinMs: 12_000 }),
      isUnable: false,
      history: one.history,
    });
    for (const partition of giveUp) {
      one.running.delete(partition);
      one.stopping.set(partition, now + took());
    }
    for (const partition of take) {
      const row = table.get(partition);
      if (!row) throw new Error(`no row of partition ${partition}`);
      Object.assign(row, { owner: one.id, epoch: row.epoch + 1, expiresAt: now + leaseMs });
      one.running.set(partition, { epoch: row.epoch, loadedAt: now + took() });
      moves.push({ partition, at: now });
    }
    one.history = {
      givenUp: remember(one.history.givenUp, giveUp, own),
      takes: remember(one.history.takes, take, own),
    };
  };

  const release = (one: Simulated): void => {
    for (const [partition, endsAt] of one.stopping) {
      if (endsAt > now) continue;
      one.stopping.delete(partition);
      const row = table.get(partition);
      if (row?.owner === one.id) Object.assign(row, { owner: null, expiresAt: now });
      for (const other of fleet) other.divideAt = Math.min(other.divideAt, now + stepMs);
    }
  };

  for (; now < faultMs + settleMs + calmMs; now += stepMs) {
    for (const { at, who, isCrash } of faults) {
      const slot = who % coordinators;
      const one = fleet[slot];
      if (at !== now || !one?.isAlive) continue;
      one.isAlive = false;
      if (!isCrash) {
        one.seenAt = Number.NEGATIVE_INFINITY;
        for (const row of table.values())
          if (row.owner === one.id) Object.assign(row, { owner: null, expiresAt: now });
      }
      restarts.push({ at: now + 3_000, slot });
    }
    for (const { at, slot } of restarts) if (at === now) fleet[slot] = start(slot);
    for (const one of fleet) {
      if (!one.isAlive) continue;
      release(one);
      if (one.renewAt <= now) renew(one);
      if (one.divideAt <= now && now < one.validUntil) decide(one);
      if ([...one.running.values()].some(({ loadedAt }) => loadedAt === now))
        one.divideAt = Math.min(one.divideAt, now + stepMs);
    }
  }
  return { fleet, table, moves };
}

test('coordinators that crash on a slow bus and database come to rest soon after', () => {
  const delay = fc.integer({ min: 0, max: 100 }).map((tenths) => tenths * stepMs);
  fc.assert(
    fc.property(
      fc.record({
        coordinators: fc.integer({ min: 2, max: 4 }),
        clocks: fc.array(fc.integer({ min: -3_600_000, max: 3_600_000 }), {
          minLength: 4,
          maxLength: 4,
        }),
        delays: fc.array(delay, { minLength: 20, maxLength: 200 }),
        faults: fc.array(
          fc.record({
            at: fc.integer({ min: 0, max: faultMs / stepMs - 50 }).map((step) => step * stepMs),
            who: fc.nat(3),
            isCrash: fc.boolean(),
          }),
          { maxLength: 8 },
        ),
      }),
      (plan) => {
        const { fleet, table, moves } = simulate(plan);
        for (const [partition, { owner, epoch }] of table) {
          const holders = fleet.filter((one) => one.running.get(partition)?.epoch === epoch);
          expect(holders.map(({ id }) => id)).toEqual([owner]);
          const late = moves.filter((move) => move.partition === partition && move.at >= faultMs);
          expect(late.length).toBeLessThanOrEqual(3);
          expect(late.filter(({ at }) => at >= faultMs + settleMs)).toEqual([]);
        }
      },
    ),
    { numRuns: 60 },
  );
});
