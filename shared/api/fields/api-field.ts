/** Where a value stands: "body", "query" or "path", then keys and positions. */
export type Place = readonly (string | number)[];

/** One thing that is wrong with an input, with its members in the order in which they are sent. */
export type Fault = {
  readonly type: string;
  readonly loc: Place;
  readonly msg: string;
  readonly input: unknown;
  readonly ctx?: Readonly<Record<string, unknown>>;
};

export type Parsed<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly faults: readonly Fault[] };

/** What is wrong with a value of the right form, in pydantic's words for it. */
export const valueFault = (loc: Place, sentence: string, input: unknown): Fault => ({
  type: 'value_error',
  loc,
  msg: `Value error, ${sentence}`,
  input,
  ctx: { error: {} },
});

/** JSON Schema 2020-12, as far as we write it. */
export type JsonSchema = { readonly [key: string]: unknown };

/** A described value: how it is read from what a caller sent, and how it stands in the API document. */
export type Field<T> = {
  readonly parse: (input: unknown, place: Place) => Parsed<T>;
  readonly schema: JsonSchema;
  /** Objects with a name of their own that this field speaks of, so that the document can list them once. */
  readonly components: readonly NamedSchema[];
  /** What stands in for a value that was not sent; a field without it is required. */
  readonly absent?: { readonly value: T };
};

export type NamedSchema = { readonly name: string; readonly schema: JsonSchema; readonly components: readonly NamedSchema[] };

export type ValueOf<F> = F extends Field<infer T> ? T : never;

export const good = <T>(value: T): Parsed<T> => ({ ok: true, value });

export const bad = (type: string, loc: Place, msg: string, input: unknown, ctx?: Readonly<Record<string, unknown>>): Parsed<never> => ({
  ok: false,
  faults: [ctx === undefined ? { type, loc, msg, input } : { type, loc, msg, input, ctx }],
});
