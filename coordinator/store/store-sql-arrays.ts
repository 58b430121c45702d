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

/**
 * The arrays that we send and read, for the client. It would ask the database for all of them on each new connection, a round trip more; and where a
 * connection is lost within that question, its failure is nobody's, which ends the process. The numbers are the same in every Postgres.
 */
type ArrayType<Value> = {
  readonly to: number;
  readonly from: number[];
  readonly serialize: (values: Value[]) => string;
  readonly parse: (text: string) => Value[];
};

/** What is an array literal already goes as it is. */
const unlessWritten =
  <Value>(write: (values: readonly Value[]) => string) =>
  (values: readonly Value[] | string): string =>
    typeof values === 'string' ? values : write(values);

/** int2, int4, int8, float4, float8: a parameter has the type that the statement gives it. */
const numbers: ArrayType<number | null> = {
  to: 1_007,
  from: [1_005, 1_007, 1_016, 1_021, 1_022],
  serialize: unlessWritten((values) => numbersLiteral(values)),
  parse: (text) =>
    text === '{}'
      ? []
      : text
          .slice(1, -1)
          .split(',')
          .map((one) => (one === 'NULL' ? null : Number(one))),
};

const element = /"((?:[^"\\]|\\.)*)"|([^,]+)/gs;

/** name, text, varchar, uuid. */
const texts: ArrayType<string | null> = {
  to: 1_009,
  from: [1_003, 1_009, 1_015, 2_951],
  serialize: unlessWritten(textsLiteral),
  parse: (text) =>
    [...text.slice(1, -1).matchAll(element)].map(([, quoted, bare]) => {
      if (quoted !== undefined) return quoted.replaceAll(/\\(.)/gs, '$1');
      return bare === undefined || bare === 'NULL' ? null : bare;
    }),
};

export const arrayTypes = { numbers, texts };
