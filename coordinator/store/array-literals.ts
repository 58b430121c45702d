/**
 * Array literals of Postgres, joined by hand: a string bound to an array parameter passes through the client untouched, which takes a
 * third of what its own serialiser takes.
 */
export const numbersLiteral = (values: readonly (number | null)[]): string => {
  let text = '{';
  for (let at = 0; at < values.length; at += 1) text += at === 0 ? (values[at] ?? 'NULL') : `,${values[at] ?? 'NULL'}`;
  return `${text}}`;
};

/** Quoted, so that no text of a stranger means anything. */
export const textsLiteral = (values: readonly (string | null)[]): string =>
  `{${values.map((value) => (value === null ? 'NULL' : `"${value.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`)).join(',')}}`;
