/**
 * Array literals of Postgres, joined by hand: a string bound to an array parameter passes through the client untouched, which takes a
 * third of what its own serialiser takes.
 */
export const numbersLiteral = (values: readonly (number | null)[]): string =>
  // JSON writes arrays of numbers in half the time that joining takes; its null is the NULL of Postgres.
  `{${JSON.stringify(values).slice(1, -1)}}`;

/** Quoted, so that no text of a stranger means anything. */
export const textsLiteral = (values: readonly (string | null)[]): string =>
  `{${values.map((value) => (value === null ? 'NULL' : `"${value.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`)).join(',')}}`;
