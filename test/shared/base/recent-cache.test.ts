import { expect, test } from 'vitest';
import { createRecentCache, createShared } from '../../../shared/base/async.ts';

const made = (count: number): [string, number][] => Array.from({ length: count }, (_, at) => [`key ${at}`, at]);

test('as many as it may hold are all found, however often they are asked for in turn', () => {
  const cache = createRecentCache<string, number>(10);
  for (const [key, value] of made(10)) cache.keep(key, value);
  for (let round = 0; round < 5; round += 1) for (const [key, value] of made(10)) expect(cache.find(key)).toBe(value);
});

test('of more, those that were asked for lately stay and no more than twice as many are held', () => {
  const cache = createRecentCache<string, number>(10);
  for (const [key, value] of made(100)) {
    cache.keep(key, value);
    expect(cache.find('key 0')).toBe(0);
  }
  const found = made(100).filter(([key]) => cache.find(key) !== undefined);
  expect(found.length).toBeLessThanOrEqual(20);
  expect(found).toContainEqual(['key 99', 99]);
});

test('what is kept anew takes the place of what was there', () => {
  const cache = createRecentCache<string, number>(2);
  cache.keep('a', 1);
  cache.keep('b', 2);
  cache.keep('c', 3);
  cache.keep('a', 4);
  expect(cache.find('a')).toBe(4);
});

test('what is shared is one object for equal values, until many others came between', () => {
  const shared = createShared<{ readonly text: string }>(2);
  const share = (text: string) => shared(text, { text });
  const first = share('a');
  expect(share('a')).toBe(first);
  expect(share('b')).toEqual({ text: 'b' });
  for (const text of ['c', 'd', 'e', 'f']) share(text);
  expect(share('a')).not.toBe(first);
  expect(share('a')).toEqual(first);
});
