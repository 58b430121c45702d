import { z } from 'zod';
import { keySchemas } from './checks-config.ts';
import type { ConfigKey } from './checks-config-key.ts';
import { configKeys, defaultWords } from './checks-config-keys.ts';
import type { Kind } from './checks-kinds.ts';

/** The keys of a config as JSON Schema: the shapes that a config is judged by, with the words that people read of them. */

type JsonSchema = { readonly [key: string]: unknown };

/** A config has at most 16 KiB, and so has a text in it. */
const longestText = 16_384;

/** Null is taken beside other shapes and not told: programs that make clients in Python fall over it in what is as deep as this. */
const withoutNullAmongSeveral = (schema: z.core.JSONSchema.BaseSchema): void => {
  if (schema.anyOf !== undefined && schema.anyOf.length > 2) schema.anyOf = schema.anyOf.filter(({ type }) => type !== 'null');
};

const shapeOf = (schema: z.ZodType, { choices }: ConfigKey): JsonSchema => {
  const { $schema: _draft, ...shape } = z.toJSONSchema(schema, {
    unrepresentable: 'any',
    io: 'input',
    override: ({ jsonSchema }) => withoutNullAmongSeveral(jsonSchema),
  });
  // A shape that asks a table of its own for its values says nothing of them here; the words have them.
  if (Object.keys(shape).length === 0 && choices !== undefined) return { type: 'string', enum: choices };
  // One text or a list of them: the list is told, because a client in Java cannot be made of both.
  const list = shape.anyOf?.find(({ type }) => type === 'array');
  if (list !== undefined) return { ...list };
  const { uniqueItems, ...rest } = shape;
  const values: unknown = Object(shape.items).enum;
  // As many as there are different ones: of a set of values a client in Java cannot be made.
  if (uniqueItems === true && Array.isArray(values)) return { ...rest, maxItems: values.length };
  return shape.type === 'string' && shape.enum === undefined ? { maxLength: longestText, ...shape } : shape;
};

const keySchema = (schema: z.ZodType, row: ConfigKey): JsonSchema => {
  const shape = shapeOf(schema, row);
  return {
    ...shape,
    description: `${row.meaning} Give ${row.allowed}. Not given: ${defaultWords(row)}.`,
    // Clients in Go and Java cannot write the default of several shapes, or of a list; the words tell it.
    ...(row.initial === undefined || shape.anyOf !== undefined || shape.type === 'array' ? {} : { default: row.initial }),
    examples: [shape.type === 'array' && !Array.isArray(row.example) ? [row.example] : row.example],
  };
};

export const configSchema = (kind: Kind): JsonSchema => {
  const schemas = keySchemas(kind);
  return {
    type: 'object',
    description: `The keys of a config of \`${kind}\`. Others are kept and do nothing, and a key that is null counts as not given. At most 16 KiB of JSON, 8 levels deep.`,
    properties: Object.fromEntries(
      Object.entries(configKeys[kind]).map(([key, row]) => [key, keySchema(schemas[key] ?? z.never(), row)] as const),
    ),
    additionalProperties: true,
  };
};
