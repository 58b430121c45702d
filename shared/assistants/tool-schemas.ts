import type { JsonSchema, NamedSchema } from '../api/api-fields.ts';
import { isRecord } from '../base/json-record.ts';
import { annotationsOf, type Tool } from './tool.ts';

/** The schemas of a tool, from those of its operation. */

type ObjectSchema = JsonSchema & { readonly type: 'object' };

/** Assistants fill in arguments better when "null or a value" is not offered: what is not wanted is left out. */
const withoutNull = (schema: JsonSchema): JsonSchema => {
  const options: readonly unknown[] = Array.isArray(schema.anyOf) ? schema.anyOf : [];
  const main = options.find((one): one is JsonSchema => isRecord(one) && one.type !== 'null');
  if (!main) return schema;
  const { anyOf: _, ...rest } = schema;
  return { ...main, ...rest };
};

export const inputSchema = (tool: Pick<Tool, 'arguments'>): ObjectSchema => {
  const entries = Object.entries(tool.arguments);
  const required = entries.filter(([, argument]) => argument.required).map(([name]) => name);
  return {
    type: 'object',
    properties: Object.fromEntries(entries.map(([name, { field }]) => [name, withoutNull(field.schema)])),
    ...(required.length > 0 && { required }),
    additionalProperties: false,
  };
};

const localReferences = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(localReferences);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      key,
      key === '$ref' && typeof inner === 'string' ? inner.replace('#/components/schemas/', '#/$defs/') : localReferences(inner),
    ]),
  );
};

const gather = (components: readonly NamedSchema[], into: Map<string, JsonSchema>): Map<string, JsonSchema> => {
  for (const { name, schema, components: inner } of components) {
    into.set(name, schema);
    gather(inner, into);
  }
  return into;
};

/** The schema of the answer, complete in itself: the document's references become definitions of its own. Undefined: it is told in text alone. */
export const outputSchema = ({ operation: { response }, more }: Pick<Tool, 'operation' | 'more'>): ObjectSchema | undefined => {
  if (more === undefined) return undefined;
  const [own] = response?.components ?? [];
  const definitions = gather(own?.components ?? [], new Map());
  const body = localReferences(own?.schema ?? {});
  const { properties, ...rest } = isRecord(body) ? body : {};
  return {
    ...rest,
    type: 'object',
    properties: { ...(isRecord(properties) ? properties : {}), ...more },
    ...(definitions.size > 0 && { $defs: localReferences(Object.fromEntries(definitions)) }),
  };
};

/** A tool as a client sees it in the list. */
export const listedTool = (tool: Tool) => {
  const output = outputSchema(tool);
  return {
    name: tool.name,
    title: tool.title,
    description: tool.about,
    inputSchema: inputSchema(tool),
    ...(output === undefined ? {} : { outputSchema: output }),
    annotations: annotationsOf(tool),
  };
};
