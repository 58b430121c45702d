import { expect, test } from 'vitest';
import { isLossy, lossyNumberIn } from '../../../shared/base/json.ts';

test.each([
  ['0', false],
  ['-9007199254740991', false],
  ['9007199254740992', false],
  ['9007199254740993', true],
  ['-9007199254740993', true],
  ['100000000000000000000', false],
  ['12345678901234567890', true],
  ['0.30000000000000004441', false],
  ['1e21', false],
  ['1e400', true],
  ['9'.repeat(400), true],
])('the number %s, read and written again, is another one: %s', (written, lossy) => {
  expect(isLossy(written)).toBe(lossy);
});

test('only numbers are looked at, not the digits of texts', () => {
  expect(lossyNumberIn('{"a\\"12345678901234567890":"12345678901234567890","b":[1,2.5,"x"]}')).toBeUndefined();
  expect(lossyNumberIn('{"a":"\\\\","b":[1,{"c":12345678901234567890}]}')).toBe('12345678901234567890');
});
