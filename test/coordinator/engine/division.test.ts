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
    inTimeMs: Number.POSITIVE_INFINITY,
    history: unknown,
    ...input,
  });

describe('a coordinator', () => {
  test('takes eight at once, and more as these have loaded', () => {
    const free = freeSince(all, 0);
    const running = all.slice(0, 8);
    expect(ask({ free }).take).toEqual(running);
    const history = { ...unknown, takes: remember([], running, 999_000) };
    expect(ask({ free: free.slice(8), running, loading: 7, history }).take).toEqual([8]);
    expect(ask({ free: free.slice(8), running, loading: 8, history }).take).toEqual([]);
  });

  test('takes more although these still load after a lease, since nobody works on the rest', () => {
    const running = all.slice(0, 8);
    const history = { ...unknown, takes: remember([], running, 994_000) };
    const input = { free: freeSince([8, 9], 9_000), running, history };
    expect(ask({ ...input, loading: 8 }).take).toEqual([8, 9]);
  });

  test('gives up eight at once, and more when these have an owner', () => {
    expect(ask({ running: all }).giveUp).toEqual(all.slice(16, 24));
    const running = all.slice(0, 28);
    expect(ask({ running, leaving: 1, free: freeSince([30], 0) }).giveUp).toEqual(
      all.slice(16, 22),
    );
    expect(ask({ running, leaving: 8 }).giveUp).toEqual([]);
  });

  test('gives up all that is beyond its share when it cannot work on them', () => {
    const share = { keep: 0, take: 0 };
    expect(ask({ running: all, share, isUnable: true }).giveUp).toEqual(all);
  });

  test('takes nothing for a lease after it could not renew its own, since others could not either', () => {
    const free = freeSince([16, 17], 60_000);
    expect(ask({ free, inTimeMs: 5_999 }).take).toEqual([]);
    expect(ask({ free, inTimeMs: 6_000 }).take).toEqual([16, 17]);
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

  test('rests between batches when partitions come back, and reports those that circle', () => {
    const roundAt = (at: number, takes: History['takes']) => remember(takes, all, at);
    const thrice = [900_000, 930_000, 960_000].reduce(
      (takes, at) => roundAt(at, takes),
      unknown.takes,
    );
    expect(circling({ ...unknown, takes: thrice }, 1_000_000)).toEqual([]);
    const takes = roundAt(999_000, thrice);
    expect(circling({ ...unknown, takes }, 1_000_000)).toEqual(all);
    expect(circling({ ...unknown, takes }, 1_028_999)).toEqual(all);
    expect(circling({ ...unknown, takes }, 1_029_000)).toEqual([]);
    const input = { free: freeSince([3], 0), history: { ...unknown, takes } };
    expect(ask(input).take).toEqual([]);
    expect(ask({ ...input, now: 1_005_400 }).take).toEqual([3]);
    expect(ask({ ...input, free: freeSince([3], 2_000) }).take).toEqual([3]);
  });
});
