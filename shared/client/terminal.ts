/** How things look on a terminal: colours that mean something, and texts of strangers made harmless. */

export type Paint = (text: string, colour: Colour) => string;

const codes = { red: 31, green: 32, yellow: 33, blue: 34, grey: 90, bold: 1 } as const;
export type Colour = keyof typeof codes;

export const painter = (inColour: boolean): Paint =>
  inColour ? (text, colour) => `\u001b[${codes[colour]}m${text}\u001b[0m` : (text) => text;

/** Text without what would steer a terminal: a target's or a colleague's text is shown, never obeyed. */
export const harmless = (text: string): string =>
  text.replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, (sign) => (/\s/.test(sign) ? ' ' : '\ufffd'));

const wide =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60\uffe0-\uffe6]|[\u{1f300}-\u{1faff}]|[\u{20000}-\u{3fffd}]/u;
const segmenter = new Intl.Segmenter();

const segments = (text: string): string[] => [...segmenter.segment(text)].map(({ segment }) => segment);

/** How many columns a text takes. */
export const widthOf = (text: string): number => segments(text).reduce((sum, segment) => sum + (wide.test(segment) ? 2 : 1), 0);

export const cut = (text: string, width: number): string => {
  if (widthOf(text) <= width) return text;
  let kept = '';
  let used = 0;
  for (const segment of segments(text)) {
    const size = wide.test(segment) ? 2 : 1;
    if (used + size > width - 1) break;
    kept += segment;
    used += size;
  }
  return `${kept}…`;
};

export const padded = (text: string, width: number): string => text + ' '.repeat(Math.max(0, width - widthOf(text)));

const units = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1000],
] as const;

export const duration = (ms: number): string => {
  for (const [index, [unit, size]] of units.entries()) {
    if (ms < size) continue;
    const whole = Math.floor(ms / size);
    const next = units[index + 1];
    const rest = next ? Math.floor((ms % size) / next[1]) : 0;
    return next && rest > 0 && whole < 10 ? `${whole} ${unit} ${rest} ${next[0]}` : `${whole} ${unit}`;
  }
  return '0 s';
};

/** `3 min ago`, `in 2 h`. */
export const relative = (at: number, now: number): string => {
  if (Math.abs(now - at) < 1000) return 'now';
  return at <= now ? `${duration(now - at)} ago` : `in ${duration(at - now)}`;
};
