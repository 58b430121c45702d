/** For tests of imports: what becomes of a document, and what is said of each name. */
import type { Imported } from '../../shared/imports/result.ts';
import { convert, type Source } from '../../shared/imports/sources.ts';

/** A Thursday. */
export const today = '2026-11-26';

export const importedFrom = (source: Source, ...documents: readonly unknown[]): Imported => {
  const imported = convert(source, documents, today);
  if (typeof imported === 'string') throw new Error(imported);
  return imported;
};

/** The reasons that stand beside a name. */
export const omissionsOf = ({ omissions }: Imported, name: string): string[] =>
  omissions.filter(({ of }) => of.includes(name)).map(({ why }) => why);

/** As a file names a variable. */
export const variable = (name: string): string => `\${${name}}`;
