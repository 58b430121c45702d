/** A text for LIKE that means itself. */
export const literally = (text: string): string => text.replaceAll(/[\\%_]/g, (mark) => `\\${mark}`);

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
