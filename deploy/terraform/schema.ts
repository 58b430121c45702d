/**
 * Makes the schema of the Terraform provider from the API document: every attribute of every
 * resource, with how it is sent and where an answer has it. The provider embeds the file.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { JsonSchema } from '../../shared/api/fields.ts';
import { isSecretName, type RestOperation } from '../../shared/api/operation.ts';
import { isRecord, memberOf } from '../../shared/base/json.ts';
import {
  bodyOf,
  bodySchema,
  componentOf,
  isNullable,
  itemOf,
  propertiesOf,
  requiredOf,
  resolved,
  type Schemas,
  successSchema,
  without,
  wordsOf,
} from './document.ts';
import { type Managed, managed } from './objects.ts';

/**
 * A kind of value. A `scalar` is a text, a number or a boolean, written as a text; `json` is any
 * object, as its text.
 */
type Shape = {
  readonly type:
    | 'string'
    | 'integer'
    | 'number'
    | 'boolean'
    | 'scalar'
    | 'json'
    | 'list'
    | 'set'
    | 'map'
    | 'object';
  readonly items?: Shape;
  readonly fields?: readonly Attribute[];
  readonly enum?: readonly unknown[];
  readonly minimum?: unknown;
  readonly maximum?: unknown;
};

type Attribute = Shape & {
  readonly name: string;
  readonly description: string;
  /** `data`: only data sources have it. */
  readonly use: 'required' | 'optional' | 'computed' | 'data';
  /** Where it is left out, the service chooses, and its choice stays. */
  readonly chosen?: true;
  readonly default?: unknown;
  readonly sensitive?: true;
  /** Of what never changes by itself: a plan knows it. */
  readonly stable?: true;
  /** A change makes a new object. */
  readonly replace?: true;
  readonly create?: true;
  readonly update?: true;
  /** Where an answer has it, when not at its name. */
  readonly at?: readonly string[];
  readonly as?: 'present' | 'rows';
  readonly hidden?: true;
  /** Answered once, when the object is created. */
  readonly once?: true;
  readonly clear?: Readonly<Record<string, unknown>>;
  /** The value of the union's `by` of which this attribute is the config. */
  readonly of?: string;
};

type Resource = Pick<Managed, 'union' | 'lookup' | 'gone'> & {
  readonly name: string;
  readonly description: string;
  readonly list: string;
  /** Where one object is; its id stands for `{id}`. */
  readonly one: string;
  readonly canGet: boolean;
  /** Its list says of each object what the object says of itself. */
  readonly isListedWhole: boolean;
  readonly canUpdate: boolean;
  /** What the query of the list finds. */
  readonly filters: readonly string[];
  readonly attributes: readonly Attribute[];
};

/** The whole schema, in the order in which resources need one another. */
export function providerSchema(): { readonly resources: readonly Resource[] } {
  return {
    resources: Object.entries(managed).map(([name, object]) => resourceOf(name, object)),
  };
}

function resourceOf(name: string, object: Managed): Resource {
  const { list, create, get, update, remove, union, lookup, gone } = object;
  return {
    name,
    description: `${create.summary}. ${create.description ?? ''}`.trim(),
    list: list.path,
    one: remove.path.replace(/\{[a-z_]+\}$/, '{id}'),
    canGet: get !== undefined,
    isListedWhole: Object.keys(answerOf(object)).length === Object.keys(itemOf(list)).length,
    canUpdate: update !== undefined,
    lookup,
    filters: lookup.filter((field) => Object.hasOwn(list.query, field)),
    ...(union === undefined ? {} : { union }),
    ...(gone === undefined ? {} : { gone }),
    attributes: attributesOf(object),
  };
}

function attributesOf(object: Managed): readonly Attribute[] {
  const { create, update, union } = object;
  const sent = bodyOf(create);
  const changed = update === undefined ? {} : bodyOf(update);
  const answered = answerOf(object);
  const once = without(propertiesOf(successSchema(create)), answered);
  const inputs = without({ ...changed, ...sent }, clearingOnly(object, sent));
  const outputs = without({ ...answered, ...computedElsewhere(object, answered) }, inputs);
  const isUnion = (name: string): boolean => name === union?.field || name === union?.by;
  const inputAttributes = Object.keys(inputs)
    .filter((name) => !isUnion(name))
    .map((name) => inputOf(name, object, { sent, changed, answered }));
  const forms = union === undefined ? [] : formsOf(create, union);
  const outputAttributes = Object.entries(outputs)
    .filter(([name]) => !isUnion(name))
    .map(([name, schema]) => outputOf(name, schema, object));
  const by: readonly Attribute[] =
    union === undefined
      ? []
      : [
          {
            ...shapeOf({ type: 'string' }),
            name: union.by,
            description: 'Which of the forms it has.',
            use: 'computed',
            replace: true,
          },
        ];
  const onceAttributes = Object.entries(once).map(
    ([name, schema]): Attribute => ({
      ...shapeOf(schema),
      name,
      description: wordsOf(schema),
      use: 'computed',
      sensitive: true,
      stable: true,
      once: true,
    }),
  );
  const all = [...outputAttributes, ...by, ...inputAttributes, ...onceAttributes, ...forms];
  refuseUnknown(object, changed, all);
  return all;
}

/** What is said of an attribute is of one that there is. @throws Error. */
function refuseUnknown(object: Managed, changed: Schemas, all: readonly Attribute[]): void {
  const { clears = {}, defaults = {}, at = {}, as = {}, sets = [], hidden = [] } = object;
  const names = new Set(all.map(({ name }) => name));
  const unknown = [
    ...[clears, defaults, at, as].flatMap((one) => Object.keys(one)),
    ...[...sets, ...hidden, ...object.stable, ...object.lookup],
  ].filter((name) => !names.has(name));
  const unsent = Object.values(clears)
    .flatMap((fragment) => Object.keys(fragment))
    .filter((name) => !Object.hasOwn(changed, name));
  if (unknown.length + unsent.length > 0)
    throw new Error(`${object.create.id}: the document has no ${[...unknown, ...unsent]}`);
}

type Bodies = {
  readonly sent: Schemas;
  readonly changed: Schemas;
  readonly answered: Schemas;
};

function inputOf(name: string, object: Managed, { sent, changed, answered }: Bodies): Attribute {
  const schema = sent[name] ?? changed[name] ?? {};
  const hidden = object.hidden?.includes(name) === true;
  const at = object.at?.[name];
  const as = object.as?.[name];
  const answer = answered[name];
  const file = object.file === undefined ? {} : propertiesOf(componentOf(object.file));
  const standard =
    object.defaults?.[name] ??
    schema.default ??
    file[name]?.default ??
    // A list that an answer always has is empty where there is nothing.
    (answer?.type === 'array' && !isNullable(answer) ? [] : undefined);
  const isRequired = requiredOf(create(object)).includes(name);
  const isChosen =
    !isRequired &&
    !hidden &&
    as === undefined &&
    (standard === undefined || standard === '') &&
    answer !== undefined &&
    !isNullable(answer);
  const shape = shapeOf(schema);
  const isText = shape.type === 'string' && Object.hasOwn(changed, name);
  const clear =
    object.clears?.[name] ??
    (isText && answer !== undefined && isNullable(answer) ? { [name]: '' } : undefined);
  return {
    ...shape,
    ...(object.sets?.includes(name) === true ? { type: 'set' as const } : {}),
    name,
    description: wordsOf(schema),
    use: isRequired ? 'required' : 'optional',
    ...(isChosen
      ? { chosen: true as const }
      : standard === undefined || isRequired
        ? {}
        : { default: standard }),
    ...(isSecretName(name) ? { sensitive: true as const } : {}),
    ...(Object.hasOwn(changed, name) || hidden ? {} : { replace: true as const }),
    ...(Object.hasOwn(sent, name) ? { create: true as const } : {}),
    ...(Object.hasOwn(changed, name) ? { update: true as const } : {}),
    ...(at === undefined ? {} : { at }),
    ...(as === undefined ? {} : { as }),
    ...(hidden ? { hidden: true as const } : {}),
    ...(clear === undefined ? {} : { clear }),
  };
}

function outputOf(name: string, schema: JsonSchema, object: Managed): Attribute {
  const at = object.at?.[name];
  const isStable = name === 'id' || object.stable.includes(name);
  const isOfResource = isStable || object.computed?.includes(name) === true;
  return {
    ...shapeOf(schema),
    name,
    description: wordsOf(schema),
    use: isOfResource ? 'computed' : 'data',
    ...(isStable ? { stable: true as const } : {}),
    ...(at === undefined ? {} : { at }),
  };
}

/** Each form of a union as an attribute, named after its kind. */
function formsOf(
  operation: RestOperation,
  { field, by }: NonNullable<Managed['union']>,
): readonly Attribute[] {
  const forms = memberOf(memberOf(bodySchema(operation), 'then'), 'oneOf');
  if (!Array.isArray(forms)) throw new Error(`${operation.id} has no forms of ${field}`);
  return forms.map((form: unknown): Attribute => {
    const properties = memberOf(form, 'properties');
    const kind = memberOf(memberOf(properties, by), 'const');
    const config = memberOf(properties, field);
    if (typeof kind !== 'string' || !isRecord(config)) throw new Error(`a form of ${field}`);
    return {
      ...shapeOf(config),
      name: kind,
      description: `The settings of \`${kind}\`. An object has one such attribute, which says what it is; \`{}\` is all defaults.`,
      use: 'optional',
      create: true,
      update: true,
      at: [field],
      of: kind,
    };
  });
}

/** Fields of a change that only take another one away. */
function clearingOnly({ clears = {} }: Managed, sent: Schemas): Schemas {
  return Object.fromEntries(
    Object.values(clears)
      .flatMap((fragment) => Object.keys(fragment))
      .filter((name) => !Object.hasOwn(sent, name) && !Object.hasOwn(clears, name))
      .map((name) => [name, {}]),
  );
}

/** Attributes that an answer has inside another one. */
function computedElsewhere({ computed = [], at = {} }: Managed, answered: Schemas): Schemas {
  return Object.fromEntries(
    computed.flatMap((name) => {
      const [outer, inner] = at[name] ?? [];
      if (outer === undefined || inner === undefined) return [];
      const schema = propertiesOf(resolved(answered[outer] ?? {}))[inner];
      if (schema === undefined) throw new Error(`an answer has no ${outer}.${inner}`);
      return [[name, schema] as const];
    }),
  );
}

function create({ create: operation }: Managed): JsonSchema {
  return bodySchema(operation);
}

/** What an answer says of an object that exists: by itself, or as one of a list. */
function answerOf({ get, list }: Managed): Schemas {
  return get === undefined ? itemOf(list) : propertiesOf(successSchema(get));
}

function shapeOf(given: JsonSchema): Shape {
  const schema = resolved(given);
  const { type, items, properties, additionalProperties, anyOf } = schema;
  if (Array.isArray(anyOf)) {
    const types = anyOf.map((one) => memberOf(one, 'type'));
    return { type: types.includes('boolean') ? 'scalar' : 'string' };
  }
  if (type === 'array' && isRecord(items)) return { type: 'list', items: shapeOf(items) };
  if (type === 'object' && isRecord(properties))
    return {
      type: 'object',
      fields: Object.entries(propertiesOf(schema)).map(([name, inner]) =>
        memberAttribute(name, inner, requiredOf(schema).includes(name)),
      ),
    };
  if (type === 'object' && isRecord(additionalProperties))
    return { type: 'map', items: shapeOf(additionalProperties) };
  if (type === 'object') return { type: 'json' };
  if (type === 'string' || type === 'integer' || type === 'number' || type === 'boolean')
    return {
      type,
      ...(Array.isArray(schema.enum) ? { enum: schema.enum } : {}),
      ...('minimum' in schema ? { minimum: schema.minimum } : {}),
      ...('maximum' in schema ? { maximum: schema.maximum } : {}),
    };
  throw new Error(`no attribute can be a ${JSON.stringify(given)}`);
}

/** A member of an object that is sent and answered whole. */
function memberAttribute(name: string, schema: JsonSchema, isRequired: boolean): Attribute {
  const shape = shapeOf(schema);
  const description = wordsOf(schema);
  return {
    ...shape,
    name,
    description,
    use: isRequired && !isNullable(schema) ? 'required' : 'optional',
    ...(isSecret(name, shape, description) ? { sensitive: true as const } : {}),
  };
}

/** The document says "stored encrypted" of each secret, and of an object that has one. */
function isSecret(name: string, { type }: Shape, description: string): boolean {
  return type === 'string' || type === 'map'
    ? /stored encrypted/i.test(description) || (isSecretName(name) && description === '')
    : false;
}

const begin = '<!-- Made by schema.ts. -->';
const end = '<!-- End. -->';

/** The table of the README: what there is, and how it is imported. */
function readmeTable(): string {
  const rows = providerSchema().resources.map(({ name, lookup, attributes }) => {
    const names = (use: Attribute['use']) =>
      attributes
        .filter((attribute) => attribute.use === use && attribute.of === undefined)
        .map((attribute) => `\`${attribute.name}\``)
        .join(', ');
    const forms = attributes.flatMap(({ of }) => (of === undefined ? [] : [`\`${of}\``]));
    const required = [
      ...(names('required') === '' ? [] : [names('required')]),
      ...(forms.length === 0 ? [] : [`one of ${forms.join(', ')}`]),
    ];
    const found = ['id', ...lookup].map((field) => `\`${field}\``).join(', ');
    return `| \`antipode_${name}\` | ${required.join('; ')} | ${names('optional')} | ${names('computed')} | ${found} |`;
  });
  return [
    begin,
    '| resource and data source | required | optional | computed | a data source finds it by |',
    '|---|---|---|---|---|',
    ...rows,
    end,
  ].join('\n');
}

export const schemaFile = join(import.meta.dirname, 'internal/provider/schema.json');
export const readmeFile = join(import.meta.dirname, 'README.md');

export function schemaText(): string {
  return `${JSON.stringify(providerSchema(), null, 1)}\n`;
}

/** The README with a new table. */
export function readmeText(before: string): string {
  return before.replace(new RegExp(`${begin}[\\s\\S]*${end}`), () => readmeTable());
}

if (import.meta.main) {
  writeFileSync(schemaFile, schemaText());
  writeFileSync(readmeFile, readmeText(readFileSync(readmeFile, 'utf8')));
}
