import { Refusal } from './errors.ts';

/** Colours as `#rrggbb`, and whether one is readable on another (WCAG 2). */

/** From 1, where nothing is visible, to 21, black on white. */
export function contrastOf(one: string, other: string): number {
  const [light, dark] = [luminance(one), luminance(other)].toSorted((a, b) => b - a);
  return ((light ?? 0) + 0.05) / ((dark ?? 0) + 0.05);
}

function luminance(colour: string): number {
  const [red = 0, green = 0, blue = 0] = channels(colour).map(linear);
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function channels(colour: string): readonly number[] {
  return [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16));
}

function linear(value: number): number {
  const part = value / 255;
  return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
}

/** The minimum for small text. */
export const leastContrast = 4.5;

/**
 * The colour itself if it is readable on that ground, or the nearest darker or lighter readable
 * shade.
 */
export function readableOn(colour: string, ground: string): string {
  if (contrastOf(colour, ground) >= leastContrast) return colour;
  const towards = luminance(ground) > 0.18 ? 0 : 255;
  const mixed = (share: number): string =>
    hex(channels(colour).map((value) => value + (towards - value) * share));
  let [least, limit] = [0, 1];
  for (let step = 0; step < 12; step += 1) {
    const middle = (least + limit) / 2;
    if (contrastOf(mixed(middle), ground) >= leastContrast) limit = middle;
    else least = middle;
  }
  return mixed(limit);
}

function hex(values: readonly number[]): string {
  return `#${values.map((value) => Math.round(value).toString(16).padStart(2, '0')).join('')}`;
}

const longestName = 200;
const longestDescription = 2000;

// biome-ignore lint/suspicious/noControlCharactersInRegex: finds control characters.
const control = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/;

/** Blanks and invisible characters: a name of nothing else cannot be seen. */
const visible = /[^\p{C}\p{Z}]/u;

/** Whether Postgres can store a text: it accepts neither NUL nor lone surrogates. */
export function storable(text: string): boolean {
  return !text.includes('\u0000') && text.isWellFormed();
}

/** A name of one line, trimmed. @throws Refusal `name_invalid`, naming the key. */
export function nameFrom(text: string, key = 'name'): string {
  const name = text.trim();
  const refuse = (fault: string) => new Refusal('name_invalid', { [key]: fault });
  if (name === '') throw refuse(`must have 1 to ${longestName} characters.`);
  if (characters(name) > longestName)
    throw refuse(`is longer than ${longestName} characters; shorten it.`);
  if (!name.isWellFormed() || control.test(name))
    throw refuse('holds a control character or a broken one; leave it out.');
  if (!visible.test(name)) throw refuse('must have a letter or a digit.');
  return name;
}

/**
 * Counts code points, close to how people count characters: an emoji is one, and a limit means the
 * same everywhere.
 */
function characters(text: string): number {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}

/**
 * The form in which names are compared: trimmed, without case, in one form of Unicode. It goes
 * through capitals, where ß is SS and ς is Σ.
 */
export function folded(name: string): string {
  return name.trim().toLowerCase().toUpperCase().toLowerCase().normalize('NFC');
}

/** No one types more words than this; each must be found. */
const maxWords = 8;

/** Without case and accents, as `search_words` of the schema makes the texts to search in. */
export function wordsOf(search: string): readonly string[] {
  return search
    .replaceAll('\0', '')
    .toWellFormed()
    .toLowerCase()
    .normalize('NFD')
    .replaceAll(/[\u0300-\u036f]/g, '')
    .split(/\s+/)
    .filter((word) => word !== '')
    .slice(0, maxWords);
}

/** A description, not trimmed; an empty one is none. @throws Refusal with the code of its key. */
export function descriptionFrom(
  text: string | null,
  key: 'description' | 'runbook' = 'description',
): string | null {
  if (text === null || text.trim() === '') return null;
  const refuse = (fault: string) => new Refusal(`${key}_invalid`, { [key]: fault });
  if (characters(text) > longestDescription)
    throw refuse(`is longer than ${longestDescription} characters; shorten it.`);
  if (!storable(text)) throw refuse('holds a NUL or a broken character; leave it out.');
  return text;
}
