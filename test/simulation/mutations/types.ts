import type { Tells } from '../campaign.ts';

/** What is changed of the code, and a story that must then end badly. */
export type Mutation = {
  readonly name: string;
  /** A file, and a function, constant or property of it, as a path: `warnings.ts#settle.isSeen`. */
  readonly where: string;
  readonly edit: Edit;
  /** Stories of this kind are told until one ends badly. */
  readonly tells: Exclude<Tells, 'all'>;
  /** A seed that finds it, so that the tests need not search. */
  readonly seed: number;
};

/**
 * The one expression or statement there that reads `find`, whatever its layout, becomes `instead`;
 * null: it is left out. Without `find`, the named constant or property gets that value.
 */
export type Edit =
  | { readonly find: string; readonly instead: string | null }
  | { readonly find: null; readonly instead: string };

export const instead = (find: string, other: string): Edit => ({ find, instead: other });
export const always = (find: string): Edit => ({ find, instead: 'true' });
export const never = (find: string): Edit => ({ find, instead: 'false' });
/** An operand of && or ||, or a call. */
export const leftOut = (find: string): Edit => ({ find, instead: null });
export const value = (other: string): Edit => ({ find: null, instead: other });

export const mutationsOf =
  (tells: Mutation['tells']) =>
  (name: string, where: string, edit: Edit, seed: number): Mutation => ({
    name,
    where,
    edit,
    tells,
    seed,
  });
