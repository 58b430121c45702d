import { type ConfigKey, configKeys, defaultWords, kinds } from '../../../shared/api/config-keys.ts';
import type { JsonSchema } from '../../../shared/api/fields.ts';
import { isRecord } from '../../../shared/base/json.ts';
import { escapeHtml, prose } from './rest-docs-text.ts';

/** What the document and its page say of the keys of a monitor's config. */

const line = ([key, row]: readonly [string, ConfigKey]): string =>
  `- \`${key}\`: ${row.meaning} Give ${row.allowed}. Not given: ${defaultWords(row)}.`;

/** Every key of every type, as paragraphs of the document. */
const everyKey = kinds.map((kind) => `Keys of \`${kind}\`:\n\n${Object.entries(configKeys[kind]).map(line).join('\n')}`).join('\n\n');

const schemas = 'As schemas they are `HttpsConfig`, `DnsConfig` and `HeartbeatConfig`, by the type.';
const unused = 'Keys that the type does not know are kept and do nothing.';
const elsewhere = `Every key stands at \`config\` of \`MonitorIn\`. ${schemas}`;

/** Where a monitor is sent, every key is told of; where it is told or changed, where that stands. */
const wordsAt: Readonly<Record<string, string>> = {
  MonitorIn: `${unused} ${schemas}\n\n${everyKey}`,
  MonitorPatch: `What is sent replaces the whole: a key that is left out is gone; null, or no config at all, leaves it as it is. \`***\` keeps a stored secret, unless the target moves to another scheme, host or port. ${unused} ${elsewhere}`,
  MonitorOut: elsewhere,
};

/** The schema of an object, where it has a config with words about its keys. */
export const withConfigKeys = (name: string, schema: JsonSchema): JsonSchema => {
  const words = wordsAt[name];
  const { properties } = schema;
  if (words === undefined || !isRecord(properties) || !isRecord(properties.config)) return schema;
  const { config } = properties;
  return { ...schema, properties: { ...properties, config: { ...config, description: `${config.description} ${words}` } } };
};

const cells = ([key, row]: readonly [string, ConfigKey]): string =>
  `<tr><th scope="row"><code>${escapeHtml(key)}</code></th><td>${prose(row.meaning)}</td><td>${prose(`Give ${row.allowed}.`)}</td><td>${prose(defaultWords(row))}</td><td><code>${escapeHtml(JSON.stringify(row.example))}</code></td></tr>`;

const head = ['Key', 'Meaning', 'Allowed', 'Not given', 'Example'].map((words) => `<th scope="col">${words}</th>`).join('');

/** A chapter of the page: one table for each type. */
export const configChapter = (): string =>
  `<h2 id="config">Keys of a config</h2><p>${prose(unused)}</p>${kinds
    .map((kind) => {
      const caption = `Keys of ${kind}`;
      const rows = Object.entries(configKeys[kind]).map(cells).join('');
      return `<section id="config-${kind}"><h3>${caption}</h3><div class="wide" tabindex="0" role="region" aria-label="${caption}"><table class="keys"><thead><tr>${head}</tr></thead><tbody>${rows}</tbody></table></div></section>`;
    })
    .join('')}`;
