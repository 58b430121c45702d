import type { JSONRPCMessage } from '@modelcontextprotocol/server';
import type { Field, JsonSchema, NamedSchema, Shape } from '../api/fields.ts';
import type { Operation } from '../api/operation.ts';
import { isRecord } from '../base/json.ts';

/**
 * For unreadable parameters, the library returns its validator's report. We say instead what to
 * send.
 */

const invalidParams = -32602;
const unsupportedRevision = -32022;

/** The one revision without a handshake: each request names it. */
const modernRevision = '2026-07-28';

/**
 * A call is identified by its method and by whether it came with the envelope of the modern
 * revision.
 */
export type CalledMethod = { readonly method: string; readonly modern: boolean };

export function askedBy({
  method,
  params,
}: {
  readonly method: string;
  readonly params?: unknown;
}): CalledMethod {
  return {
    method,
    modern: revisionOf(params) !== undefined,
  };
}

function revisionOf(params: unknown): unknown {
  const meta = isRecord(params) ? params._meta : undefined;
  return isRecord(meta) ? meta['io.modelcontextprotocol/protocolVersion'] : undefined;
}

/**
 * The library checks the revision of the first request only; each request must be answered by its
 * own revision.
 */
export function foreignRevision(
  params: unknown,
): { code: number; message: string; data: unknown } | undefined {
  const requested = revisionOf(params);
  if (typeof requested !== 'string' || requested === modernRevision) return undefined;
  const message = `Unsupported protocol version: ${requested}; send ${modernRevision}, or begin with initialize for an older one`;
  return { code: unsupportedRevision, message, data: { supported: [modernRevision], requested } };
}

const examples = new Map([
  [
    'initialize',
    'Send such as {"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"my-client","version":"1.0"}} as params.',
  ],
  [
    'tools/call',
    'Send such as {"name":"get_monitor","arguments":{"id":"0190a7c4-5b1e-7c3d-9f42-6a8b1c2d3e4f"}} as params.',
  ],
  ['tools/list', 'Send no params; all tools are listed at once.'],
]);

/**
 * The message as sent: faults of parameters are in words, and those of a tool's parameters are a
 * result, which the assistant sees.
 */
export function explained(
  message: JSONRPCMessage,
  asked: CalledMethod | undefined,
): JSONRPCMessage {
  if (!asked || !('error' in message) || message.id === undefined) return message;
  const found = issuesIn(message.error.message);
  if (!found) return message;
  const example = examples.get(asked.method);
  const text = [
    `The params of ${asked.method} cannot be read: ${found.map(inWords).join('; ')}.`,
    ...(example ? [example] : []),
  ].join(' ');
  const { jsonrpc, id } = message;
  // Without params there is no tool call that could have failed.
  if (asked.method !== 'tools/call' || found.some(({ path }) => path.length < 2))
    return { jsonrpc, id, error: { code: invalidParams, message: text } };
  const result = { content: [{ type: 'text', text }], isError: true };
  return { jsonrpc, id, result: asked.modern ? { ...result, resultType: 'complete' } : result };
}

type Issue = { readonly path: readonly unknown[]; readonly message: string };

function issuesIn(text: string): readonly Issue[] | undefined {
  const begin = text.indexOf('[');
  if (begin < 0) return undefined;
  try {
    const found: unknown = JSON.parse(text.slice(begin));
    return Array.isArray(found) && found.length > 0 && found.every(isIssue) ? found : undefined;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return undefined;
  }
}

function isIssue(value: unknown): value is Issue {
  return isRecord(value) && Array.isArray(value.path) && typeof value.message === 'string';
}

const named = new Map([
  ['record', 'an object'],
  ['object', 'an object'],
  ['array', 'a list'],
]);

function inWords({ path, message }: Issue): string {
  const [, expected, received] = /expected (\w+), received (\w+)/.exec(message) ?? [];
  if (expected === undefined) return `${path.join('.')}: ${message}`;
  const wanted = named.get(expected) ?? `a ${expected}`;
  return `${path.join('.')} must be ${wanted}${received === 'undefined' ? '' : `, not ${named.get(received ?? '') ?? received}`}`;
}

type Values = Readonly<Record<string, unknown>>;

/**
 * How a tool runs: it calls operations and describes their answers. The same for the local server
 * and the hosted connector.
 *
 * Calls an operation with flat arguments, over HTTP or at the gate. @throws every refusal from
 * there.
 */
export type Ask = (operation: Operation, input: Values) => Promise<Values>;

export type Around = {
  readonly ask: Ask;
  readonly now: number;
  /** Whether the user behind the assistant can be asked during a call, and what they answered. */
  readonly canAsk: boolean;
  readonly answered?: string | undefined;
};

/** A call that the tool itself refuses. */
export class ToolFault extends Error {}

/**
 * The answer for an assistant. `structured` is an object that fits the tool's schema; lists have
 * only lines, which cost a third.
 */
export type ToolAnswer = {
  readonly texts: readonly string[];
  readonly structured?: Values;
  /** Instead of an answer: a question to the user, in one line of text. */
  readonly question?: { readonly message: string; readonly title: string };
};

type Argument = {
  readonly where: 'path' | 'query' | 'body';
  /** The parameter that it fills. */
  readonly key: string;
  readonly field: Field<unknown>;
  readonly required: boolean;
};

/** What a call changes: nothing, something that can be changed back, or a deletion. */
type Effect = 'looks' | 'changes' | 'deletes';

export type Tool = {
  readonly name: string;
  readonly title: string;
  /** When to use it, and what it returns. */
  readonly about: string;
  readonly operation: Operation;
  readonly effect: Effect;
  /** Whether calling it twice has the same effect as once. */
  readonly idempotent: boolean;
  /** Whether it reaches beyond the account, as a test run does. */
  readonly open: boolean;
  readonly arguments: Readonly<Record<string, Argument>>;
  readonly run: (around: Around, input: Values) => Promise<ToolAnswer>;
  /**
   * Members that `structured` has in addition to the operation's answer; undefined where there is
   * none.
   */
  readonly more?: Values | undefined;
};

export type Row = {
  readonly operation: Operation;
  readonly title: string;
  readonly about: string;
  readonly run: (
    around: Around,
    input: Values,
    tool: Pick<Tool, 'operation' | 'arguments'>,
  ) => Promise<ToolAnswer>;
  readonly effect?: Effect;
  readonly idempotent?: boolean;
  readonly open?: boolean;
  /** Arguments of the operation that the tool does not have. */
  readonly without?: readonly string[];
  /** Arguments that the operation does not have. */
  readonly own?: Readonly<Record<string, Field<unknown>>>;
  readonly more?: Values;
};

export function toolOf(name: string, row: Row): Tool {
  const { operation, title, about, effect = 'looks', more } = row;
  const tool = { name, title, about, operation, effect, arguments: argumentsOf(row), more };
  return {
    ...tool,
    idempotent: row.idempotent ?? (effect === 'looks' || effect === 'deletes'),
    open: row.open ?? false,
    run: (around, given) => row.run(around, given, tool),
  };
}

/** We choose the length of a page. */
const ours = ['limit'];

function argumentsOf({ operation, without = [], own = {} }: Row): Tool['arguments'] {
  const of = (where: 'query' | 'body', shape: Shape) =>
    Object.entries(shape)
      .filter(([key]) => !ours.includes(key) && !without.includes(key))
      .map(
        ([key, field]) =>
          [key, { where, key, field, required: field.absent === undefined }] as const,
      );
  return Object.fromEntries([
    // The thing itself is `id`; what it is part of has its own name.
    ...Object.entries(operation.params).map(
      ([key, field], at, all) =>
        [
          at === all.length - 1 ? 'id' : key,
          { where: 'path', key, field, required: true },
        ] as const,
    ),
    ...of('query', operation.query),
    ...of('body', operation.body?.shape ?? {}),
    ...Object.entries(own).map(
      ([key, field]) =>
        [key, { where: 'body', key, field, required: field.absent === undefined }] as const,
    ),
  ]);
}

/**
 * All four are set, because by the protocol's defaults a tool is destructive and open to the world.
 */
function annotationsOf({ title, effect, idempotent, open }: Tool) {
  return {
    title,
    readOnlyHint: effect === 'looks',
    destructiveHint: effect === 'deletes',
    idempotentHint: idempotent,
    openWorldHint: open,
  };
}

/**
 * Maps arguments to the operation's names, or says what is wrong with them. A null counts as not
 * given.
 */
export function readArguments(
  tool: Tool,
  input: Values,
): { readonly values: Values } | { readonly refused: string } {
  const faults: string[] = [];
  const values: Record<string, unknown> = {};
  for (const name of Object.keys(input)) {
    if (!Object.hasOwn(tool.arguments, name))
      faults.push(
        `${name}: there is no such argument; there are: ${Object.keys(tool.arguments).join(', ') || 'none'}`,
      );
  }
  for (const [name, { key, field, required }] of Object.entries(tool.arguments)) {
    const value = Object.hasOwn(input, name) ? input[name] : undefined;
    if (value === undefined || value === null) {
      if (required) faults.push(`${name}: Field required`);
      continue;
    }
    const parsed = field.parse(value, [name]);
    if (parsed.ok) values[key] = value;
    else faults.push(...parsed.faults.map(({ loc, msg }) => `${loc.join('.')}: ${msg}`));
  }
  return faults.length > 0 ? { refused: faults.join('; ') } : { values };
}

/** A tool call that could not be read, in words. */
export function refusedWords(tool: Pick<Tool, 'name'>, refused: string): string {
  return `The arguments of ${tool.name} are not accepted. ${refused}`;
}

export function unknownTool(name: string, tools: readonly Pick<Tool, 'name'>[]): string {
  return `There is no tool "${name.slice(0, 80)}". There are: ${tools.map((one) => one.name).join(', ')}.`;
}

type ObjectSchema = JsonSchema & { readonly type: 'object' };

/** The schemas of a tool, derived from those of its operation. */
export function inputSchema(tool: Pick<Tool, 'arguments'>): ObjectSchema {
  const entries = Object.entries(tool.arguments);
  const required = entries.filter(([, argument]) => argument.required).map(([name]) => name);
  return {
    type: 'object',
    properties: Object.fromEntries(
      entries.map(([name, { field }]) => [name, withoutNull(field.schema)]),
    ),
    ...(required.length > 0 && { required }),
    additionalProperties: false,
  };
}

/**
 * Assistants fill in arguments better without the choice "null or a value": they omit what they do
 * not need.
 */
function withoutNull(schema: JsonSchema): JsonSchema {
  const options: readonly unknown[] = Array.isArray(schema.anyOf) ? schema.anyOf : [];
  const main = options.find((one): one is JsonSchema => isRecord(one) && one.type !== 'null');
  if (!main) return schema;
  const { anyOf: _, ...rest } = schema;
  return { ...main, ...rest };
}

/**
 * The self-contained schema of the answer: the document's references become its own definitions.
 * Undefined: the answer is text only.
 */
function outputSchema({
  operation: { response },
  more,
}: Pick<Tool, 'operation' | 'more'>): ObjectSchema | undefined {
  if (more === undefined) return undefined;
  const [own] = response?.components ?? [];
  const definitions = gather(own?.components ?? [], new Map());
  const body = localReferences(own?.schema ?? {});
  const { properties, ...rest } = isRecord(body) ? body : {};
  return {
    ...rest,
    type: 'object',
    properties: { ...(isRecord(properties) ? properties : {}), ...more },
    ...(definitions.size > 0 && { $defs: localReferences(Object.fromEntries(definitions)) }),
  };
}

function gather(
  components: readonly NamedSchema[],
  into: Map<string, JsonSchema>,
): Map<string, JsonSchema> {
  for (const { name, schema, components: inner } of components) {
    into.set(name, schema);
    gather(inner, into);
  }
  return into;
}

function localReferences(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(localReferences);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      key,
      key === '$ref' && typeof inner === 'string'
        ? inner.replace('#/components/schemas/', '#/$defs/')
        : localReferences(inner),
    ]),
  );
}

/** A tool as clients list it. */
export function listedTool(tool: Tool) {
  const output = outputSchema(tool);
  return {
    name: tool.name,
    title: tool.title,
    description: tool.about,
    inputSchema: inputSchema(tool),
    ...(output === undefined ? {} : { outputSchema: output }),
    annotations: annotationsOf(tool),
  };
}
