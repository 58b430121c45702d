import { isRecord } from '../../base/json-record.ts';
import {
  bad,
  type Fault,
  type Field,
  good,
  type JsonSchema,
  type NamedSchema,
  type Parsed,
  type Place,
  type ValueOf,
} from './api-field.ts';

export type Shape = { readonly [key: string]: Field<unknown> };

export type Values<S extends Shape> = { readonly [K in keyof S]: ValueOf<S[K]> };

export type ObjectField<S extends Shape> = Field<Values<S>> & { readonly name: string; readonly shape: S };

const missing = (place: Place, key: string, enclosing: unknown): Fault => ({
  type: 'missing',
  loc: [...place, key],
  msg: 'Field required',
  input: enclosing,
});

/** Reads each field of a shape from a record, gathering every fault in field order; unknown keys are left out. */
export const parseShape = <S extends Shape>(shape: S, record: Readonly<Record<string, unknown>>, place: Place): Parsed<Values<S>> => {
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
    else faults.push(...parsed.faults);
  }
  return faults.length === 0 ? good(assembled<S>(entries)) : { ok: false, faults };
};

// One entry has been read for each field of the shape, which the compiler cannot follow through Object.fromEntries.
const assembled = <S extends Shape>(entries: readonly (readonly [string, unknown])[]): Values<S> =>
  Object.fromEntries(entries) as Values<S>;

const reference = (name: string): JsonSchema => ({ $ref: `#/components/schemas/${name}` });

/** What is wrong with values of an object together, though each is well by itself. */
export type Clash<S extends Shape> = (values: Values<S>, place: Place) => Fault | undefined;

/** An object with a name in the API document. */
export const object = <S extends Shape>(name: string, shape: S, more: JsonSchema = {}, clash?: Clash<S>): ObjectField<S> => {
  const fields = Object.entries(shape);
  const required = fields.filter(([, field]) => field.absent === undefined).map(([key]) => key);
  const schema: JsonSchema = {
    type: 'object',
    properties: Object.fromEntries(fields.map(([key, field]) => [key, field.schema])),
    ...(required.length === 0 ? {} : { required }),
    ...more,
  };
  const component: NamedSchema = { name, schema, components: fields.flatMap(([, field]) => field.components) };
  return {
    name,
    shape,
    schema: reference(name),
    components: [component],
    parse: (input, place) => {
      if (!isRecord(input))
        return bad('model_attributes_type', place, 'Input should be a valid dictionary or object to extract fields from', input);
      const parsed = parseShape(shape, input, place);
      const fault = parsed.ok ? clash?.(parsed.value, place) : undefined;
      return fault === undefined ? parsed : { ok: false, faults: [fault] };
    },
  };
};

export const array = <T>(item: Field<T>, more: JsonSchema = {}): Field<readonly T[]> => ({
  schema: { type: 'array', items: item.schema, ...more },
  components: item.components,
  parse: (input, place) => {
    if (!Array.isArray(input)) return bad('list_type', place, 'Input should be a valid list', input);
    const faults: Fault[] = [];
    const values: T[] = [];
    for (const [position, element] of input.entries()) {
      const parsed = item.parse(element, [...place, position]);
      if (parsed.ok) values.push(parsed.value);
      else faults.push(...parsed.faults);
    }
    return faults.length === 0 ? good(values) : { ok: false, faults };
  },
});

/** The value, or JSON null. */
export const nullable = <T>(inner: Field<T>, more: JsonSchema = {}): Field<T | null> => ({
  schema: { anyOf: [inner.schema, { type: 'null' }], ...more },
  components: inner.components,
  parse: (input, place) => (input === null ? good(null) : inner.parse(input, place)),
});

/** A field that need not be sent; the default stands in the document, unless it is null. */
export const optional = <T>(inner: Field<T>, value: T): Field<T> => ({
  ...inner,
  schema: value === null ? inner.schema : { ...inner.schema, default: value },
  absent: { value },
});

/** A field with a default for what is made, where what is there already keeps its own: null says that it was not sent. */
export const defaulted = <T>(inner: Field<T>, value: T): Field<T | null> => ({
  ...inner,
  schema: { ...inner.schema, default: value },
  absent: { value: null },
});

/** A nullable field where "not sent" and null mean the same: not mentioned. */
export const maybe = <T>(inner: Field<T>, more: JsonSchema = {}): Field<T | null> => optional<T | null>(nullable(inner, more), null);

/** A field of an answer that came later: not required in the document, so that what an older service answers is still of the form. */
export const grown = <T>(inner: Field<T>, value: T): Field<T> => ({ ...inner, absent: { value } });
