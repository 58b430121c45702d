import { type ConfigKey, configKeys, defaultWords, kinds } from '../../shared/api/config-keys.ts';
import { configSchema } from '../../shared/api/config-schemas.ts';
import type { JsonSchema } from '../../shared/api/fields.ts';
import { isRecord } from '../../shared/base/json.ts';
import { channelKinds } from '../notifications/kinds/index.ts';
import type { ChannelKind, Field } from '../notifications/kinds/types.ts';
import { escapeHtml, prose } from './document-words.ts';

/** Descriptions of a monitor's config keys, for the document and its page. */

/** Every key of every type, as paragraphs of the document. */
const everyKey = kinds
  .map((kind) => `Keys of \`${kind}\`:\n\n${Object.entries(configKeys[kind]).map(line).join('\n')}`)
  .join('\n\n');

function line([key, row]: readonly [string, ConfigKey]): string {
  return `- \`${key}\`: ${row.meaning} Give ${row.allowed}. Not given: ${defaultWords(row)}.`;
}

const schemas =
  'As schemas they are `HttpsConfig`, `DnsConfig` and `HeartbeatConfig`, by the type.';
const unused = 'Keys that the type does not know are kept and do nothing.';
const elsewhere = `Every key stands at \`config\` of \`MonitorIn\`. ${schemas}`;

/** Where a monitor is created, every key is described; elsewhere, a reference says where. */
const wordsAt: Readonly<Record<string, string>> = {
  MonitorIn: `${unused} ${schemas}\n\n${everyKey}`,
  MonitorPatch:
    'It replaces the whole: a key that is left out is gone; null, or no config at all, ' +
    'leaves it as it is. `***` keeps a stored secret, unless the target moves to another ' +
    `scheme, host or port. ${unused} ${elsewhere}`,
  MonitorOut: elsewhere,
};

/** The schema of an object; if it has a config, with descriptions of its keys. */
export function withConfigKeys(name: string, schema: JsonSchema): JsonSchema {
  const words = wordsAt[name];
  const { properties } = schema;
  if (words === undefined || !isRecord(properties) || !isRecord(properties.config)) return schema;
  const { config } = properties;
  return {
    ...schema,
    properties: {
      ...properties,
      config: { ...config, description: `${config.description} ${words}` },
    },
  };
}

const head = ['Key', 'Meaning', 'Allowed', 'Not given', 'Example']
  .map((words) => `<th scope="col">${words}</th>`)
  .join('');

/** A page: one table for each type. */
export function configChapter(): string {
  return `<h1>Keys of a config</h1><p>${prose(unused)}</p>${kinds
    .map((kind) => {
      const caption = `Keys of ${kind}`;
      const rows = Object.entries(configKeys[kind]).map(cells).join('');
      return `<section id="config-${kind}"><h2>${caption}</h2><div class="wide" tabindex="0" role="region" aria-label="${caption}"><table class="keys"><thead><tr>${head}</tr></thead><tbody>${rows}</tbody></table></div></section>`;
    })
    .join('')}`;
}

function cells([key, row]: readonly [string, ConfigKey]): string {
  return `<tr><th scope="row"><code>${escapeHtml(key)}</code></th><td>${prose(row.meaning)}</td><td>${prose(`Give ${row.allowed}.`)}</td><td>${prose(defaultWords(row))}</td><td><code>${escapeHtml(JSON.stringify(row.example))}</code></td></tr>`;
}

/**
 * The content of a config, as an object of the document for each type of monitor and each kind of
 * channel. `config` itself stays an object with free keys, because clients generated from the
 * document know it so; `if` and `then`, which they ignore, say which object belongs to which type.
 *
 * Every config as a named object.
 */
export function configComponents(): readonly (readonly [string, JsonSchema])[] {
  return [
    ...kinds.map((kind) => [monitorConfigName(kind), configSchema(kind)] as const),
    ...channelKinds.map((kind) => [channelConfigName(kind.id), channelSchema(kind)] as const),
  ];
}

function monitorConfigName(kind: string): string {
  return `${pascal(kind)}Config`;
}

function pascal(name: string): string {
  return name.replaceAll(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

function channelConfigName(kind: string): string {
  return `${pascal(kind)}ChannelConfig`;
}

function channelSchema({ id, about, fields }: ChannelKind): JsonSchema {
  const required = Object.entries(fields).flatMap(([name, { optional, input }]) =>
    optional === true || input === 'generated' ? [] : [name],
  );
  return {
    type: 'object',
    description: `The config of a channel of the kind \`${id}\`. ${about}`,
    properties: Object.fromEntries(
      Object.entries(fields).map(([name, field]) => [name, valueSchema(field)]),
    ),
    required,
    additionalProperties: false,
  };
}

const longestValue = 2_000;

function valueSchema({
  label,
  hint,
  secret,
  optional,
  pattern,
  choices,
  input,
}: Field): JsonSchema {
  const text = {
    type: 'string',
    ...(choices === undefined
      ? { pattern: pattern.source, maxLength: longestValue }
      : { enum: choices }),
  };
  const words = [
    `${label}.`,
    ...(hint === undefined ? [] : [/[.…?]$/.test(hint) ? hint : `${hint}.`]),
    ...(secret === true ? ['Stored encrypted, and shown as `***`.'] : []),
    ...(input === 'generated' ? ['Made for you where it is left out, and answered once.'] : []),
  ];
  return {
    ...(optional === true ? { anyOf: [text, { type: 'null' }] } : text),
    description: words.join(' '),
  };
}

/**
 * Repeated at each part: validators of examples take a part without it for the whole object, and
 * complain about its other members.
 */
const open = { additionalProperties: true } as const;

const ofMonitors = byMember(
  'type',
  kinds.map((kind) => [kind, { anyOf: [reference(monitorConfigName(kind)), { type: 'null' }] }]),
);

/**
 * "One of these: this member has this value, and the config has that shape." All of it is below
 * `then`, which client generators ignore. Programs that generate test requests do read it, and can
 * use one row after the other.
 */
function byMember(member: string, rows: readonly (readonly [string, JsonSchema])[]): JsonSchema {
  return {
    if: { type: 'object', ...open },
    // biome-ignore lint/suspicious/noThenProperty: a word of JSON Schema.
    then: {
      ...open,
      oneOf: rows.map(([value, config]) => ({
        properties: { [member]: { const: value }, config },
        required: [member],
        ...open,
      })),
    },
  };
}

function reference(name: string): JsonSchema {
  return { $ref: `#/components/schemas/${name}` };
}

const ofChannels = byMember(
  'kind',
  channelKinds.map(({ id }) => [id, reference(channelConfigName(id))]),
);

/** The input that creates a monitor or a channel, with the matching configs. */
export function withConfigSchemas(name: string, schema: JsonSchema): JsonSchema {
  if (name === 'MonitorIn' || name === 'FileMonitor') return { ...schema, ...ofMonitors };
  const { properties } = schema;
  const isOfChannel = name === 'ChannelIn' || name === 'FileChannel';
  if (!isOfChannel || !isRecord(properties) || !isRecord(properties.kind)) return schema;
  const pattern = `^(?:${channelKinds.map(({ id }) => id).join('|')})$`;
  return {
    ...schema,
    properties: { ...properties, kind: { ...properties.kind, pattern } },
    ...ofChannels,
  };
}
