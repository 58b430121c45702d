import { expect, test } from 'vitest';
import { originOf, readOrigins } from '../../../coordinator/probes/origins.ts';

const origins = readOrigins(`# who announces what
203.0.113.0/24 AS64500 Example Net
203.0.113.128/25  64501
2001:db8::/32\tas64502

198.51.100.7 64503`);

test.each([
  ['203.0.113.4', 64_500],
  ['203.0.113.200', 64_501],
  ['::ffff:203.0.113.4', 64_500],
  ['2001:db8::1', 64_502],
  ['198.51.100.7', 64_503],
  ['198.51.100.8', undefined],
  ['', undefined],
  ['nonsense', undefined],
])('%s is in the narrowest network that the file has: %s', (address, number) => {
  expect(originOf(origins, address)).toBe(number);
});

test.each(['203.0.113.0/33 64500', '203.0.113.0/24', '203.0.113.0/24 AS', 'x AS64500'])(
  '"%s" is refused by its line',
  (line) => {
    expect(() => readOrigins(`# first\n${line}`)).toThrow('line 2 must be such as');
  },
);
