import { afterAll, describe, expect, test } from 'vitest';
import { createRateLimiter, type RateLimiter } from '../../../coordinator/access/rate-limit.ts';
import { connect } from '../../../coordinator/store/database.ts';
import { createLog } from '../../../shared/base/log.ts';
import { ownDatabase } from '../../support/own-database.ts';

const { sql } = await ownDatabase({ name: 'test', connections: 2 });
let now = Date.parse('2026-11-20T10:00:00Z');
const limiters: RateLimiter[] = [];

/** Settles only when told to, so that tests say when coordinators hear of each other. */
const limiter = (perMinute: number): RateLimiter => {
  const log = createLog({ name: 'test', level: 'silent' });
  const made = createRateLimiter({ sql, clock: { now: () => now }, log, perMinute, settleEvery: 3_600_000 });
  limiters.push(made);
  return made;
};

afterAll(async () => {
  await Promise.all(limiters.map((one) => one.close()));
});

const calls = (of: RateLimiter, subject: string, count: number) => Array.from({ length: count }, () => of.count(subject));

describe('a window', () => {
  test('lets 120 calls pass, refuses the next, and says how many and how long', () => {
    const one = limiter(120);
    const first = calls(one, 'token:a', 120);
    expect(first.every(({ allowed }) => allowed)).toBe(true);
    expect(first.map(({ remaining }) => remaining)).toEqual(Array.from({ length: 120 }, (_, index) => 119 - index));
    now += 20_500;
    expect(one.count('token:a')).toEqual({ allowed: false, remaining: 0, reset: 40 });
    expect(one.count('token:b')).toEqual({ allowed: true, remaining: 119, reset: 60 });
  });

  test('begins with the first call, ends 60 seconds later however often one knocks, and the next begins with its first call', () => {
    const one = limiter(2);
    calls(one, 'token:c', 2);
    now += 59_999;
    expect(one.count('token:c')).toEqual({ allowed: false, remaining: 0, reset: 1 });
    now += 1;
    expect(one.count('token:c')).toEqual({ allowed: true, remaining: 1, reset: 60 });
  });
});

describe('two coordinators', () => {
  test('count together once they have settled, in the window that began first', async () => {
    const [one, two] = [limiter(120), limiter(120)];
    calls(one, 'token:d', 50);
    await one.settle();
    now += 10_000;
    calls(two, 'token:d', 30);
    await two.settle();
    expect(two.count('token:d')).toEqual({ allowed: true, remaining: 39, reset: 50 });
    expect(one.count('token:d').remaining).toBe(69);
    await one.settle();
    expect(one.count('token:d').remaining).toBe(120 - 82);
    calls(one, 'token:d', 200);
    await one.settle();
    two.count('token:d');
    await two.settle();
    expect(two.count('token:d').allowed).toBe(false);
  });

  test('begin anew together when a window is over', async () => {
    const [one, two] = [limiter(10), limiter(10)];
    calls(one, 'token:e', 10);
    await one.settle();
    now += 61_000;
    expect(two.count('token:e')).toMatchObject({ allowed: true, remaining: 9 });
    await two.settle();
    expect(one.count('token:e')).toMatchObject({ allowed: true, remaining: 9 });
    await one.settle();
    expect(one.count('token:e').remaining).toBe(7);
  });

  test('do not write for each call: a thousand calls are one row and one statement', async () => {
    const one = limiter(100_000);
    calls(one, 'token:f', 1000);
    await one.settle();
    expect(await sql`select calls from rate_windows where subject = 'token:f'`).toEqual([{ calls: 1000 }]);
  });
});

test('a database that is away stops nobody, and what was counted meanwhile is settled later', async () => {
  const gone = connect('postgres://nobody@127.0.0.1:1/none', { name: 'gone', connections: 1 });
  const log = createLog({ name: 'test', level: 'silent' });
  const alone = createRateLimiter({ sql: gone, clock: { now: () => now }, log, perMinute: 3, settleEvery: 3_600_000 });
  calls(alone, 'token:g', 2);
  await alone.settle();
  expect(alone.count('token:g')).toMatchObject({ allowed: true, remaining: 0 });
  expect(alone.count('token:g').allowed).toBe(false);
  await gone.end();
});
