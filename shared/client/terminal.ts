import stringWidth from 'string-width';
import { createRecentCache } from '../base/async.ts';

/** Terminal output: colours with a meaning, and text of others made printable. */

export type Paint = (text: string, colour: Colour) => string;

const codes = { red: 31, green: 32, yellow: 33, blue: 34, grey: 90, bold: 1 } as const;
export type Colour = keyof typeof codes;

export function painter(inColour: boolean): Paint {
  return inColour ? (text, colour) => `\u001b[${codes[colour]}m${text}\u001b[0m` : (text) => text;
}

const ascii = /^[\x20-\x7e]*$/;

/**
 * Whole emoji first, to match their joiners with them; then joiners after a letter and direction
 * marks, which are kept too.
 */
const kept = String.raw`\p{RGI_Emoji}|(?<=[\p{L}\p{M}])[\u200c\u200d]|[\u200e\u200f\u061c]`;
const keptOrSteering = new RegExp(`(${kept})|[\\p{Cc}\\p{Cf}\\u2028\\u2029]`, 'gv');

/**
 * Removes everything that would control a terminal: text of a target or a colleague is shown, never
 * executed.
 */
export function printable(text: string): string {
  return ascii.test(text)
    ? text
    : text.replaceAll(
        keptOrSteering,
        (sign, stays: string | undefined) => stays ?? (/\s/.test(sign) ? ' ' : '\ufffd'),
      );
}

const segmenter = new Intl.Segmenter();

/** Characters that take one column each: ASCII and the marks that we write ourselves. */
const narrow = /^[\x20-\x7e–…]*$/;

/** How many columns a text takes. */
export function widthOf(text: string): number {
  return narrow.test(text) ? text.length : measured(text);
}

/** A table needs the width of each of its texts several times. */
const widths = createRecentCache<string, number>(20_000);

function measured(text: string): number {
  const known = widths.find(text);
  if (known !== undefined) return known;
  const width = stringWidth(text);
  widths.keep(text, width);
  return width;
}

export function cut(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  if (narrow.test(text)) return `${text.slice(0, Math.max(0, width - 1))}…`;
  let kept = '';
  let used = 0;
  for (const { segment } of segmenter.segment(text)) {
    used += widthOf(segment);
    if (used > width - 1) break;
    kept += segment;
  }
  return `${kept}…`;
}

/** Wraps between words to this many columns. A longer word stays whole, to be copied. */
export function wrapped(text: string, width: number): string[] {
  if (widthOf(text) <= width) return [text];
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last !== undefined && widthOf(last) + 1 + widthOf(word) <= width)
      lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

const rightToLeft =
  /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}]/v;
const leftToRightMark = '\u200e';

/**
 * Adds a mark after right-to-left text: without it the terminal draws the next column's number
 * before the text.
 */
export function padded(text: string, width: number): string {
  return `${text}${!ascii.test(text) && rightToLeft.test(text) ? leftToRightMark : ''}${' '.repeat(Math.max(0, width - widthOf(text)))}`;
}

const units = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1000],
] as const;

/** `-5 min`: of what was overspent. */
export function duration(ms: number): string {
  if (ms <= -1_000) return `-${duration(-ms)}`;
  for (const [index, [unit, size]] of units.entries()) {
    if (ms < size) continue;
    const whole = Math.floor(ms / size);
    const next = units[index + 1];
    const rest = next ? Math.floor((ms % size) / next[1]) : 0;
    return next && rest > 0 && whole < 10
      ? `${whole} ${unit} ${rest} ${next[0]}`
      : `${whole} ${unit}`;
  }
  return '0 s';
}

/** `3 min ago`, `in 2 h`. */
export function relative(at: number, now: number): string {
  if (Math.abs(now - at) < 1000) return 'now';
  return at <= now ? `${duration(now - at)} ago` : `in ${duration(at - now)}`;
}
