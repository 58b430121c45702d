/** What the API document says of operations and their bodies and answers. */
import { type ApiDocument, apiDocument, responseIn } from '../../coordinator/api/openapi.ts';
import type { JsonSchema } from '../../shared/api/fields.ts';
import type { RestOperation } from '../../shared/api/operation.ts';
import { isRecord, memberOf } from '../../shared/base/json.ts';

const document: ApiDocument = apiDocument('http://localhost');

/** Schemas by the names of their members. */
export type Schemas = Readonly<Record<string, JsonSchema>>;

export function bodySchema(operation: RestOperation): JsonSchema {
  if (operation.body === undefined) throw new Error(`${operation.id} has no body`);
  return resolved(operation.body.schema);
}

export function bodyOf(operation: RestOperation): Schemas {
  return propertiesOf(bodySchema(operation));
}

export function successSchema({ path, method, success }: RestOperation): JsonSchema {
  const response = document.paths[path]?.[method.toLowerCase()]?.responses[success];
  if (response === undefined) throw new Error(`no answer of ${method} ${path}`);
  const schema = memberOf(
    memberOf(responseIn(document, response).content, 'application/json'),
    'schema',
  );
  if (!isRecord(schema)) throw new Error(`${method} ${path} has no schema`);
  return resolved(schema);
}

export function componentOf(name: string): JsonSchema {
  const schema = document.components.schemas[name];
  if (schema === undefined) throw new Error(`the document has no ${name}`);
  return schema;
}

/** Without null, which an attribute always may be, and without a reference. */
export function resolved(schema: JsonSchema): JsonSchema {
  const { $ref, anyOf, ...rest } = schema;
  if (typeof $ref === 'string') return componentOf($ref.replace('#/components/schemas/', ''));
  if (!Array.isArray(anyOf)) return schema;
  const others = anyOf.filter(isRecord).filter(({ type }) => type !== 'null');
  const [only] = others;
  return others.length === 1 && only !== undefined ? { ...resolved(only), ...rest } : schema;
}

export function propertiesOf(schema: JsonSchema): Schemas {
  const { properties } = resolved(schema);
  return isRecord(properties)
    ? Object.fromEntries(
        Object.entries(properties).filter((entry): entry is [string, JsonSchema] =>
          isRecord(entry[1]),
        ),
      )
    : {};
}

export function requiredOf(schema: JsonSchema): readonly unknown[] {
  const { required } = resolved(schema);
  return Array.isArray(required) ? required : [];
}

export function isNullable({ anyOf }: JsonSchema): boolean {
  return Array.isArray(anyOf) && anyOf.some((one) => memberOf(one, 'type') === 'null');
}

export function without(all: Schemas, others: Schemas): Schemas {
  return Object.fromEntries(Object.entries(all).filter(([name]) => !Object.hasOwn(others, name)));
}

export function wordsOf(schema: JsonSchema): string {
  const { description } = 'description' in schema ? schema : resolved(schema);
  return typeof description === 'string' ? description : '';
}

/** One of a list. */
export function itemOf(list: RestOperation): Schemas {
  const item = memberOf(propertiesOf(successSchema(list)).items, 'items');
  return propertiesOf(isRecord(item) ? item : {});
}
