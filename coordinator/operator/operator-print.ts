/** What people read: a line for each member of an object, lists of objects as blocks; long texts and secrets as they are. */
import { isKind, unknownConfigKeys } from '../../shared/api/config-keys.ts';
import { isRecord } from '../../shared/base/json.ts';

/** What a terminal would obey instead of showing it: texts come from tenants, and from whoever pings a heartbeat. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
const commands = /[\0-\x08\x0b-\x1f\x7f-\x9f]/g;

export const shown = (text: string): string => text.replaceAll(commands, (one) => `\\x${one.charCodeAt(0).toString(16).padStart(2, '0')}`);

const plain = (value: unknown): string => {
  if (typeof value === 'string') return shown(value);
  return Array.isArray(value) && value.length === 0 ? 'none' : JSON.stringify(value);
};

const lines = (record: Readonly<Record<string, unknown>>, indent: string): string[] => {
  const width = Math.max(0, ...Object.keys(record).map((key) => key.length));
  return Object.entries(record).flatMap(([key, value]) => {
    if (Array.isArray(value) && value.some(isRecord))
      return [
        `${indent}${key}`,
        ...value.flatMap((item) => ['', ...(isRecord(item) ? lines(item, `${indent}  `) : [`${indent}  ${plain(item)}`])]),
      ];
    const text = plain(value);
    // At the left margin as it is, to be copied; within a list it must not look like more of the list.
    const inside = indent === '' ? text : text.replaceAll(/^/gm, `${indent}    `);
    return text.includes('\n') ? [`${indent}${key}`, inside] : [`${indent}${key.padEnd(width)}  ${text}`];
  });
};

export const asText = (result: unknown): string => (isRecord(result) ? lines(result, '').join('\n') : plain(result));

/** What is to be told of a monitor that a command gave: keys of its config that do nothing. */
export const configWarnings = (result: unknown): readonly string[] =>
  isRecord(result) && isKind(result.type) && isRecord(result.config)
    ? unknownConfigKeys(result.type, result.config).map(({ sentence }) => sentence)
    : [];
