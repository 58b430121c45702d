import { expect, test } from 'vitest';
import { createRecent } from '../../../probe/checks/recent.ts';

const made = (count: number): [string, number][] => Array.from({ length: count }, (_, at) => [`key ${at}`, at]);

test('as many as it may hold are all found, however often they are asked for in turn', () => {
  const recent = createRecent<string, number>(10);
  for (const [key, value] of made(10)) recent.keep(key, value);
  for (let round = 0; round < 5; round += 1) for (const [key, value] of made(10)) expect(recent.find(key)).toBe(value);
});

test('of more, those that were asked for lately stay and no more than twice as many are held', () => {
  const recent = createRecent<string, number>(10);
  for (const [key, value] of made(100)) {
    recent.keep(key, value);
    expect(recent.find('key 0')).toBe(0);
  }
  const found = made(100).filter(([key]) => recent.find(key) !== undefined);
  expect(found.length).toBeLessThanOrEqual(20);
  expect(found).toContainEqual(['key 99', 99]);
});

test('what is kept anew takes the place of what was there', () => {
  const recent = createRecent<string, number>(2);
  recent.keep('a', 1);
  recent.keep('b', 2);
  recent.keep('c', 3);
  recent.keep('a', 4);
  expect(recent.find('a')).toBe(4);
});
