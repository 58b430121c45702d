import { z } from 'zod';
import { keySchemas } from './config.ts';
import type { ConfigKey } from './config-key.ts';
import { configKeys, defaultWords } from './config-keys.ts';
import type { Kind } from './kinds.ts';

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
  return shape.type === 'string' && shape.enum === undefined ? { maxLength: longestText, ...shape } : shape;
};

const keySchema = (schema: z.ZodType, row: ConfigKey): JsonSchema => {
  const shape = shapeOf(schema, row);
  return {
    ...shape,
    description: `${row.meaning} Give ${row.allowed}. Not given: ${defaultWords(row)}.`,
    // Of several shapes a client in Go cannot write which one a default has; the words tell it.
    ...(row.initial === undefined || shape.anyOf !== undefined ? {} : { default: row.initial }),
    examples: [row.example],
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
