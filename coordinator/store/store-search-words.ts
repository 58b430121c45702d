/** A text for LIKE that means itself. */
export const literally = (text: string): string => text.replaceAll(/[\\%_]/g, (mark) => `\\${mark}`);

/**
 * A text to be looked for as it is. The database takes no NUL and no half of a character; a control character stands in for them, which nothing
 * that is called so has, so that it is not found.
 */
export const lookedFor = (text: string): string => text.replaceAll('\0', '\u0001').toWellFormed();

/** So many words anybody types; each must be found. */
const mostWords = 8;

export const wordsOf = (search: string): readonly string[] =>
  search
    .toLowerCase()
    .replaceAll('\0', '')
    .toWellFormed()
    .split(/\s+/)
    .filter((word) => word !== '')
    .slice(0, mostWords);
