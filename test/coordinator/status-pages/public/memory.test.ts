import { beforeEach, describe, expect, test } from 'vitest';
import { createMemory, type Memory } from '../../../../coordinator/status-pages/public/publishing.ts';

const second = 1_000;

let now: number;
let reads: string[];
let failures: unknown[];
/** What a read gives; a reader that is held gives it later. */
let source: (key: string) => Promise<string | undefined>;
let memory: Memory<string | undefined>;

beforeEach(() => {
  [now, reads, failures] = [1_000_000, [], []];
  source = async (key) => `${key} at ${now}`;
  memory = createMemory<string | undefined>({
    read: (key) => {
      reads.push(key);
      return source(key);
    },
    ...{ now: () => now, most: 4, isWorth: (value) => value !== undefined, onFailure: (error) => void failures.push(error) },
  });
});

const away = new Error('the database is away');

describe('what was read', () => {
  test('is given again for a while, and read by one reader however many ask', async () => {
    const seen = await Promise.all(Array.from({ length: 100 }, () => memory.get('shop')));
    expect(new Set(seen.map(({ value }) => value))).toEqual(new Set(['shop at 1000000']));
    now += 3 * second;
    await memory.get('shop');
    expect(reads).toEqual(['shop']);
  });

  test('is read anew behind the back of who asks, and waited for when it is old', async () => {
    await memory.get('shop');
    now += 5 * second;
    expect(await memory.get('shop')).toMatchObject({ value: 'shop at 1000000', isStale: false });
    expect((await memory.get('shop')).value).toBe('shop at 1005000');
    now += 9 * second;
    const seen = await Promise.all([memory.get('shop'), memory.get('shop')]);
    expect(seen.map(({ value, isStale }) => [value, isStale])).toEqual(Array.from({ length: 2 }, () => ['shop at 1014000', false]));
    expect(reads).toHaveLength(3);
  });

  test('stays while nothing can be read, says from when it is, and is tried again not more than once a second', async () => {
    await memory.get('shop');
    source = () => Promise.reject(away);
    now += 60 * second;
    const seen = await Promise.all(Array.from({ length: 50 }, () => memory.get('shop')));
    expect(new Set(seen.map(({ value, readAt, isStale }) => `${value} ${readAt} ${isStale}`))).toEqual(
      new Set(['shop at 1000000 1000000 true']),
    );
    await memory.get('shop');
    expect([reads.length, failures]).toEqual([2, [away]]);
    now += second;
    await memory.get('shop');
    expect(reads).toHaveLength(3);
    source = async () => 'back';
    now += second;
    await memory.get('shop');
    expect(await memory.get('shop')).toMatchObject({ value: 'back', isStale: false });
  });

  test('is given at once while reading anew takes for ever, after one patient look', async () => {
    await memory.get('shop');
    source = () => new Promise(() => undefined);
    now += 60 * second;
    expect(await memory.get('shop')).toMatchObject({ value: 'shop at 1000000', isStale: true });
    expect(await Promise.all(Array.from({ length: 50 }, () => memory.get('shop')))).toHaveLength(50);
    expect(reads).toHaveLength(2);
  });

  test('is asked for again after a first read in vain', async () => {
    source = () => Promise.reject(away);
    await expect(memory.get('shop')).rejects.toBe(away);
    source = async () => 'there';
    expect((await memory.get('shop')).value).toBe('there');
  });

  test('is not pushed out by whatever does not exist', async () => {
    await memory.get('shop');
    source = async () => undefined;
    for (let guess = 0; guess < 100; guess += 1) await memory.get(`guess ${guess}`);
    reads = [];
    expect((await memory.get('shop')).value).toBe('shop at 1000000');
    expect(reads).toEqual([]);
  });

  test('is found when it was nothing before', async () => {
    source = async () => undefined;
    expect((await memory.get('shop')).value).toBeUndefined();
    source = async () => 'made';
    now += 9 * second;
    expect((await memory.get('shop')).value).toBe('made');
  });
});
