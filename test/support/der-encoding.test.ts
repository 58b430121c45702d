import { expect, test } from 'vitest';
import { integer } from './certificates.ts';

test('an integer takes as few bytes as will do, and one more where it would look negative', () => {
  const made = (...bytes: number[]) => [...integer(Buffer.from(bytes))];
  expect(made(0x12, 0x34)).toEqual([2, 2, 0x12, 0x34]);
  expect(made(0x00, 0x12)).toEqual([2, 1, 0x12]);
  expect(made(0x00, 0x00, 0x92)).toEqual([2, 2, 0x00, 0x92]);
  expect(made(0x80)).toEqual([2, 2, 0x00, 0x80]);
  expect(made(0x00, 0x00)).toEqual([2, 1, 0x00]);
});
