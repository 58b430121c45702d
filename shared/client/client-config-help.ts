import { type ConfigKey, configKeys, defaultWords, isKind, type Kind, kinds, unknownConfigKeys } from '../api/api-config-keys.ts';
import { UsageFault } from '../base/command-line.ts';
import { isRecord } from '../base/json-record.ts';
import { nearest } from '../base/nearest-word.ts';
import type { Paint } from './client-terminal.ts';

/** What the command line says of the keys of a monitor's config. */

const textWidth = 78;

const wrapped = (text: string, indent: string): string => {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && indent.length + line.length + 1 + word.length > textWidth) {
      lines.push(line);
      line = word;
    } else line += line === '' ? word : ` ${word}`;
  }
  return [...lines, line].map((one) => `${indent}${one}\n`).join('');
};

const plain = (text: string): string => text.replaceAll('`', '');

/** A value as somebody would type it behind its flag. */
const typed = (value: ConfigKey['example']): string => {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return /^[\w./:-]+$/.test(text) ? text : `'${text}'`;
};

const partOf = (key: string, row: ConfigKey, paint: Paint): string =>
  [
    `  ${paint(key, 'bold')}\n`,
    wrapped(plain(row.meaning), '      '),
    wrapped(plain(`Give ${row.allowed}. Not given: ${defaultWords(row)}.`), '      '),
    `      --config.${key} ${typed(row.example)}\n`,
  ].join('');

/** @throws UsageFault for a type that there is not. */
export const configHelp = (kind: string | undefined, paint: Paint): string => {
  if (kind === undefined)
    return `Every key that a monitor's config may have, by its type:\n\n${kinds.map((one) => `  antipode help config ${one}\n`).join('')}`;
  if (!isKind(kind)) {
    const meant = nearest(kind, kinds);
    throw new UsageFault(
      `There is no type "${kind}". ${meant === undefined ? `There are: ${kinds.join(', ')}.` : `Did you mean ${meant}?`}`,
    );
  }
  const parts = Object.entries(configKeys[kind]).map(([key, row]) => partOf(key, row, paint));
  return `The keys of the config of ${kind} monitors, each as its flag of monitors create and update\n\n${parts.join('\n')}`;
};

/** All keys of all types, each once, for completion. */
export const allConfigKeys = (): readonly (readonly [key: string, row: ConfigKey])[] => [
  ...new Map(kinds.flatMap((kind: Kind) => Object.entries(configKeys[kind]))),
];

/** What is to be told of a config that somebody sent, once the service has answered with the monitor that it belongs to. */
export const configWarnings = (sent: unknown, answer: unknown): readonly string[] => {
  if (!isRecord(sent) || !isRecord(sent.config) || !isRecord(answer) || !isKind(answer.type)) return [];
  return unknownConfigKeys(answer.type, sent.config).map(({ sentence }) => sentence);
};
