/** A name as people see and type it: blanks that a browser does not show, and the ways to write one letter, do not count. */
export const typed = (name: string): string => name.normalize('NFC').replaceAll(/\s+/g, ' ').trim();
