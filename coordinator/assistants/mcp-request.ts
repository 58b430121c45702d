import type { Logger } from 'pino';
import type { Operation, RawInput } from '../../shared/api/operation.ts';
import { Refusal } from '../../shared/base/errors.ts';
import { isRecord } from '../../shared/base/json.ts';
import { isTooDeep } from '../api/body.ts';
import type { Answered } from '../gate/bind.ts';
import type { Count } from '../gate/rate-limit.ts';
import type { AssistantCaller } from './connections.ts';

/** Dependencies of the MCP server: the gate, authentication and rate limits. */
export type AssistantDependencies = {
  readonly execute: (
    operation: Operation,
    caller: AssistantCaller,
    raw: RawInput,
  ) => Promise<Answered>;
  /** Read afresh each time; undefined when the token belongs to no existing connection. */
  readonly callerOf: (accessToken: string, address: string) => Promise<AssistantCaller | undefined>;
  readonly limiter: { readonly count: (subject: string) => Count | Promise<Count> };
  readonly clock: { readonly now: () => number };
  readonly log: Pick<Logger, 'error'>;
  /** The base URL of the service, without a trailing slash. */
  readonly baseUrl: () => string;
};

/** One request of an assistant. */
export type Asking = {
  readonly caller: AssistantCaller;
  /**
   * The caller as it is now: a long call stops when the assistant was disconnected, or may do less.
   * @throws Refusal
   */
  readonly again: () => Promise<AssistantCaller>;
};

type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

const loopback = new Set(['localhost', '127.0.0.1', '[::1]']);

/**
 * A browser names the page that sends the request. No foreign page may do so; a foreign name that
 * points at this machine counts as foreign.
 */
export function refuseForeignOrigin(headers: Headers, baseUrl: string): void {
  const { origin, host } = headers;
  if (origin !== undefined && !(typeof origin === 'string' && isSameOrigin(origin, baseUrl)))
    throw new Refusal(
      'origin_foreign',
      'Assistants call from their own servers or programs; a page of another origin may not.',
    );
  const own = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined;
  if (
    own &&
    loopback.has(own.hostname) &&
    typeof host === 'string' &&
    !isSameOrigin(`${own.protocol}//${host}`, baseUrl)
  )
    throw new Refusal(
      'origin_foreign',
      `This address is called ${own.host}, not ${host.slice(0, 100)}.`,
    );
}

/** The local names of one machine are equivalent. */
function isSameOrigin(origin: string, baseUrl: string): boolean {
  if (!URL.canParse(origin) || !URL.canParse(baseUrl)) return false;
  const [theirs, own] = [new URL(origin), new URL(baseUrl)];
  if (theirs.origin === own.origin) return true;
  return (
    loopback.has(own.hostname) &&
    loopback.has(theirs.hostname) &&
    theirs.port === own.port &&
    theirs.protocol === own.protocol
  );
}

export function bearerOf(authorization: string | undefined): string | undefined {
  return /^bearer +([\x21-\x7e]{1,2000}) *$/i.exec(authorization ?? '')?.[1];
}

/** Earlier revisions send several messages in one body: at most this many calls. */
const maxMessages = 20;

/**
 * It would hold a stream open for as long as the client likes, and we have nothing to send on it.
 */
const neverAnswered = 'subscriptions/listen';

type Sent = { readonly body: unknown; readonly calls: number };

export class ProtocolFault extends Error {
  readonly status: number;
  readonly code: number;
  readonly id: string | number | null;

  constructor(status: number, code: number, message: string, id: string | number | null = null) {
    super(message);
    this.status = status;
    this.code = code;
    this.id = id;
  }
}

/** The body as JSON, and the number of its calls. @throws ProtocolFault */
export function readSent(bytes: Uint8Array | undefined): Sent {
  const text = textOf(bytes ?? new Uint8Array());
  if (text.trim() === '')
    throw new ProtocolFault(400, -32700, 'Parse error: send a JSON-RPC message as the body');
  if (isTooDeep(text))
    throw new ProtocolFault(
      400,
      -32700,
      'Parse error: the body is nested deeper than any message needs',
    );
  const body = parsed(text);
  const messages: readonly unknown[] = Array.isArray(body) ? body : [body];
  if (messages.length > maxMessages)
    throw new ProtocolFault(
      400,
      -32600,
      `Invalid request: a batch holds ${maxMessages} messages at most`,
    );
  const listening = messages.find(
    (message) => isRecord(message) && message.method === neverAnswered,
  );
  if (listening !== undefined)
    throw new ProtocolFault(
      404,
      -32601,
      'Method not found: there is nothing to listen for here; ask again instead',
      idOf(listening),
    );
  return {
    body,
    calls: Math.max(
      1,
      messages.filter((message) => isRecord(message) && message.id !== undefined).length,
    ),
  };
}

function textOf(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    if (error instanceof TypeError)
      throw new ProtocolFault(400, -32700, 'Parse error: the body is not UTF-8');
    throw error;
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError)
      throw new ProtocolFault(400, -32700, 'Parse error: the body is not JSON');
    throw error;
  }
}

function idOf(message: unknown): string | number | null {
  return isRecord(message) && (typeof message.id === 'string' || typeof message.id === 'number')
    ? message.id
    : null;
}
