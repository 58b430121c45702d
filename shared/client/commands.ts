import type { JsonSchema, Shape } from '../api/fields.ts';
import { restOperations } from '../api/index.ts';
import { commandName } from '../base/env.ts';
import { isRecord, memberOf } from '../base/json.ts';
import type { Flag, FlagKind } from './arguments.ts';

/**
 * What a command needs of an operation: our own table provides it, and so does the document of a
 * newer service.
 */
type CommandSource = {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly summary: string;
  readonly description?: string | undefined;
  readonly columns?: readonly string[] | undefined;
  readonly csv?: string | undefined;
  readonly params: readonly string[];
  readonly query: Readonly<Record<string, FlagSource>>;
  readonly body: Readonly<Record<string, FlagSource>>;
};

type FlagSource = { readonly schema: JsonSchema; readonly required: boolean };

export type Command = {
  /** `['monitors', 'list']` */
  readonly words: readonly string[];
  readonly operation: CommandSource;
  readonly positionals: readonly { readonly name: string; readonly shown: string }[];
  readonly flags: readonly Flag[];
  readonly paged: boolean;
};

/**
 * The words of a command, from the operation's path and id: `getMonitorStatus` is `monitors
 * status`.
 */
export function commandWords({ id, path }: Pick<CommandSource, 'id' | 'path'>): string[] {
  const noun = path.split('/')[3] ?? '';
  const [verb = '', ...rest] = kebab(id).split('-');
  if (rest.length === 0) return [verb];
  const said = new Set([
    ...noun.split('-').flatMap((word) => [word, singular(word)]),
    'page',
    'pages',
    'window',
    'windows',
  ]);
  const more = rest.filter((word) => !said.has(word));
  if (more.length === 0) return [noun, verb];
  return [noun, verb === 'get' ? more.join('-') : [verb, ...more].join('-')];
}

function kebab(text: string): string {
  return text
    .replaceAll(/([a-z])([A-Z])/g, '$1-$2')
    .replaceAll('_', '-')
    .toLowerCase();
}

function singular(word: string): string {
  return word.replace(/s$/, '');
}

function commandOf(operation: CommandSource): Command {
  const alone = operation.params.length === 1;
  return {
    words: commandWords(operation),
    operation,
    positionals: operation.params.map((name) => ({ name, shown: alone ? 'ID' : shown(name) })),
    flags: Object.entries({ ...operation.query, ...operation.body }).map(flagOf),
    paged: Object.hasOwn(operation.query, 'cursor') || Object.hasOwn(operation.query, 'after'),
  };
}

function shown(param: string): string {
  return param.includes('_') ? param.toUpperCase() : 'ID';
}

function flagOf([key, { schema, required }]: [string, FlagSource]): Flag {
  const main = alternatives(schema).find((one) => one.type !== 'null') ?? schema;
  const kind = kindOf(main);
  const choices = Array.isArray(main.enum) ? main.enum.map(String) : [];
  const offered = choices.length > 0 ? choices : wordsOf(main);
  const words = schema.description ?? main.description;
  const hint = typeof words === 'string' ? words : '';
  return {
    name: kebab(kind === 'list' ? singular(key) : key),
    key,
    kind,
    required,
    choices,
    offered,
    hint,
  };
}

function alternatives(schema: JsonSchema): JsonSchema[] {
  return Array.isArray(schema.anyOf)
    ? schema.anyOf.filter(
        (one: unknown): one is JsonSchema => typeof one === 'object' && one !== null,
      )
    : [schema];
}

function kindOf({ type, items, $ref }: JsonSchema): FlagKind {
  if (type === 'array')
    return isRecord(items) && (items.$ref !== undefined || items.type === 'object')
      ? 'objects'
      : 'list';
  if (type === 'integer' || type === 'number') return 'number';
  if (type === 'boolean') return type;
  return type === 'object' || $ref !== undefined ? 'object' : 'text';
}

/** The words of a pattern that only lists words. */
function wordsOf({ pattern }: JsonSchema): string[] {
  const [, told = ''] =
    /^\^\(\?:([\w-]+(?:\|[\w-]+)*)\)\$$/.exec(typeof pattern === 'string' ? pattern : '') ?? [];
  return told === '' ? [] : told.split('|');
}

/** `antipode monitors get ID [--flag …]` */
export function usageOf(command: Command): string {
  const required = command.flags.filter((flag) => flag.required).map(withPlaceholder);
  const rest = command.flags.some((flag) => !flag.required) ? ['[FLAGS]'] : [];
  return [
    'antipode',
    ...command.words,
    ...command.positionals.map(({ shown: name }) => name),
    ...required,
    ...rest,
  ].join(' ');
}

/** The flag as help texts show it: `--interval-s N`. */
export function withPlaceholder(flag: Flag): string {
  return `--${flag.name} ${placeholderOf(flag)}`.trimEnd();
}

function placeholderOf({ placeholder, choices, kind, key }: Flag): string {
  if (placeholder !== undefined) return placeholder;
  if (choices.length > 0) return choices.join('|');
  if (kind === 'object') return "'{…}'|@FILE";
  if (kind === 'objects') return '@FILE';
  if (kind === 'boolean') return 'true|false';
  if (kind === 'number') return 'N';
  if (/_at$/.test(key)) return '2027-01-01T02:00';
  if (kind === 'list' || /^(monitor|group)$/.test(key)) return 'ID';
  return 'TEXT';
}

/** The flags of these fields. */
export function flagsOf(shape: Shape): readonly Flag[] {
  return Object.entries(sources(shape)).map(flagOf);
}

function sources(shape: Shape = {}): CommandSource['body'] {
  return Object.fromEntries(
    Object.entries(shape).map(([key, field]) => [
      key,
      { schema: field.schema, required: field.absent === undefined },
    ]),
  );
}

const nouns = [
  'me',
  'monitors',
  'incidents',
  'events',
  'channels',
  'maintenance',
  'groups',
  'status-pages',
];

/** Every operation of the API as a command. A new operation in the table needs no further work. */
export const commands: readonly Command[] = restOperations
  .map((operation) =>
    commandOf({
      id: operation.id,
      method: operation.method,
      path: operation.path,
      summary: operation.summary,
      description: operation.description,
      columns: operation.columns,
      csv: operation.csv,
      params: Object.keys(operation.params),
      query: sources(operation.query),
      body: sources(operation.body?.shape),
    }),
  )
  .toSorted((a, b) => rank(a) - rank(b));

function rank({ operation }: Command): number {
  const place = nouns.indexOf(operation.path.split('/')[3] ?? '');
  return place < 0 ? nouns.length : place;
}

/**
 * The names of the commands in a service's own document: an older client finds out what it lacks.
 */
export function commandsOfDocument(document: unknown): string[] {
  const paths = memberOf(document, 'paths');
  if (typeof paths !== 'object' || paths === null) return [];
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.values(Object(methods)).flatMap((operation: unknown) => {
      const id = memberOf(operation, 'operationId');
      const source = { method: '', summary: '', params: [], query: {}, body: {} };
      return typeof id === 'string' ? [commandName(commandOf({ ...source, id, path }))] : [];
    }),
  );
}
