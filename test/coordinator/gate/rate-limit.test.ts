import { afterAll, describe, expect, test } from 'vitest';
import { connect } from '../../../coordinator/database/connect.ts';
import {
  type Count,
  createRateLimiter,
  type RateLimiter,
} from '../../../coordinator/gate/rate-limit.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { createLog } from '../../../shared/base/log.ts';
import { ownDatabase } from '../../support/services.ts';

const { sql } = await ownDatabase({ name: 'test', connections: 2 });
let now = Date.parse('2026-11-20T10:00:00Z');
const limiters: RateLimiter[] = [];

/** Settles only when told to, so that tests say when coordinators hear of each other. */
const limiter = (perMinute: number): RateLimiter => {
  const log = createLog({ name: 'test', level: 'silent' });
  const made = createRateLimiter({
    sql,
    clock: { now: () => now },
    log,
    perMinute,
    settleEvery: 3_600_000,
    patience: 3_600_000,
  });
  limiters.push(made);
  return made;
};

afterAll(async () => {
  await Promise.all(limiters.map((one) => one.close()));
});

const calls = async (of: RateLimiter, subject: string, count: number): Promise<Count[]> => {
  const counted: Count[] = [];
  for (let nth = 0; nth < count; nth += 1) counted.push(await of.count(subject));
  return counted;
};

/** So many coordinators are there from now on. */
const present = async (count: number): Promise<void> => {
  await sql`delete from coordinators`;
  for (let nth = 0; nth < count; nth += 1)
    await sql`insert into coordinators (id, version, seen_at) values (${newId()}, '1', now() + interval '1 day')`;
};

describe('a window', () => {
  test('can be read without counting', async () => {
    const one = limiter(3);
    expect([one.look('token:looked'), one.look('token:looked')]).toEqual(
      Array(2).fill({ allowed: true, remaining: 3, reset: 60 }),
    );
    await calls(one, 'token:looked', 3);
    now += 20_000;
    expect(one.look('token:looked')).toEqual({ allowed: false, remaining: 0, reset: 40 });
    now += 40_000;
    expect(one.look('token:looked')).toEqual({ allowed: true, remaining: 3, reset: 60 });
  });

  test('lets 120 calls pass, refuses the next, and says how many and how long', async () => {
    const one = limiter(120);
    const first = await calls(one, 'token:a', 120);
    expect(first.every(({ allowed }) => allowed)).toBe(true);
    expect(first.map(({ remaining }) => remaining)).toEqual(
      Array.from({ length: 120 }, (_, index) => 119 - index),
    );
    now += 20_500;
    expect(await one.count('token:a')).toEqual({ allowed: false, remaining: 0, reset: 40 });
    expect(await one.count('token:b')).toEqual({ allowed: true, remaining: 119, reset: 60 });
  });

  test('begins with the first call, ends 60 seconds later however often one knocks, and the next begins with its first call', async () => {
    const one = limiter(2);
    await calls(one, 'token:c', 2);
    now += 59_999;
    expect(await one.count('token:c')).toEqual({ allowed: false, remaining: 0, reset: 1 });
    now += 1;
    expect(await one.count('token:c')).toEqual({ allowed: true, remaining: 1, reset: 60 });
  });
});

describe('two coordinators', () => {
  test('count together once they have settled, in the window that began first', async () => {
    const [one, two] = [limiter(120), limiter(120)];
    await calls(one, 'token:d', 50);
    await one.settle();
    now += 10_000;
    await calls(two, 'token:d', 30);
    await two.settle();
    expect(await two.count('token:d')).toEqual({ allowed: true, remaining: 39, reset: 50 });
    expect((await one.count('token:d')).remaining).toBe(69);
    await one.settle();
    expect((await one.count('token:d')).remaining).toBe(120 - 82);
    await calls(one, 'token:d', 200);
    await one.settle();
    await two.count('token:d');
    await two.settle();
    expect((await two.count('token:d')).allowed).toBe(false);
  });

  test('restart together when a window is over', async () => {
    const [one, two] = [limiter(10), limiter(10)];
    await calls(one, 'token:e', 10);
    await one.settle();
    now += 61_000;
    expect(await two.count('token:e')).toMatchObject({ allowed: true, remaining: 9 });
    await two.settle();
    expect(await one.count('token:e')).toMatchObject({ allowed: true, remaining: 9 });
    await one.settle();
    expect((await one.count('token:e')).remaining).toBe(7);
  });

  test('do not write for each call: a thousand calls are one row and one statement', async () => {
    const one = limiter(100_000);
    await calls(one, 'token:f', 1000);
    await one.settle();
    expect(await sql`select calls from rate_windows where subject = 'token:f'`).toEqual([
      { calls: 1000 },
    ]);
  });
});

describe('several coordinators at once', () => {
  test.each([2, 3, 4])(
    '%i, each knocked at as fast as can be, let a tenth too many pass at most, and no fewer than the limit',
    async (many) => {
      await present(many);
      const all = Array.from({ length: many }, () => limiter(120));
      // Each has heard how many there are.
      for (const each of all) {
        await each.count(`token:warm ${many}`);
        await each.settle();
      }
      const burst = await Promise.all(
        all.flatMap((each) => Array.from({ length: 200 }, () => each.count(`token:burst ${many}`))),
      );
      const passed = burst.filter(({ allowed }) => allowed).length;
      expect(passed).toBeGreaterThanOrEqual(120);
      expect(passed).toBeLessThanOrEqual(132);
      // Exhausted, it is exhausted for one that has not heard of it yet.
      await Promise.all(all.map((each) => each.settle()));
      const late = limiter(120);
      const after = await calls(late, `token:burst ${many}`, 30);
      expect(after.filter(({ allowed }) => allowed).length).toBeLessThanOrEqual(12);
      await present(0);
    },
  );

  test('a call never waits while a share lasts, nor where there is but one coordinator', async () => {
    await present(1);
    const one = limiter(120);
    await calls(one, 'token:alone', 1);
    await one.settle();
    const counted = Array.from({ length: 119 }, () => one.count('token:alone'));
    expect(counted.some((each) => each instanceof Promise)).toBe(false);
    await present(2);
    await one.settle();
    now += 60_000;
    await calls(one, 'token:alone', 1);
    await one.settle();
    const share = Array.from({ length: 11 }, () => one.count('token:alone'));
    expect(share.some((each) => each instanceof Promise)).toBe(false);
    await present(0);
  });
});

test('a lost database stops no call, and the counts of meanwhile are settled later', async () => {
  const gone = connect('postgres://nobody@127.0.0.1:1/none', { name: 'gone', connections: 1 });
  const log = createLog({ name: 'test', level: 'silent' });
  const alone = createRateLimiter({
    sql: gone,
    clock: { now: () => now },
    log,
    perMinute: 3,
    settleEvery: 3_600_000,
  });
  await calls(alone, 'token:g', 2);
  await alone.settle();
  expect(await alone.count('token:g')).toMatchObject({ allowed: true, remaining: 0 });
  expect((await alone.count('token:g')).allowed).toBe(false);
  await gone.end();
});
