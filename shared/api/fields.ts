import { isRecord } from '../base/json.ts';

/** Where a value is: "body", "query" or "path", then keys and positions. */
export type FieldPath = readonly (string | number)[];

/** One fault of an input, with its members in the order in which they are sent. */
export type Fault = {
  readonly type: string;
  readonly loc: FieldPath;
  readonly msg: string;
  readonly input: unknown;
  readonly ctx?: Readonly<Record<string, unknown>>;
};

export type Parsed<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly faults: readonly Fault[] };

/** A fault of a value whose form is right, in pydantic's words. */
export function valueFault(loc: FieldPath, sentence: string, input: unknown): Fault {
  return {
    type: 'value_error',
    loc,
    msg: `Value error, ${sentence}`,
    input,
    ctx: { error: {} },
  };
}

/** The part of JSON Schema 2020-12 that we write. */
export type JsonSchema = { readonly [key: string]: unknown };

/**
 * What the API document alone says of a value: an example, what it means where its description does
 * not say so, and the limits that the domain enforces.
 */
type Documented = {
  readonly example?: unknown;
  readonly meaning?: string | undefined;
  readonly limits?: JsonSchema | undefined;
};

/** What a field may say beside its form: words of JSON Schema, and what the document alone says. */
export type More = JsonSchema & Documented;

/** A described value: how it is read from a caller's input, and how the API document shows it. */
export type Field<T> = {
  readonly parse: (input: unknown, place: FieldPath) => Parsed<T>;
  /** Of a list. */
  readonly item?: Field<unknown>;
  /** Of an object. */
  readonly shape?: Shape;
  /** Of a date-time, which handlers answer as a number. */
  readonly isMoment?: true;
  readonly schema: JsonSchema;
  readonly documented: Documented;
  /** Named objects that this field refers to; the document lists them once. */
  readonly components: readonly NamedSchema[];
  /** The value to use when none was sent; a field without it is required. */
  readonly absent?: { readonly value: T };
};

export type NamedSchema = {
  readonly name: string;
  readonly schema: JsonSchema;
  readonly shape: Shape;
  readonly example: unknown;
  readonly components: readonly NamedSchema[];
};

export type ValueOf<F> = F extends Field<infer T> ? T : never;

export function good<T>(value: T): Parsed<T> {
  return { ok: true, value };
}

export function bad(
  type: string,
  loc: FieldPath,
  msg: string,
  input: unknown,
  ctx?: Readonly<Record<string, unknown>>,
): Parsed<never> {
  return {
    ok: false,
    faults: [ctx === undefined ? { type, loc, msg, input } : { type, loc, msg, input, ctx }],
  };
}

export type Shape = { readonly [key: string]: Field<unknown> };

export type Values<S extends Shape> = { readonly [K in keyof S]: ValueOf<S[K]> };

export type ObjectField<S extends Shape> = Field<Values<S>> & {
  readonly name: string;
  readonly shape: S;
};

/**
 * The schema of a field, and what the document alone says of it: its own words before the inner
 * ones.
 */
export function described(
  form: JsonSchema,
  { example, meaning, limits, ...more }: More,
  inner: Documented = {},
) {
  return {
    schema: { ...form, ...more },
    documented: {
      example: example === undefined ? inner.example : example,
      meaning: meaning ?? inner.meaning,
      limits: limits ?? inner.limits,
    },
  };
}

/** How many faults of an input are told: nobody reads more, and each may repeat what was sent. */
export const mostFaults = 1_000;

/** Adds faults. @returns whether more are wanted. */
export function addFaults(faults: Fault[], more: readonly Fault[]): boolean {
  faults.push(...more.slice(0, mostFaults - faults.length));
  return faults.length < mostFaults;
}

/**
 * Reads each field of a shape from a record and collects every fault in field order; ignores
 * unknown keys.
 */
export function parseShape<S extends Shape>(
  shape: S,
  record: Readonly<Record<string, unknown>>,
  place: FieldPath,
): Parsed<Values<S>> {
  const faults: Fault[] = [];
  const entries: [string, unknown][] = [];
  for (const [key, field] of Object.entries(shape)) {
    if (!Object.hasOwn(record, key)) {
      if (field.absent) entries.push([key, field.absent.value]);
      else faults.push(missing(place, key, record));
      continue;
    }
    const parsed = field.parse(record[key], [...place, key]);
    if (parsed.ok) entries.push([key, parsed.value]);
    else if (!addFaults(faults, parsed.faults)) break;
  }
  return faults.length === 0 ? good(assembled<S>(entries)) : { ok: false, faults };
}

function missing(place: FieldPath, key: string, enclosing: unknown): Fault {
  return {
    type: 'missing',
    loc: [...place, key],
    msg: 'Field required',
    input: enclosing,
  };
}

// Each field of the shape has exactly one entry, which the compiler cannot follow through
// Object.fromEntries.
function assembled<S extends Shape>(entries: readonly (readonly [string, unknown])[]): Values<S> {
  return Object.fromEntries(entries) as Values<S>;
}

/** A fault of an object's values together, when each is valid by itself. */
type Clash<S extends Shape> = (values: Values<S>, place: FieldPath) => Fault | undefined;

/** An object with a name in the API document. */
export function object<S extends Shape>(
  name: string,
  shape: S,
  more: More = {},
  clash?: Clash<S>,
): ObjectField<S> {
  const fields = Object.entries(shape);
  const required = fields.filter(([, field]) => field.absent === undefined).map(([key]) => key);
  const properties = Object.fromEntries(fields.map(([key, field]) => [key, field.schema]));
  const form = { type: 'object', properties, ...(required.length === 0 ? {} : { required }) };
  const { schema, documented } = described(form, more, { example: exampleOf(shape) });
  const components = fields.flatMap(([, field]) => field.components);
  const component: NamedSchema = { name, schema, shape, example: documented.example, components };
  return {
    name,
    shape,
    schema: reference(name),
    documented,
    components: [component],
    parse: (input, place) => {
      if (!isRecord(input))
        return bad(
          'model_attributes_type',
          place,
          'Input should be a valid dictionary or object to extract fields from',
          input,
        );
      const parsed = parseShape(shape, input, place);
      const fault = parsed.ok ? clash?.(parsed.value, place) : undefined;
      return fault === undefined ? parsed : { ok: false, faults: [fault] };
    },
  };
}

function reference(name: string): JsonSchema {
  return { $ref: `#/components/schemas/${name}` };
}

/** Of those members that have one; undefined where none has. */
function exampleOf(shape: Shape): unknown {
  const members = Object.entries(shape).flatMap(([key, { documented }]) =>
    documented.example === undefined ? [] : [[key, documented.example] as const],
  );
  return members.length === 0 ? undefined : Object.fromEntries(members);
}

/** A list so many times as long as it may be is not read, which would take long. */
const farBeyond = 1_000;

export function array<T>(item: Field<T>, more: More = {}): Field<readonly T[]> {
  return {
    ...described(
      { type: 'array', items: item.schema },
      more,
      item.documented.example === undefined ? {} : { example: [item.documented.example] },
    ),
    components: item.components,
    item,
    parse: (input, place) => {
      if (!Array.isArray(input))
        return bad('list_type', place, 'Input should be a valid list', input);
      const most = typeof more.maxItems === 'number' ? more.maxItems : Number.POSITIVE_INFINITY;
      if (input.length > farBeyond * most)
        return bad('too_long', place, `List should have at most ${most} items`, null);
      const faults: Fault[] = [];
      const values: T[] = [];
      for (const [position, element] of input.entries()) {
        const parsed = item.parse(element, [...place, position]);
        if (parsed.ok) values.push(parsed.value);
        else if (!addFaults(faults, parsed.faults)) break;
      }
      return faults.length === 0 ? good(values) : { ok: false, faults };
    },
  };
}

/** The value, or JSON null. */
export function nullable<T>(inner: Field<T>, more: More = {}): Field<T | null> {
  return {
    ...described({ anyOf: [inner.schema, { type: 'null' }] }, more, inner.documented),
    components: inner.components,
    ...(inner.item && { item: inner.item }),
    ...(inner.shape && { shape: inner.shape }),
    ...(inner.isMoment && { isMoment: true }),
    parse: (input, place) => (input === null ? good(null) : inner.parse(input, place)),
  };
}

/** A field that may be omitted. The document shows the default, unless it is null. */
export function optional<T>(inner: Field<T>, value: T): Field<T> {
  return {
    ...inner,
    schema: value === null ? inner.schema : { ...inner.schema, default: value },
    absent: { value },
  };
}

/**
 * A field with a default on creation; an update keeps the existing value. null means that it was
 * not sent.
 */
export function defaulted<T>(inner: Field<T>, value: T): Field<T | null> {
  return {
    ...inner,
    schema: { ...inner.schema, default: value },
    absent: { value: null },
  };
}

/** A nullable field where "not sent" and null mean the same: not mentioned. */
export function maybe<T>(inner: Field<T>, more: More = {}): Field<T | null> {
  return optional<T | null>(nullable(inner, more), null);
}

/**
 * A later addition to an answer: not required in the document, so answers of an older service
 * remain valid.
 */
export function grown<T>(inner: Field<T>, value: T): Field<T> {
  return { ...inner, absent: { value } };
}

/** Any text may be used as one; the mark tells handlers where a number is written as one. */
type DateTime = string & { readonly isMoment?: true };

/** A date-time in an answer: UTC with Z and milliseconds. */
export function dateTime(more: More = {}): Field<DateTime> {
  return {
    ...described({ type: 'string', format: 'date-time' }, more),
    isMoment: true,
    components: [],
    parse: (input, place) =>
      typeof input === 'string'
        ? good(input)
        : bad('datetime_type', place, 'Input should be a valid datetime', input),
  };
}

type Bounds = { readonly ge?: number; readonly le?: number };

export function integer(bounds: Bounds = {}, more: More = {}): Field<number> {
  return scalar({ type: 'integer', ...boundsSchema(bounds) }, more, (input, place) => {
    const parsed = integerOf(input, place);
    return parsed.ok ? within(parsed.value, bounds, input, place) : parsed;
  });
}

function scalar<T>(form: JsonSchema, more: More, parse: Field<T>['parse']): Field<T> {
  return {
    ...described(form, more),
    parse,
    components: [],
  };
}

function boundsSchema({ ge, le }: Bounds): JsonSchema {
  return {
    ...(le === undefined ? {} : { maximum: le }),
    ...(ge === undefined ? {} : { minimum: ge }),
  };
}

// Digits may be grouped by single underscores and followed by a fraction of zeros.
const integerText = /^[+-]?\d+(?:_\d+)*(?:\.0+)?$/;

const maxDigits = 4300;

function integerOf(input: unknown, place: FieldPath): Parsed<number> {
  // A bigint is a whole number with more digits than a number keeps, and exceeds every bound.
  if (typeof input === 'boolean' || typeof input === 'bigint') return good(Number(input));
  if (typeof input === 'number') {
    if (!Number.isFinite(input))
      return bad('finite_number', place, 'Input should be a finite number', input);
    if (Number.isInteger(input)) return good(input);
    return bad(
      'int_from_float',
      place,
      'Input should be a valid integer, got a number with a fractional part',
      input,
    );
  }
  if (typeof input !== 'string')
    return bad('int_type', place, 'Input should be a valid integer', input);
  const text = input.trim();
  if (!integerText.test(text))
    return bad(
      'int_parsing',
      place,
      'Input should be a valid integer, unable to parse string as an integer',
      input,
    );
  if (text.length > maxDigits)
    return bad(
      'int_parsing_size',
      place,
      'Unable to parse input string as an integer, exceeded maximum size',
      input,
    );
  return good(Number(text.replaceAll('_', '')));
}

function within(
  value: number,
  { ge, le }: Bounds,
  input: unknown,
  place: FieldPath,
): Parsed<number> {
  if (le !== undefined && value > le)
    return bad('less_than_equal', place, `Input should be less than or equal to ${le}`, input, {
      le,
    });
  if (ge !== undefined && value < ge)
    return bad(
      'greater_than_equal',
      place,
      `Input should be greater than or equal to ${ge}`,
      input,
      { ge },
    );
  return good(value === 0 ? 0 : value);
}

const numberText = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i;

export function number(more: More = {}): Field<number> {
  return scalar({ type: 'number' }, more, (input, place) => {
    if (typeof input === 'boolean' || typeof input === 'bigint') return good(Number(input));
    if (typeof input === 'number') return good(input);
    if (typeof input !== 'string')
      return bad('float_type', place, 'Input should be a valid number', input);
    return numberText.test(input.trim())
      ? good(Number(input))
      : bad(
          'float_parsing',
          place,
          'Input should be a valid number, unable to parse string as a number',
          input,
        );
  });
}

const yes: readonly unknown[] = ['1', 'true', 't', 'yes', 'y', 'on', 1, true];
const no: readonly unknown[] = ['0', 'false', 'f', 'no', 'n', 'off', 0, false];

export function boolean(more: More = {}): Field<boolean> {
  return scalar({ type: 'boolean' }, more, (input, place) => {
    const folded = typeof input === 'string' ? input.toLowerCase() : input;
    if (yes.includes(folded)) return good(true);
    if (no.includes(folded)) return good(false);
    return typeof input === 'string' || typeof input === 'bigint' || Number.isSafeInteger(input)
      ? bad(
          'bool_parsing',
          place,
          'Input should be a valid boolean, unable to interpret input',
          input,
        )
      : bad('bool_type', place, 'Input should be a valid boolean', input);
  });
}

/** pydantic refuses a lone surrogate. It accepts NUL, which the domain refuses. */
export function string(more: More = {}): Field<string> {
  return {
    ...described({ type: 'string' }, more),
    components: [],
    parse: (input, place) => {
      if (typeof input !== 'string')
        return bad('string_type', place, 'Input should be a valid string', input);
      return input.isWellFormed()
        ? good(input)
        : bad(
            'string_unicode',
            place,
            'Input should be a valid string, unable to parse raw data as a unicode string',
            input,
          );
    },
  };
}

/** A string of at most this many characters, where no domain rule counts them. */
export function shortString(limit: number): Field<string> {
  const field = string({ maxLength: limit });
  return {
    ...field,
    parse: (input, place) => {
      const parsed = field.parse(input, place);
      if (!parsed.ok || [...parsed.value].length <= limit) return parsed;
      return bad(
        'string_too_long',
        place,
        `String should have at most ${limit} characters`,
        input,
        { max_length: limit },
      );
    },
  };
}

/** An object with free keys, passed through unchanged: the domain validates it. */
export function dict(more: More = {}): Field<Readonly<Record<string, unknown>>> {
  return {
    ...described({ type: 'object', additionalProperties: true }, more),
    components: [],
    parse: (input, place) =>
      isRecord(input)
        ? good(input)
        : bad('dict_type', place, 'Input should be a valid dictionary', input),
  };
}

/** One of a few strings, exactly. */
export function literal<const Values extends readonly [string, ...string[]]>(
  values: Values,
  more: More = {},
): Field<Values[number]> {
  const quoted = values.map((value) => `'${value}'`);
  const last = quoted.at(-1) ?? '';
  const expected = quoted.length === 1 ? last : `${quoted.slice(0, -1).join(', ')} or ${last}`;
  return {
    ...described({ type: 'string', enum: [...values] }, more),
    components: [],
    parse: (input, place) => {
      const found = values.find((value) => value === input);
      return found === undefined
        ? bad('literal_error', place, `Input should be ${expected}`, input, { expected })
        : good(found);
    },
  };
}

const hyphenated = /^([0-9a-f]{8})-([0-9a-f]{4})-([0-9a-f]{4})-([0-9a-f]{4})-([0-9a-f]{12})$/i;
const simple = /^([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})$/i;

/** A UUID in any form that pydantic accepts, returned in lower case with dashes. */
export function uuid(more: More = {}): Field<string> {
  return {
    ...described({ type: 'string', format: 'uuid' }, more),
    components: [],
    parse: (input, place) => {
      if (typeof input !== 'string')
        return bad(
          'uuid_type',
          place,
          'UUID input should be a string, bytes or UUID object',
          input,
        );
      const text = judged(input);
      const match = hyphenated.exec(text) ?? simple.exec(text);
      if (match) return good(match.slice(1).join('-').toLowerCase());
      const error = faultOf(text);
      return bad('uuid_parsing', place, `Input should be a valid UUID, ${error}`, input, { error });
    },
  };
}

/**
 * The parser strips braces or urn:uuid: from a text of full length; positions then count from the
 * inside.
 */
function judged(text: string): string {
  const { inner, offset } = unwrapped(text);
  return offset > 0 && sizeOf(inner) === 36 ? inner : text;
}

const urn = 'urn:uuid:';

function unwrapped(text: string): { readonly inner: string; readonly offset: number } {
  if (text.length > 1 && text.startsWith('{') && text.endsWith('}'))
    return { inner: text.slice(1, -1), offset: 1 };
  if (text.startsWith(urn)) return { inner: text.slice(urn.length), offset: urn.length };
  return { inner: text, offset: 0 };
}

function sizeOf(text: string): number {
  return new TextEncoder().encode(text).length;
}

// Where each group begins; the last entry is where the last group does.
const starts = [0, 9, 14, 19, 24] as const;

const lengths = [8, 4, 4, 4, 12] as const;

/**
 * What is wrong with a text that is no UUID, in the words of pydantic's parser. As there, positions
 * count bytes.
 */
function faultOf(text: string): string {
  const { inner, offset } = unwrapped(text);
  const hyphens: number[] = [];
  let at = 0;
  for (const character of inner) {
    if (character === '-') hyphens.push(at);
    else if (!/^[0-9a-f]$/i.test(character))
      return `invalid character: found \`${character}\` at ${at + offset + 1}`;
    at += sizeOf(character);
  }
  if (hyphens.length === 0 && offset === 0)
    return `invalid length: expected length 32 for simple format, found ${text.length}`;
  if (hyphens.length !== 4) return `invalid group count: expected 5, found ${hyphens.length + 1}`;
  const ends = [...hyphens, text.length];
  const group = starts.findIndex(
    (start, index) => index === 4 || ends[index] !== start + (lengths[index] ?? 0),
  );
  return `invalid group length in group ${group}: expected ${lengths[group]}, found ${(ends[group] ?? 0) - (starts[group] ?? 0)}`;
}

/**
 * Our own small kit of described values. zod cannot do this: our callers were generated for a
 * FastAPI service. An input must be converted as pydantic 2 converts it ("60" is a number, "yes" is
 * true) and refused in pydantic's exact words, with all faults at once.
 */
