import { expect } from 'vitest';
import {
  type Exchange,
  greetings,
  type Reading,
  upgrading,
} from '../../../probe/checks/tcp/greetings.ts';
import { banners, upgrades } from '../../../shared/checks/tcp/keys.ts';
import fc from '../../support/random.ts';

/** Every reader of a server's words, and words that lead deep into them. */

export const bytes = (text: string | Buffer): Buffer =>
  typeof text === 'string' ? Buffer.from(text, 'latin1') : text;

/** Judges what comes in pieces of this size, as a connection may bring it. */
export const readingOf = (
  { read }: Exchange,
  said: string | Buffer,
  size: number,
): Reading | undefined => {
  const whole = bytes(said);
  for (let from = 0; from < whole.length; from += size) {
    const found = read(whole.subarray(0, from + size), from);
    if (found) return found;
  }
  return undefined;
};

const exchanges: readonly Exchange[] = [
  ...banners.flatMap((banner) => greetings[banner].exchanges),
  ...upgrades.flatMap((upgrade) => {
    const { greeting, asking } = upgrading(upgrade, 'antipode.example');
    return [...greeting, ...asking];
  }),
];

/** What is near the truth goes deepest into a reader. */
const beginnings = [
  '220',
  '220-a\r\n220',
  '250-STARTTLS\r\n',
  '* OK ',
  'a OK\r\n',
  '+OK',
  '-ERR',
  'SSH-2.0-',
  '+PONG',
  'S',
  'R\0\0\0\x08',
  'E\0\0\0\x20SFATAL\0C57P03\0',
  '\x20\0\0\0\x0a',
  '\x03\0\0\0\xff',
  '\x01\0\0\0\xfe',
  '\x30\x0c\x02\x01\x01\x78',
  '\x30\x84\0\0\0\x28\x02\x01\x01',
];
export const words = fc
  .tuple(fc.constantFrom('', ...beginnings), fc.uint8Array({ maxLength: 300 }))
  .map(([beginning, rest]) => Buffer.concat([bytes(beginning), rest]));

/** For as many runs as a test has time for. */
export const readsAnything = fc.property(words, fc.integer({ min: 1, max: 50 }), (whole, size) => {
  for (const exchange of exchanges) {
    const found = readingOf(exchange, whole, size);
    const used = found?.is === 'right' || found?.is === 'reply' ? found.used : 0;
    expect(used).toBeLessThanOrEqual(whole.length);
    // Numbers and words of our own alone.
    const code = found?.is === 'refused' ? (found.code ?? '') : '';
    expect(String(code).length).toBeLessThan(40);
    expect(found?.is).toBe(readingOf(exchange, whole, whole.length || 1)?.is);
  }
});
