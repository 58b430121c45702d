import { expect, test } from 'vitest';
import { handlers } from '../../../coordinator/operations.ts';
import type { JsonSchema, NamedSchema } from '../../../shared/api/fields.ts';
import { isRecord } from '../../../shared/base/json.ts';

/** How long and how large a thing may be that is kept, the domain says, with a code: the shape of a body only says which kind of thing it is. */

const componentsOf = (named: readonly NamedSchema[]): Map<string, JsonSchema> =>
  new Map(named.flatMap(({ name, schema, components }) => [[name, schema] as const, ...componentsOf(components)]));

/** A value of the kind that is described and beyond every bound that there is. */
const beyond = (schema: unknown, components: ReadonlyMap<string, JsonSchema>, sign: 1 | -1, items = 600): unknown => {
  if (!isRecord(schema)) throw new Error('a member without a schema');
  const inner = (each: unknown): unknown => beyond(each, components, sign, items);
  if (typeof schema.$ref === 'string') return inner(components.get(schema.$ref.replace('#/components/schemas/', '')));
  if (Array.isArray(schema.anyOf)) return inner(schema.anyOf[0]);
  if (Array.isArray(schema.enum)) return schema.enum[0];
  if (schema.type === 'string') return schema.format === 'uuid' ? '019a9c10-4f0e-7b52-9a6d-0c1d5b8f2e31' : 'a,\u0000 '.repeat(800);
  if (schema.type === 'integer' || schema.type === 'number') return sign * 1e15;
  if (schema.type === 'boolean') return false;
  if (schema.type === 'array') return Array.from({ length: items }, () => beyond(schema.items, components, sign, 1));
  return Object.fromEntries(Object.entries(isRecord(schema.properties) ? schema.properties : {}).map(([key, of]) => [key, inner(of)]));
};

/** What is not kept, and so no matter of the domain. */
const exceptions: readonly string[] = [
  'changeMonitors monitors value_error', // How many are chosen at once.
  'batchMonitors items value_error', // How many are sent at once.
  'rotateBeatAddress overlap_s less_than_equal', // How long until something ends.
  'rotateBeatAddress overlap_s greater_than_equal',
];

test('no length and no range of what is kept is refused by the shape of a body', () => {
  const refused = Object.values(handlers.organisation).flatMap(({ operation: { id, params, body, parse } }) => {
    if (body === undefined) return [];
    const components = componentsOf(body.components);
    const path = Object.fromEntries(Object.keys(params).map((key) => [key, '019a9c10-4f0e-7b52-9a6d-0c1d5b8f2e31']));
    return ([1, -1] as const).flatMap((sign) => {
      const parsed = parse({ path, body: beyond(body.schema, components, sign) });
      // A text that is no date is of the wrong kind, however long.
      const faults = parsed.ok ? [] : parsed.faults.filter(({ type }) => !type.startsWith('datetime_'));
      return faults.map(({ loc, type }) => `${id} ${loc.slice(1).join('.')} ${type}`);
    });
  });
  expect([...new Set(refused)].toSorted()).toEqual(exceptions.toSorted());
});
