import { kinds } from '../../../shared/api/config-keys.ts';
import { configSchema } from '../../../shared/api/config-schemas.ts';
import type { JsonSchema } from '../../../shared/api/fields.ts';
import { isRecord } from '../../../shared/base/json.ts';
import { channelKinds } from '../../alerts/alert-channel-kinds.ts';
import type { ChannelKind, Field } from '../../alerts/kinds/channel-kind.ts';

/**
 * What a config may hold, as an object of the document for each type of monitor and each kind of channel. `config` itself stays an object
 * with free keys, as the clients know it that were generated from the document; `if` and `then`, which they pass over, say which object
 * belongs to which type.
 */

const pascal = (name: string): string => name.replaceAll(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());

const longestValue = 2_000;

const valueSchema = ({ label, hint, secret, optional, pattern, choices, input }: Field): JsonSchema => {
  const text = { type: 'string', ...(choices === undefined ? { pattern: pattern.source, maxLength: longestValue } : { enum: choices }) };
  const words = [
    `${label}.`,
    ...(hint === undefined ? [] : [/[.…?]$/.test(hint) ? hint : `${hint}.`]),
    ...(secret === true ? ['Stored encrypted, and shown as `***`.'] : []),
    ...(input === 'generated' ? ['Made for you where it is left out, and answered once.'] : []),
  ];
  return { ...(optional === true ? { anyOf: [text, { type: 'null' }] } : text), description: words.join(' ') };
};

const channelSchema = ({ id, about, fields }: ChannelKind): JsonSchema => {
  const required = Object.entries(fields).flatMap(([name, { optional, input }]) =>
    optional === true || input === 'generated' ? [] : [name],
  );
  return {
    type: 'object',
    description: `The config of a channel of the kind \`${id}\`. ${about}`,
    properties: Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, valueSchema(field)])),
    required,
    additionalProperties: false,
  };
};

const monitorConfigName = (kind: string): string => `${pascal(kind)}Config`;
const channelConfigName = (kind: string): string => `${pascal(kind)}ChannelConfig`;

/** Every config as an object with a name of its own. */
export const configComponents = (): readonly (readonly [string, JsonSchema])[] => [
  ...kinds.map((kind) => [monitorConfigName(kind), configSchema(kind)] as const),
  ...channelKinds.map((kind) => [channelConfigName(kind.id), channelSchema(kind)] as const),
];

const reference = (name: string): JsonSchema => ({ $ref: `#/components/schemas/${name}` });

/** Said at each part: judges of examples take a part that does not say it for the whole object, and wonder at its other members. */
const open = { additionalProperties: true } as const;

/**
 * "It is one of these: this member says so, and the config is that." All of it below `then`, where programs that make clients do not look; those that
 * make bodies to try a service with do, and can take one row after the other.
 */
const byMember = (member: string, rows: readonly (readonly [string, JsonSchema])[]): JsonSchema => ({
  if: { type: 'object', ...open },
  // biome-ignore lint/suspicious/noThenProperty: a word of JSON Schema.
  then: {
    ...open,
    oneOf: rows.map(([value, config]) => ({ properties: { [member]: { const: value }, config }, required: [member], ...open })),
  },
});

const ofMonitors = byMember(
  'type',
  kinds.map((kind) => [kind, { anyOf: [reference(monitorConfigName(kind)), { type: 'null' }] }]),
);

const ofChannels = byMember(
  'kind',
  channelKinds.map(({ id }) => [id, reference(channelConfigName(id))]),
);

/** What is sent to make a monitor or a channel, with the configs that belong to it. */
export const withConfigSchemas = (name: string, schema: JsonSchema): JsonSchema => {
  if (name === 'MonitorIn') return { ...schema, ...ofMonitors };
  const { properties } = schema;
  if (name !== 'ChannelIn' || !isRecord(properties) || !isRecord(properties.kind)) return schema;
  const pattern = `^(?:${channelKinds.map(({ id }) => id).join('|')})$`;
  return { ...schema, properties: { ...properties, kind: { ...properties.kind, pattern } }, ...ofChannels };
};
