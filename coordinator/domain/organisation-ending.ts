/** How an organisation ends: asked for by an owner, undone for some days, then done. */

const day = 86_400_000;

/** So long everything is kept. */
export const keptMs = 7 * day;

/** So long before the end its owners are mailed for the last time. */
export const lastWordMs = day;

/** What people see and type: blanks that a browser does not show, and the ways to write one letter, do not count. */
const asTyped = (name: string): string => name.normalize('NFC').replaceAll(/\s+/g, ' ').trim();

export const isSameName = (typed: string, name: string): boolean => asTyped(typed) === asTyped(name);
