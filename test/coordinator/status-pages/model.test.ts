import { expect, test } from 'vitest';
import { accentFrom, logoTypeOf, pageLanguages, postKinds, usualPost } from '../../../coordinator/status-pages/model.ts';

test('an accent is written in one way, and one that is hard to read is refused with one that would do', () => {
  expect(accentFrom(' 0A5BB5 ')).toBe('#0a5bb5');
  expect(accentFrom('#00f')).toBe('#0000ff');
  expect(accentFrom(' ')).toBeNull();
  let words = '';
  try {
    accentFrom('#ffcc00');
  } catch (error) {
    words = error instanceof Error ? error.message : '';
  }
  expect(words).toMatch(/^accent: #ffcc00 is hard to read on white \(1\.5 to 1/);
  expect(accentFrom(/(#[0-9a-f]{6}) is the nearest/.exec(words)?.[1] ?? '')).toMatch(/^#/);
});

test('a logo is known by its first bytes, whatever it is called', () => {
  expect(logoTypeOf(Buffer.from('89504e470d0a1a0a00', 'hex'))).toBe('image/png');
  expect(logoTypeOf(Buffer.from('ffd8ffe0', 'hex'))).toBe('image/jpeg');
  expect(logoTypeOf(Buffer.from('RIFF....WEBPVP8 '))).toBe('image/webp');
  for (const other of ['<svg/>', 'GIF89a', 'RIFF....WAVE', '', '\u0089PN']) expect(logoTypeOf(Buffer.from(other))).toBeUndefined();
});

test('the usual words name what they are about, in each language and for each kind differently', () => {
  const all = pageLanguages.flatMap((language) => postKinds.map((kind) => usualPost(language, kind, 'Checkout')));
  expect(new Set(all).size).toBe(16);
  for (const words of all) expect(words).toContain('Checkout');
});
