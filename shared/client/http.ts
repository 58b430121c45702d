import http from 'node:http';
import { csvType } from '../api/csv.ts';
import { codeOf } from '../base/errors.ts';
import { isRecord, memberOf } from '../base/json.ts';
import { version } from '../base/process.ts';
import { whyNotReached } from '../base/text.ts';
import { readSettings, type Settings } from './settings.ts';

/** The next page of a list, as a part of the query. */
type Next = { readonly key: 'cursor' | 'after'; readonly value: string };

/**
 * The next page after this answer; undefined when the list is complete. Lists of changes use
 * `after`, which is present even when everything has been returned.
 */
export function nextOf(body: unknown): Next | undefined {
  if (!isRecord(body)) return undefined;
  const { next_cursor: cursor, after, more } = body;
  if (typeof cursor === 'string') return { key: 'cursor', value: cursor };
  return more === true && typeof after === 'string' ? { key: 'after', value: after } : undefined;
}

/** One call of the API, made from an operation and its input. */
export type Call = {
  readonly method: string;
  /** The path with its ids filled in. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** The answer as this text instead of JSON. */
  readonly accept?: string;
};

export type ApiAnswer = { readonly status: number; readonly body: unknown };

type Fault = { readonly loc: readonly (string | number)[]; readonly msg: string };

/** The API refused. Programs branch on `code`; `faults` are those of a 422, field by field. */
export class CallRefused extends Error {
  readonly status: number;
  readonly code: string;
  readonly faults: readonly Fault[];

  constructor(status: number, code: string, message: string, faults: readonly Fault[] = []) {
    super(message);
    this.status = status;
    this.code = code;
    this.faults = faults;
  }
}

/** No answer, or an answer that is not the service's. */
export class ServiceNotReached extends Error {}

export type HttpClient = {
  readonly call: (call: Call) => Promise<ApiAnswer>;
  /** Fetches every page of a list in sequence and returns one document without a cursor. */
  readonly callAllPages: (call: Call, onPage?: (soFar: number) => void) => Promise<ApiAnswer>;
};

const longestWaitS = 120;

/**
 * The answer got lost, or takes too long: the call may have been carried out. A request that never
 * arrived is reported at once.
 */
class AnswerLost extends ServiceNotReached {}

const lost: ReadonlySet<string> = new Set([
  'ECONNRESET',
  'EPIPE',
  'UND_ERR_SOCKET',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
]);
/** Gives the first attempt time to finish, if it arrived. */
const pauseS = 1;

/**
 * Calls of the API. Over the rate limit it waits once, as long as the service says, and reports
 * that through `onWait`. A POST has an idempotency key: it is sent again when its answer got lost,
 * and is carried out once.
 */
export function createHttpClient(options: {
  readonly settings: Settings;
  readonly userAgent: string;
  readonly onWait?: (seconds: number) => void;
  readonly wait?: (seconds: number) => Promise<void>;
  readonly timeoutMs?: number;
}): HttpClient {
  const { settings, userAgent, onWait, timeoutMs = 30_000 } = options;
  const wait =
    options.wait ??
    ((seconds: number) => new Promise<void>((resolve) => setTimeout(resolve, seconds * 1000)));

  const send = async (
    { method, path, query, body, accept = 'application/json' }: Call,
    key: string | undefined,
  ): Promise<{ response: Response; parsed: unknown }> => {
    const search = query && Object.keys(query).length > 0 ? `?${new URLSearchParams(query)}` : '';
    try {
      const response = await fetch(`${settings.url}${path}${search}`, {
        method,
        headers: {
          authorization: `Bearer ${settings.token}`,
          accept,
          'user-agent': userAgent,
          ...(body !== undefined && { 'content-type': 'application/json' }),
          ...(key !== undefined && { 'idempotency-key': key }),
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
        // A redirect would send the token to its target.
        redirect: 'manual',
        signal: AbortSignal.timeout(timeoutMs),
      });
      if (response.status >= 300 && response.status < 400) {
        throw new ServiceNotReached(
          `${settings.url} redirects elsewhere. Set ANTIPODE_URL to the address of the service itself.`,
        );
      }
      const raw = await readBody(response);
      if (raw === '') return { response, parsed: null };
      if (response.headers.get('content-type')?.startsWith(csvType))
        return { response, parsed: raw };
      try {
        return { response, parsed: JSON.parse(raw) };
      } catch {
        throw new ServiceNotReached(
          `${settings.url} answers ${response.status} with something that is not JSON. Is it the address of Antipode?`,
        );
      }
    } catch (error) {
      if (error instanceof ServiceNotReached) throw error;
      const late = error instanceof Error && error.name === 'TimeoutError';
      const words = late
        ? `${settings.url} did not answer within ${timeoutMs / 1000} s.`
        : `${settings.url} cannot be reached${throughProxy(error, settings.url)} (${whyNotReached(error)}).`;
      throw late || lost.has(codeOf(memberOf(error, 'cause')))
        ? new AnswerLost(words)
        : new ServiceNotReached(words);
    }
  };

  const call = async (wanted: Call): Promise<ApiAnswer> => {
    const key = wanted.method === 'POST' ? crypto.randomUUID() : undefined;
    let { response, parsed } = await send(wanted, key).catch(async (error: unknown) => {
      if (key === undefined || !(error instanceof AnswerLost)) throw error;
      await wait(pauseS);
      return send(wanted, key);
    });
    if (
      response.status === 409 &&
      memberOf(memberOf(parsed, 'error'), 'code') === 'idempotency_key_in_use'
    ) {
      await wait(pauseS);
      ({ response, parsed } = await send(wanted, key));
    }
    if (response.status === 429) {
      const seconds = Number(response.headers.get('retry-after'));
      if (Number.isFinite(seconds) && seconds > 0 && seconds <= longestWaitS) {
        onWait?.(seconds);
        await wait(seconds);
        ({ response, parsed } = await send(wanted, key));
      }
    }
    if (!response.ok) throw refusalOf(response.status, parsed);
    return { status: response.status, body: parsed };
  };

  return {
    call,
    callAllPages: async (wanted, onPage) => {
      const items: unknown[] = [];
      const query: Record<string, string> = { limit: '200', ...wanted.query };
      const seen = new Set<string>();
      for (;;) {
        const { status, body } = await call({ ...wanted, query });
        const page = memberOf(body, 'items');
        if (!Array.isArray(page))
          throw new ServiceNotReached('The answer is not a page of a list.');
        items.push(...page);
        onPage?.(items.length);
        const next = nextOf(body);
        if (!next)
          return {
            status,
            body: {
              ...Object(body),
              items,
              ...(memberOf(body, 'more') === undefined && { next_cursor: null }),
            },
          };
        if (seen.has(next.value))
          throw new ServiceNotReached('The list gives the same page again and again.');
        seen.add(next.value);
        query[next.key] = next.value;
      }
    },
  };
}

const maxBytes = 64 * 1024 * 1024;

async function readBody(response: Response): Promise<string> {
  if (!response.body) return '';
  const decoder = new TextDecoder();
  let read = '';
  let bytes = 0;
  for await (const chunk of response.body) {
    bytes += chunk.byteLength;
    if (bytes > maxBytes)
      throw new ServiceNotReached('The answer is larger than any answer of the service.');
    read += decoder.decode(chunk, { stream: true });
  }
  return read + decoder.decode();
}

/** Names the host that did not listen, if it is not the service: then a proxy is in between. */
function throughProxy(error: unknown, url: string): string {
  const cause = memberOf(error, 'cause');
  const several = memberOf(cause, 'errors');
  const one: unknown = Array.isArray(several) ? several[0] : cause;
  const [address, port] = [memberOf(one, 'address'), memberOf(one, 'port')];
  const { protocol, port: own } = new URL(url);
  const isOwn = String(port) === (own || (protocol === 'https:' ? '443' : '80'));
  return typeof port !== 'number' || isOwn
    ? ''
    : ` through the proxy at ${String(address)}:${port}`;
}

function refusalOf(status: number, body: unknown): CallRefused {
  const error = memberOf(body, 'error');
  const faults = faultsOf(body);
  if (faults.length > 0) {
    const sentence = faults
      .map(({ loc, msg }) => `${loc.slice(1).join('.') || loc.join('.')}: ${msg}`)
      .join('; ');
    return new CallRefused(status, 'validation_failed', sentence, faults);
  }
  return new CallRefused(
    status,
    text(memberOf(error, 'code')) ?? `http_${status}`,
    text(memberOf(error, 'message')) ?? `The service answered ${status}.`,
  );
}

/** The faults of a 422, without anything that a newer service adds to them. */
function faultsOf(body: unknown): Fault[] {
  const detail = memberOf(body, 'detail');
  if (!Array.isArray(detail)) return [];
  return detail.map((entry: unknown) => {
    const loc = memberOf(entry, 'loc');
    return {
      loc: Array.isArray(loc)
        ? loc.filter(
            (part: unknown): part is string | number =>
              typeof part === 'string' || typeof part === 'number',
          )
        : [],
      msg: text(memberOf(entry, 'msg')) ?? 'not accepted',
    };
  });
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

type Environment = Readonly<Record<string, string | undefined>>;

const variables = ['HTTPS_PROXY', 'HTTP_PROXY', 'https_proxy', 'http_proxy'] as const;
const loopback = /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

/**
 * Sends every call of this process through the proxy that the environment names, except calls to
 * this machine. Returns what cannot be done; an older Node does not support it, and continues
 * without.
 */
export function useProxies(url: string, environment: Environment): string | undefined {
  const named = variables.find((name) => environment[name]);
  if (
    named === undefined ||
    environment.NODE_USE_ENV_PROXY === '1' ||
    loopback.test(new URL(url).hostname)
  )
    return undefined;
  // An older Node has no such function.
  if (http.setGlobalProxyFromEnv) {
    http.setGlobalProxyFromEnv({
      HTTP_PROXY: environment.HTTP_PROXY || environment.http_proxy,
      HTTPS_PROXY: environment.HTTPS_PROXY || environment.https_proxy,
      NO_PROXY: environment.NO_PROXY || environment.no_proxy,
    });
    return undefined;
  }
  return `${named} is set, but Node ${process.versions.node} cannot go through a proxy by itself: Node 24.14 or later can, and Node 22.21 with NODE_USE_ENV_PROXY=1. Going on without.`;
}

/** The exit codes of a command; scripts branch on these. */
export const exits = {
  done: 0,
  refused: 1,
  usage: 2,
  token: 3,
  notReached: 4,
  later: 5,
  /** Of `check`: what the probes say of the target. */
  down: 6,
  differs: 7,
  nothing: 8,
  interrupted: 130,
} as const;
export type Exit = (typeof exits)[keyof typeof exits];

/** What a command uses of its process, which a test can replace. */
export type CommandContext = {
  readonly given: readonly string[];
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly settingsFiles?: readonly string[];
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  /** The width of the terminal for the output; undefined when it is no terminal. */
  readonly columns: number | undefined;
  /** Whether a user reads `err`, and can answer. */
  readonly attended: boolean;
  /** Undefined when the user left instead of answering. A secret is not shown while it is typed. */
  readonly ask: (question: string, secret?: 'secret') => Promise<string | undefined>;
  readonly readText: (path: string) => string;
  readonly now: () => number;
  /** Prepares calls to an address; returns what prevents them. */
  readonly reach?: (url: string) => string | undefined;
  readonly wait?: (seconds: number) => Promise<void>;
};

/** The client that this environment configures, which says on `err` when it waits. */
export function clientOf(world: CommandContext): HttpClient {
  const settings = readSettings(world.environment, world.settingsFiles);
  const obstacle = world.reach?.(settings.url);
  if (obstacle !== undefined) world.err(`antipode: ${obstacle}\n`);
  return createHttpClient({
    settings,
    userAgent: `antipode/${version}`,
    onWait: (seconds) =>
      world.err(`antipode: over the rate of calls; going on in ${seconds} s, as told\n`),
    ...(world.wait && { wait: world.wait }),
  });
}
