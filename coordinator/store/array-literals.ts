/**
 * Array literals of Postgres, joined by hand: a string bound to an array parameter passes through the client untouched, which takes a
 * third of what its own serialiser takes.
 */
export const numbersLiteral = (...lists: readonly (readonly (number | null)[])[]): string =>
  // JSON writes arrays of numbers in half the time that joining takes; its null, which NaN becomes too, is the NULL of Postgres.
  `{${lists.map((values) => JSON.stringify(values).slice(1, -1)).join(',')}}`;

/** Quoted, so that no text of a stranger means anything. */
export const textsLiteral = (values: readonly (string | null)[]): string =>
  `{${values.map((value) => (value === null ? 'NULL' : `"${value.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`)).join(',')}}`;
