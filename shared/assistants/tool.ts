import type { Field, Shape } from '../api/api-fields.ts';
import type { Operation } from '../api/api-operation.ts';

/** What stands behind a tool: it asks operations and tells what they answered. The same for the local server and for the hosted connector. */

type Values = Readonly<Record<string, unknown>>;

/** Asks an operation with flat arguments, over HTTP or at the gate. @throws whatever says no there. */
export type Ask = (operation: Operation, input: Values) => Promise<Values>;

export type Around = {
  readonly ask: Ask;
  readonly now: number;
  /** Whether the person behind the assistant can be asked in the middle of a call, and what they answered. */
  readonly canAsk: boolean;
  readonly answered?: string | undefined;
};

/** A call that is not carried out, for a reason of the tool itself. */
export class ToolFault extends Error {}

/** What an assistant is told. `structured` is an object that fits the tool's schema; lists have lines alone, which cost a third. */
export type Told = {
  readonly texts: readonly string[];
  readonly structured?: Values;
  /** Instead of an answer: what the person is asked, in one line of text. */
  readonly question?: { readonly message: string; readonly title: string };
};

export type Argument = {
  readonly where: 'path' | 'query' | 'body';
  /** The parameter that it fills. */
  readonly key: string;
  readonly field: Field<unknown>;
  readonly required: boolean;
};

/** What a call leaves behind: nothing, something that can be changed back, or a gap. */
export type Effect = 'looks' | 'changes' | 'deletes';

export type Tool = {
  readonly name: string;
  readonly title: string;
  /** When to use it, and what it tells. */
  readonly about: string;
  readonly operation: Operation;
  readonly effect: Effect;
  /** Whether asking twice is the same as asking once. */
  readonly idempotent: boolean;
  /** Whether it reaches beyond the account, as a trial does. */
  readonly open: boolean;
  readonly arguments: Readonly<Record<string, Argument>>;
  readonly run: (around: Around, given: Values) => Promise<Told>;
  /** The members that `structured` has beside those of the operation's answer; undefined where there is none. */
  readonly more?: Values | undefined;
};

export type Row = {
  readonly operation: Operation;
  readonly title: string;
  readonly about: string;
  readonly run: (around: Around, given: Values, tool: Pick<Tool, 'operation' | 'arguments'>) => Promise<Told>;
  readonly effect?: Effect;
  readonly idempotent?: boolean;
  readonly open?: boolean;
  /** Arguments of the operation that the tool does not have. */
  readonly without?: readonly string[];
  /** Arguments that the operation does not have. */
  readonly own?: Readonly<Record<string, Field<unknown>>>;
  readonly more?: Values;
};

/** How long a page is, is ours to choose. */
const ours = ['limit'];

const argumentsOf = ({ operation, without = [], own = {} }: Row): Tool['arguments'] => {
  const of = (where: 'query' | 'body', shape: Shape) =>
    Object.entries(shape)
      .filter(([key]) => !ours.includes(key) && !without.includes(key))
      .map(([key, field]) => [key, { where, key, field, required: field.absent === undefined }] as const);
  return Object.fromEntries([
    ...Object.entries(operation.params).map(([key, field]) => ['id', { where: 'path', key, field, required: true }] as const),
    ...of('query', operation.query),
    ...of('body', operation.body?.shape ?? {}),
    ...Object.entries(own).map(([key, field]) => [key, { where: 'body', key, field, required: field.absent === undefined }] as const),
  ]);
};

export const toolOf = (name: string, row: Row): Tool => {
  const { operation, title, about, effect = 'looks', more } = row;
  const tool = { name, title, about, operation, effect, arguments: argumentsOf(row), more };
  return {
    ...tool,
    idempotent: row.idempotent ?? (effect === 'looks' || effect === 'deletes'),
    open: row.open ?? false,
    run: (around, given) => row.run(around, given, tool),
  };
};

/** All four are set, because the protocol's defaults call a tool destructive and open to the world. */
export const annotationsOf = ({ title, effect, idempotent, open }: Tool) => ({
  title,
  readOnlyHint: effect === 'looks',
  destructiveHint: effect === 'deletes',
  idempotentHint: idempotent,
  openWorldHint: open,
});

/** Arguments by the names that the operation knows them by; or what is wrong with them. A null counts as not given. */
export const readArguments = (tool: Tool, given: Values): { readonly values: Values } | { readonly refused: string } => {
  const faults: string[] = [];
  const values: Record<string, unknown> = {};
  for (const name of Object.keys(given)) {
    if (!Object.hasOwn(tool.arguments, name))
      faults.push(`${name}: there is no such argument; there are: ${Object.keys(tool.arguments).join(', ') || 'none'}`);
  }
  for (const [name, { key, field, required }] of Object.entries(tool.arguments)) {
    const value = Object.hasOwn(given, name) ? given[name] : undefined;
    if (value === undefined || value === null) {
      if (required) faults.push(`${name}: Field required`);
      continue;
    }
    const parsed = field.parse(value, [name]);
    if (parsed.ok) values[key] = value;
    else faults.push(...parsed.faults.map(({ loc, msg }) => `${loc.join('.')}: ${msg}`));
  }
  return faults.length > 0 ? { refused: faults.join('; ') } : { values };
};

/** A tool call that could not be read, in words. */
export const refusedWords = (tool: Pick<Tool, 'name'>, refused: string): string =>
  `The arguments of ${tool.name} are not accepted. ${refused}`;

export const unknownTool = (name: string, tools: readonly Pick<Tool, 'name'>[]): string =>
  `There is no tool "${name.slice(0, 80)}". There are: ${tools.map((one) => one.name).join(', ')}.`;
