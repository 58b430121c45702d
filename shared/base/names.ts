import { Refusal } from './errors.ts';

const longestName = 200;
const longestDescription = 2000;

/**
 * Counts code points, close to how people count characters: an emoji is one, and a limit means the
 * same everywhere.
 */
const characters = (text: string): number => {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
};

// biome-ignore lint/suspicious/noControlCharactersInRegex: finds control characters.
const control = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/;

/** Blanks and invisible characters: a name of nothing else cannot be seen. */
const visible = /[^\p{C}\p{Z}]/u;

/** Whether Postgres can store a text: it accepts neither NUL nor lone surrogates. */
export const storable = (text: string): boolean => !text.includes('\u0000') && text.isWellFormed();

/** A name of one line, trimmed. @throws Refusal `name_invalid`, naming the key. */
export const nameFrom = (text: string, key = 'name'): string => {
  const name = text.trim();
  const refuse = (fault: string) => new Refusal('name_invalid', `${key}: ${fault}`);
  if (name === '') throw refuse(`must not be empty; give 1 to ${longestName} characters.`);
  if (characters(name) > longestName) throw refuse(`is longer than ${longestName} characters; shorten it.`);
  if (!name.isWellFormed() || control.test(name)) throw refuse('holds a control character or a broken one; leave it out.');
  if (!visible.test(name)) throw refuse('holds nothing that can be seen; give it a letter or a digit.');
  return name;
};

/**
 * The form in which names are compared: trimmed, without case, in one form of Unicode. It goes
 * through capitals, where ß is SS and ς is Σ.
 */
export const folded = (name: string): string => name.trim().toLowerCase().toUpperCase().toLowerCase().normalize('NFC');

/** A description, not trimmed; an empty one is none. @throws Refusal `description_invalid`. */
export const descriptionFrom = (text: string | null): string | null => {
  if (text === null || text.trim() === '') return null;
  const refuse = (fault: string) => new Refusal('description_invalid', `description: ${fault}`);
  if (characters(text) > longestDescription) throw refuse(`is longer than ${longestDescription} characters; shorten it.`);
  if (!storable(text)) throw refuse('holds a NUL or a broken character; leave it out.');
  return text;
};
