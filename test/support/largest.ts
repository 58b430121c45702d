import type { Field, JsonSchema, NamedSchema } from '../../shared/api/fields.ts';
import type { Operation } from '../../shared/api/operation.ts';
import { isRecord } from '../../shared/base/json.ts';

/**
 * For test files: the largest bodies that an operation takes, made from its own description, so that
 * a new operation has them as soon as it is there.
 */

/** `what`: which list or table of it is long, and of what. */
export type Largest = { readonly what: string; readonly body: () => string };

type Place = {
  readonly name: string;
  /** The whole body with this at the place. */
  readonly around: (value: unknown) => unknown;
  readonly item: JsonSchema;
  readonly is: 'list' | 'table';
  readonly most: number | undefined;
};

/** A body of this many bytes for each list and each table of the input, of good items and of bad. */
export const largestBodies = (
  { body }: Pick<Operation, 'body'>,
  bytes: number,
): readonly Largest[] => {
  if (body === undefined) return [];
  const schemas = schemasOf(body);
  return placesIn(body.schema, schemas).flatMap(({ name, around, item, is, most }) =>
    [sampleOf(item, schemas), 0, {}].flatMap((each, nth) => {
      const text = JSON.stringify(each);
      const [before = '', after = ''] = JSON.stringify(around(mark)).split(`"${mark}"`);
      const one = text.length + 1 + (is === 'list' ? 0 : '"k000000":'.length);
      const fitting = Math.floor((bytes - before.length - after.length) / one);
      // As many as are taken, of good ones; all else is refused, the sooner the better.
      const counts = new Set([fitting, ...(nth === 0 ? [Math.min(fitting, most ?? fitting)] : [])]);
      return [...counts].map((count) => ({
        what: `${name}: ${count} of ${text.slice(0, 60)}`,
        body: () => {
          const all = Array.from({ length: count }, (_, at) =>
            is === 'list' ? text : `"k${at}":${text}`,
          ).join();
          return `${before}${is === 'list' ? `[${all}]` : `{${all}}`}${after}`;
        },
      }));
    }),
  );
};

const mark = 'the place';

type Schemas = ReadonlyMap<string, NamedSchema>;

const schemasOf = ({ components }: Field<unknown>): Schemas => {
  const all = new Map<string, NamedSchema>();
  const add = (some: readonly NamedSchema[]): void => {
    for (const each of some)
      if (!all.has(each.name)) {
        all.set(each.name, each);
        add(each.components);
      }
  };
  add(components);
  return all;
};

const records = (value: unknown): JsonSchema[] =>
  Array.isArray(value) ? value.filter(isRecord) : isRecord(value) ? [value] : [];

const namedBy = (schema: JsonSchema, schemas: Schemas): NamedSchema | undefined =>
  typeof schema.$ref === 'string' ? schemas.get(schema.$ref.split('/').at(-1) ?? '') : undefined;

const placesIn = (
  schema: JsonSchema,
  schemas: Schemas,
  name = 'body',
  around: Place['around'] = (value) => value,
): readonly Place[] => {
  const named = namedBy(schema, schemas);
  if (named) return placesIn(named.schema, schemas, name, around);
  const within = records(schema.anyOf).flatMap((each) => placesIn(each, schemas, name, around));
  const place = (is: Place['is'], item: JsonSchema, most: unknown): Place => ({
    name,
    around,
    item,
    is,
    most: typeof most === 'number' ? most : undefined,
  });
  const [items] = records(schema.items);
  if (items)
    return [
      ...within,
      place('list', items, schema.maxItems),
      ...placesIn(items, schemas, `${name}[]`, (value) => around([value])),
    ];
  const { additionalProperties: free, properties } = schema;
  if (free !== undefined && free !== false)
    return [
      ...within,
      place('table', isRecord(free) ? free : {}, schema.maxProperties),
      ...records(free).flatMap((each) =>
        placesIn(each, schemas, `${name}{}`, (value) => around({ k0: value })),
      ),
    ];
  if (!isRecord(properties)) return within;
  const sample = sampleOf(schema, schemas);
  const own = isRecord(sample) ? sample : {};
  return [
    ...within,
    ...Object.entries(properties).flatMap(([key, each]) =>
      records(each).flatMap((one) =>
        placesIn(one, schemas, `${name}.${key}`, (value) => around({ ...own, [key]: value })),
      ),
    ),
  ];
};

/** The example that the API document has, or the least that is of the form. */
const sampleOf = (schema: JsonSchema, schemas: Schemas): unknown => {
  const named = namedBy(schema, schemas);
  if (named) return named.example ?? sampleOf(named.schema, schemas);
  const [first] = records(schema.anyOf);
  if (first) return sampleOf(first, schemas);
  if (Array.isArray(schema.enum)) return schema.enum[0];
  if (schema.format === 'uuid') return '019a9c12-8d3a-7c61-b4e0-5f7a9c2d1b44';
  if (schema.type === 'string') return 'x';
  if (schema.type === 'integer' || schema.type === 'number') return 1;
  if (schema.type === 'boolean') return true;
  if (schema.type === 'array') return [];
  const { properties, required } = schema;
  const names = Array.isArray(required) ? required : [];
  return isRecord(properties)
    ? Object.fromEntries(
        Object.entries(properties).flatMap(([key, each]) =>
          names.includes(key) && isRecord(each) ? [[key, sampleOf(each, schemas)]] : [],
        ),
      )
    : {};
};
