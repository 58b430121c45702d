import type { JsonSchema } from '../../shared/api/fields.ts';
import { fileKinds, fileName, fileObjects } from '../../shared/api/files.ts';
import { isRecord } from '../../shared/base/json.ts';
import { apiDocument } from './openapi.ts';

/** The schema of antipode.yaml, by which editors complete and mark it. */
export function fileSchema(baseUrl: string): JsonSchema {
  const { schemas } = apiDocument(baseUrl).components;
  const needed = new Map<string, JsonSchema>();
  const take = (name: string): void => {
    const schema = schemas[name];
    if (needed.has(name) || schema === undefined) return;
    needed.set(name, schema);
    for (const other of namesIn(schema)) take(other);
  };
  for (const kind of fileKinds) take(fileObjects[kind].name);
  const roots = new Set(fileKinds.map((kind) => fileObjects[kind].name));
  const definitions = [...needed].map(([name, schema]): readonly [string, JsonSchema] => [
    name,
    roots.has(name) ? asWritten(schema) : schema,
  ]);
  const byKeys = (kind: (typeof fileKinds)[number]): JsonSchema => ({
    type: 'object',
    additionalProperties: {
      anyOf: [{ $ref: `#/components/schemas/${fileObjects[kind].name}` }, { type: 'null' }],
    },
  });
  return inDefinitions({
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    $id: `${baseUrl}/antipode.schema.json`,
    title: 'Antipode configuration file',
    type: 'object',
    properties: {
      name: { type: 'string', ...fileName, description: 'Its name.' },
      defaults: {
        type: 'object',
        description: 'Fields that all objects of a kind have where they do not say otherwise.',
        properties: Object.fromEntries(fileKinds.map((kind) => [kind, { type: 'object' }])),
        additionalProperties: false,
      },
      ...Object.fromEntries(fileKinds.map((kind) => [kind, byKeys(kind)])),
    },
    patternProperties: { '^x-': { description: 'Your own, for anchors.' } },
    required: ['name'],
    additionalProperties: false,
    $defs: Object.fromEntries(definitions),
  });
}

/** An object of a file may be many, and may have what is required from its defaults. */
function asWritten({ properties, required: _, ...schema }: JsonSchema): JsonSchema {
  return {
    ...schema,
    properties: {
      ...(isRecord(properties) ? properties : {}),
      for_each: {
        type: 'array',
        minItems: 1,
        description: 'One object for each value; {each} or {each.field} stands for it.',
      },
    },
  };
}

const prefix = '#/components/schemas/';

function namesIn(value: unknown): readonly string[] {
  if (Array.isArray(value)) return value.flatMap(namesIn);
  if (!isRecord(value)) return [];
  const { $ref } = value;
  const own = typeof $ref === 'string' ? [$ref.slice(prefix.length)] : [];
  return [...own, ...Object.values(value).flatMap(namesIn)];
}

function inDefinitions(schema: JsonSchema): JsonSchema {
  return JSON.parse(JSON.stringify(schema).replaceAll(`"${prefix}`, '"#/$defs/'), (name, value) =>
    name === 'pattern' && typeof value === 'string' ? `${value}|[$][{]|[{]each|^file:` : value,
  );
}
