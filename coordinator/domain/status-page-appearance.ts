import { contrastOf, leastContrast, readableOn } from '../../shared/base/contrast.ts';
import { Refusal } from '../../shared/base/errors.ts';

const white = '#ffffff';

/** Rounded down: what is nearly enough is not. */
const ratio = (value: number): string => (Math.floor(value * 10) / 10).toFixed(1);

/** An accent colour that can be read on white; an empty one is none. @throws Refusal `accent_invalid`, which says what would do. */
export const accentFrom = (text: string): string | null => {
  const given = text.trim().toLowerCase().replace(/^#/, '');
  if (given === '') return null;
  const full = /^[0-9a-f]{3}$/.test(given) ? given.replaceAll(/./g, '$&$&') : given;
  if (!/^[0-9a-f]{6}$/.test(full)) throw new Refusal('accent_invalid', 'accent: give a colour as # and six digits, such as #0a5bb5.');
  const accent = `#${full}`;
  const contrast = contrastOf(accent, white);
  if (contrast >= leastContrast) return accent;
  throw new Refusal(
    'accent_invalid',
    `accent: ${accent} is hard to read on white (${ratio(contrast)} to 1, and ${leastContrast} is the least); ${readableOn(accent, white)} is the nearest that would do.`,
  );
};

export const largestLogo = 102_400;

export type LogoType = 'image/png' | 'image/jpeg' | 'image/webp';

const begins = (bytes: Uint8Array, at: number, with_: readonly number[]): boolean =>
  with_.every((byte, index) => bytes[at + index] === byte);

/** By the bytes themselves: a file may be called anything, and SVG could hold a script. */
export const logoTypeOf = (bytes: Uint8Array): LogoType | undefined => {
  if (begins(bytes, 0, [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])) return 'image/png';
  if (begins(bytes, 0, [0xff, 0xd8, 0xff])) return 'image/jpeg';
  if (begins(bytes, 0, [0x52, 0x49, 0x46, 0x46]) && begins(bytes, 8, [0x57, 0x45, 0x42, 0x50])) return 'image/webp';
  return undefined;
};

/** @throws Refusal `logo_invalid`. */
export const logoFrom = (bytes: Uint8Array): { readonly type: LogoType; readonly bytes: Uint8Array } => {
  if (bytes.length === 0) throw new Refusal('logo_invalid', 'logo: choose a file first.');
  if (bytes.length > largestLogo)
    throw new Refusal('logo_invalid', `logo: has ${Math.ceil(bytes.length / 1024)} KB; give one of at most ${largestLogo / 1024} KB.`);
  const type = logoTypeOf(bytes);
  if (type === undefined) throw new Refusal('logo_invalid', 'logo: is neither PNG, JPEG nor WebP; save it as one of them.');
  return { type, bytes };
};
