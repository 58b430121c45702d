import type { JsonSchema, Shape } from '../api/fields.ts';
import { restOperations } from '../api/index.ts';
import { commandName } from '../base/env.ts';
import { isRecord, memberOf } from '../base/json.ts';

/**
 * What a command needs of an operation: our own table provides it, and so does the document of a
 * newer service.
 */
export type CommandSource = {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly summary: string;
  readonly description?: string | undefined;
  readonly params: readonly string[];
  readonly query: Readonly<Record<string, FlagSource>>;
  readonly body: Readonly<Record<string, FlagSource>>;
};

type FlagSource = { readonly schema: JsonSchema; readonly required: boolean };

export type FlagKind = 'text' | 'integer' | 'number' | 'boolean' | 'object' | 'objects' | 'list';

export type Flag = {
  /** As typed, without the dashes: `interval-s`; lists repeat under their singular. */
  readonly name: string;
  readonly key: string;
  readonly where: 'query' | 'body';
  readonly kind: FlagKind;
  readonly required: boolean;
  readonly choices: readonly string[];
  /** Words that a shell completes; others are sent too, because the service may know more. */
  readonly offered: readonly string[];
  readonly hint: string;
};

export type Command = {
  /** `['monitors', 'list']` */
  readonly words: readonly string[];
  readonly operation: CommandSource;
  readonly positionals: readonly { readonly name: string; readonly shown: string }[];
  readonly flags: readonly Flag[];
  readonly paged: boolean;
};

const kebab = (text: string): string =>
  text
    .replaceAll(/([a-z])([A-Z])/g, '$1-$2')
    .replaceAll('_', '-')
    .toLowerCase();

const singular = (word: string): string => word.replace(/s$/, '');

/**
 * The words of a command, from the operation's path and id: `getMonitorStatus` is `monitors
 * status`.
 */
export const commandWords = ({ id, path }: Pick<CommandSource, 'id' | 'path'>): string[] => {
  const noun = path.split('/')[3] ?? '';
  const [verb = '', ...rest] = kebab(id).split('-');
  if (rest.length === 0) return [verb];
  const said = new Set([...noun.split('-').flatMap((word) => [word, singular(word)]), 'page', 'pages', 'window', 'windows']);
  const more = rest.filter((word) => !said.has(word));
  if (more.length === 0) return [noun, verb];
  return [noun, verb === 'get' ? more.join('-') : [verb, ...more].join('-')];
};

const alternatives = (schema: JsonSchema): JsonSchema[] =>
  Array.isArray(schema.anyOf)
    ? schema.anyOf.filter((one: unknown): one is JsonSchema => typeof one === 'object' && one !== null)
    : [schema];

const kindOf = ({ type, items }: JsonSchema): FlagKind => {
  if (type === 'array' && isRecord(items) && (typeof items.$ref === 'string' || items.type === 'object')) return 'objects';
  if (type === 'integer' || type === 'number' || type === 'boolean' || type === 'object') return type;
  return type === 'array' ? 'list' : 'text';
};

/** The words of a pattern that only lists words. */
const wordsOf = ({ pattern }: JsonSchema): string[] => {
  const [, told = ''] = /^\^\(\?:([\w-]+(?:\|[\w-]+)*)\)\$$/.exec(typeof pattern === 'string' ? pattern : '') ?? [];
  return told === '' ? [] : told.split('|');
};

const flagOf = (where: Flag['where'], key: string, { schema, required }: FlagSource): Flag => {
  const main = alternatives(schema).find((one) => one.type !== 'null') ?? schema;
  const kind = kindOf(main);
  const choices = Array.isArray(main.enum) ? main.enum.map(String) : [];
  const offered = choices.length > 0 ? choices : wordsOf(main);
  const words = schema.description ?? main.description;
  const hint = typeof words === 'string' ? words : '';
  return { name: kebab(kind === 'list' ? singular(key) : key), key, where, kind, required, choices, offered, hint };
};

const shown = (param: string): string => (param.includes('_') ? param.toUpperCase() : 'ID');

export const commandOf = (operation: CommandSource): Command => {
  const flags = [
    ...Object.entries(operation.query).map(([key, source]) => flagOf('query', key, source)),
    ...Object.entries(operation.body).map(([key, source]) => flagOf('body', key, source)),
  ];
  const alone = operation.params.length === 1;
  return {
    words: commandWords(operation),
    operation,
    positionals: operation.params.map((name) => ({ name, shown: alone ? 'ID' : shown(name) })),
    flags,
    paged: Object.hasOwn(operation.query, 'cursor') || Object.hasOwn(operation.query, 'after'),
  };
};

/** `antipode monitors get ID [--flag …]` */
export const usageOf = (command: Command): string => {
  const required = command.flags.filter((flag) => flag.required).map((flag) => `--${flag.name} ${placeholderOf(flag)}`);
  const rest = command.flags.some((flag) => !flag.required) ? ['[FLAGS]'] : [];
  return ['antipode', ...command.words, ...command.positionals.map(({ shown: name }) => name), ...required, ...rest].join(' ');
};

/** The placeholder of a flag's value in help texts. */
export const placeholderOf = (flag: Flag): string => {
  if (flag.choices.length > 0) return flag.choices.join('|');
  if (flag.kind === 'object') return "'{…}'|@FILE";
  if (flag.kind === 'objects') return '@FILE';
  if (flag.kind === 'boolean') return 'true|false';
  if (flag.kind === 'integer' || flag.kind === 'number') return 'N';
  if (/_at$/.test(flag.key)) return '2027-01-01T02:00';
  if (flag.kind === 'list' || /^(monitor|group)$/.test(flag.key)) return 'ID';
  return 'TEXT';
};

const sources = (shape: Shape | undefined): CommandSource['body'] =>
  Object.fromEntries(
    Object.entries(shape ?? {}).map(([key, field]) => [key, { schema: field.schema, required: field.absent === undefined }]),
  );

const nouns = ['me', 'monitors', 'incidents', 'events', 'channels', 'maintenance', 'groups', 'status-pages'];

const rank = ({ operation }: Command): number => {
  const place = nouns.indexOf(operation.path.split('/')[3] ?? '');
  return place < 0 ? nouns.length : place;
};

/** Every operation of the API as a command. A new operation in the table needs no further work. */
export const commands: readonly Command[] = restOperations
  .map((operation) =>
    commandOf({
      id: operation.id,
      method: operation.method,
      path: operation.path,
      summary: operation.summary,
      description: operation.description,
      params: Object.keys(operation.params),
      query: sources(operation.query),
      body: sources(operation.body?.shape),
    }),
  )
  .toSorted((a, b) => rank(a) - rank(b));

/**
 * The names of the commands in a service's own document: an older client finds out what it lacks.
 */
export const commandsOfDocument = (document: unknown): string[] => {
  const paths = memberOf(document, 'paths');
  if (typeof paths !== 'object' || paths === null) return [];
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.values(Object(methods)).flatMap((operation: unknown) => {
      const id = memberOf(operation, 'operationId');
      const source = { method: '', summary: '', params: [], query: {}, body: {} };
      return typeof id === 'string' ? [commandName(commandOf({ ...source, id, path }))] : [];
    }),
  );
};
