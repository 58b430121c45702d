import { createHash } from 'node:crypto';
import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { FastifyHttpOptions, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Fault } from '../../shared/api/fields.ts';
import { restOperations } from '../../shared/api/index.ts';
import { InvalidInput } from '../../shared/api/operation.ts';
import { newId } from '../../shared/base/crypto.ts';
import { codeOf } from '../../shared/base/errors.ts';
import type { Log } from '../../shared/base/log.ts';
import { isLoopback, isPrivateUse, parseAddress, unmapped } from '../../shared/base/network.ts';
import type { Answered } from '../gate/bind.ts';
import type { Named, Outcome } from '../gate/idempotency.ts';
import { type RateLimiter, subjectOfAddress } from '../gate/rate-limit.ts';
import { bodyLimit } from './body.ts';
import { countHeaders } from './caller.ts';
import { errorBody } from './errors.ts';

/** How a caller marks a call that is done once, however often it is sent. */

export const keyHeader = 'Idempotency-Key';
export const replayedHeader = 'Idempotency-Replayed';
export const maxKeyCharacters = 255;
/** Characters that every keyboard can type. */
export const keyPattern = '^[ -~]+$';

const place = ['header', keyHeader.toLowerCase()] as const;

/** The fault of a key, in the form of all other faults. */
export function keyFault(key: string): Fault | undefined {
  // With members in the order of all other faults.
  const fault = (type: string, msg: string, ctx: NonNullable<Fault['ctx']>): Fault => ({
    type,
    loc: place,
    msg,
    input: key,
    ctx,
  });
  if (key === '')
    return fault('string_too_short', 'String should have at least 1 character', { min_length: 1 });
  if (key.length > maxKeyCharacters)
    return fault('string_too_long', `String should have at most ${maxKeyCharacters} characters`, {
      max_length: maxKeyCharacters,
    });
  if (new RegExp(keyPattern).test(key)) return undefined;
  return fault('string_pattern_mismatch', `String should match pattern '${keyPattern}'`, {
    pattern: keyPattern,
  });
}

/**
 * The key that a request names, with a digest of the request; undefined without a key. @throws
 * InvalidInput.
 */
export function namedBy(request: FastifyRequest): Named | undefined {
  const header = request.headers[keyHeader.toLowerCase()];
  if (header === undefined) return undefined;
  const key = String(header).trim();
  const fault = keyFault(key);
  if (fault) throw new InvalidInput([fault]);
  const digest = createHash('sha256').update(`${request.method} ${request.raw.url ?? ''}\n`);
  if (Buffer.isBuffer(request.body)) digest.update(request.body);
  return { key, request: digest.digest('hex') };
}

/** The answer, marked if it is a repeated one. @throws the refusal, if that is the answer. */
export async function answerOnce(asked: Promise<Outcome>, reply: FastifyReply): Promise<Answered> {
  const outcome = await asked;
  if (outcome.replayed) reply.header(replayedHeader.toLowerCase(), 'true');
  if ('refused' in outcome) throw outcome.refused;
  return outcome.answered;
}

type Forwarded = {
  /**
   * For the server: a request's address is the first, counted from us, that is not in this list.
   */
  readonly trustProxy: string[] | false;
  /** Runs on a request before anything reads it. */
  readonly tidy: (request: IncomingMessage) => void;
};

/**
 * The origin of a request that came through a proxy: TRUSTED_PROXIES lists the proxies to believe.
 * Only an address is ever taken from such headers; our name and https come from BASE_URL.
 */
export function createForwarded(trusted: readonly string[], log: Pick<Log, 'warn'>): Forwarded {
  let isTold = false;

  /**
   * Without trusted proxies, all callers behind a proxy share one address, and one of them uses up
   * everyone's attempts.
   */
  const tellOnce = (from: string): void => {
    const address = parseAddress(from);
    if (isTold || trusted.length > 0 || !address || !(isLoopback(address) || isPrivateUse(address)))
      return;
    isTold = true;
    log.warn(
      { proxy: from },
      'requests come through a proxy and count as one address: set TRUSTED_PROXIES to its address, such as loopback, if it sets X-Forwarded-For itself',
    );
  };

  return {
    trustProxy: trusted.length > 0 && [...trusted],
    tidy: ({ headers, socket }) => {
      delete headers['x-forwarded-host'];
      delete headers['x-forwarded-proto'];
      const { 'x-forwarded-for': header } = headers;
      if (header === undefined) return;
      tellOnce(socket.remoteAddress ?? '');
      const sound = soundForwarded(String(header));
      if (sound === undefined) delete headers['x-forwarded-for'];
      else headers['x-forwarded-for'] = sound;
    },
  };
}

/** A proxy passes on entries of proxies before it; no real request takes more hops than this. */
const maxHops = 16;

/**
 * The trusted part of X-Forwarded-For: from the nearest proxy on, as far as there are addresses. An
 * entry that is no address hides all before it; otherwise a caller's own entry would count where a
 * proxy could not name one.
 */
function soundForwarded(header: string): string | undefined {
  const sound: string[] = [];
  for (const entry of header.split(',').slice(-maxHops).toReversed()) {
    const address = addressIn(entry);
    if (address === undefined) break;
    sound.unshift(address);
  }
  return sound.length === 0 ? undefined : sound.join(', ');
}

/** The address of an entry; some proxies add the port. Undefined: it is no address. */
function addressIn(entry: string): string | undefined {
  const text = entry.trim();
  const [, inBrackets, withPort] = /^(?:\[(.+)\](?::\d+)?|([\d.]+):\d+)$/.exec(text) ?? [];
  const address = parseAddress(inBrackets ?? withPort ?? text);
  return address && unmapped(address).toString();
}

/** The path of version 1 of the API. */
export const prefix = '/api/v1';

const lenient = new TextDecoder('utf-8');

/**
 * The query of a URL, parsed as form data: + is a space, the last of several values wins, a name
 * without = is empty.
 */
export function queryOf(url: string): Readonly<Record<string, string>> {
  const begin = url.indexOf('?');
  if (begin === -1) return {};
  const end = url.indexOf('#', begin);
  const pairs = url.slice(begin + 1, end === -1 ? undefined : end).split('&');
  return Object.fromEntries(
    pairs
      .filter((pair) => pair !== '')
      .map((pair) => {
        const at = pair.indexOf('=');
        const [name, value] = at === -1 ? [pair, ''] : [pair.slice(0, at), pair.slice(at + 1)];
        return [decode(name.replaceAll('+', ' ')), decode(value.replaceAll('+', ' '))];
      }),
  );
}

/** Percent-decoding that never fails: a stray % stays, invalid UTF-8 becomes U+FFFD. */
function decode(text: string): string {
  return text.includes('%')
    ? text.replace(/(?:%[0-9a-f]{2})+/gi, (run) => lenient.decode(bytesOf(run)))
    : text;
}

function bytesOf(escapes: string): Uint8Array {
  return Uint8Array.from(escapes.match(/[0-9a-f]{2}/gi) ?? [], (pair) => Number.parseInt(pair, 16));
}

/**
 * A URL whose path can be decoded: otherwise the router would refuse it before the API, web or
 * public pages could answer in their own words.
 */
export function soundUrl(url: string): string {
  const begin = url.search(/[?#]/);
  const path = begin === -1 ? url : url.slice(0, begin);
  if (!path.includes('%')) return url;
  const sound = path.replace(/(?:%[0-9a-f]{2})+|%/gi, (run) =>
    run === '%' ? '%25' : soundRun(run),
  );
  return begin === -1 ? sound : sound + url.slice(begin);
}

function soundRun(run: string): string {
  const text = lenient.decode(bytesOf(run));
  return text.includes('\ufffd') ? encodeURIComponent(text) : run;
}

/** Paths without a token. */
export const openPaths = [
  `${prefix}/openapi.json`,
  `${prefix}/docs`,
  `${prefix}/docs/:name`,
] as const;

/** Paths beside the API that clients request on their way to it. */
const besidePaths = ['/docs', `${prefix}/docs/`, '/health', '/livez', '/readyz'] as const;

/** Paths without ids, and their methods. */
const byName: ReadonlyMap<string, readonly string[]> = new Map([
  ...[...Map.groupBy(restOperations, ({ path }) => path)]
    .filter(([path]) => !path.includes('{'))
    .map(([path, those]) => [path, those.flatMap(({ method }) => withHead(method))] as const),
  ...[`${prefix}/metrics`, ...openPaths, ...besidePaths].map(
    (path) => [path, withHead('GET')] as const,
  ),
]);

function withHead(method: string): readonly string[] {
  return method === 'GET' ? ['GET', 'HEAD'] : [method];
}

/**
 * Whether a path has a name of its own and lacks this method: a router would take the name for an
 * id.
 */
export function isNameAlone(url: string, method: string): boolean {
  return byName.get(pathOf(url))?.includes(method) === false;
}

function pathOf(url: string): string {
  return url.split(/[?#]/, 1)[0] ?? '';
}

/** The methods of a path; none where there is no such route. */
export function methodsOf(url: string): readonly string[] {
  const path = pathOf(url);
  // A slash encoded as %2F is no part of an id, and leads to no other route either.
  if (/%2f/i.test(path)) return [];
  return (
    byName.get(path) ??
    (/^\/api\/v1\/docs\/[^/]+$/.test(path) ? withHead('GET') : undefined) ??
    restOperations
      .filter((operation) => pattern(operation.path).test(path))
      .flatMap(({ method }) => withHead(method))
  );
}

function pattern(path: string): RegExp {
  return new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`);
}

const requestLine = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+) (\S+) HTTP\/1\.[01]\r?\n/;

/**
 * The rate limit of a caller's address, per server. It is not counted, because no request was read.
 */
const looks = new WeakMap<Server, RateLimiter['look']>();

/**
 * Replaces Node's own answers, which are sent before any of our code runs, without a reason and
 * without the rate limit.
 */
export function answerInWords(server: Server, { look }: Pick<RateLimiter, 'look'>): void {
  looks.set(server, look);
  server.on('connect', ({ socket: { remoteAddress } }, socket) =>
    answerBare(
      socket,
      malformed('400 Bad Request', 'This is no proxy; ask for a path of it.'),
      countWords(server, remoteAddress),
    ),
  );
  server.on('checkExpectation', (request, response) => {
    const { body } = malformed(
      '',
      'The only expectation that can be met is 100-continue; leave the header Expect out.',
    );
    const count = countWords(server, request.socket.remoteAddress);
    response
      .writeHead(417, {
        'content-type': 'application/json; charset=utf-8',
        'x-request-id': newId(),
        ...count,
      })
      .end(JSON.stringify(body));
  });
}

type Bare = { readonly status: string; readonly body: unknown; readonly headers?: string };

function answerBare(
  socket: Duplex,
  { status, body, headers = '' }: Bare,
  count: Readonly<Record<string, string>>,
): void {
  const counted = Object.entries(count).map(([name, value]) => `${name}: ${value}\r\n`);
  const text = JSON.stringify(body);
  socket.end(
    `HTTP/1.1 ${status}\r\nContent-Type: application/json; charset=utf-8\r\nX-Request-Id: ${newId()}\r\n${counted.join('')}${headers}Content-Length: ${Buffer.byteLength(text)}\r\nConnection: close\r\n\r\n${text}`,
  );
}

function malformed(status: string, message: string): Bare {
  return {
    status,
    body: errorBody('request_malformed', message),
  };
}

function countWords(server: Server, address: string | undefined): Readonly<Record<string, string>> {
  const look = looks.get(server);
  if (look === undefined || address === undefined) return {};
  return countHeaders(look(subjectOfAddress(address)));
}

/** Options of the server that the API needs; pass them to the Fastify instance. */
export const restServerOptions = {
  bodyLimit,
  exposeHeadRoutes: false,
  /**
   * Accepted requests are answered to the end: Fastify would refuse with words and headers of its
   * own, not as the API does.
   */
  return503OnClosing: false,
  /**
   * Node would refuse a request without a Host header without a reason; here the API or the pages
   * refuse it.
   */
  http: { requireHostHeader: false },
  /**
   * A stalled body does not hold its connection for ever; every call of the API can be sent in this
   * time.
   */
  requestTimeout: 60_000,
  rewriteUrl: (request) => soundUrl(request.url ?? '/'),
  clientErrorHandler: refuseUnreadable,
  // The API validates an id of any length; otherwise the router would find no route.
  routerOptions: { maxParamLength: 16 * 1024 },
  // Without these it would load a hundred modules at every start, for schemas that no route has.
  schemaController: { compilersFactory: { buildValidator: noSchemas, buildSerializer: noSchemas } },
} as const satisfies FastifyHttpOptions<Server>;

/**
 * Requests that cannot be parsed as HTTP are answered here, on the bare socket: no route has been
 * found yet.
 */
function refuseUnreadable(
  this: Pick<FastifyInstance, 'server'>,
  error: Error,
  socket: Socket,
): void {
  if (codeOf(error) === 'ECONNRESET' || !socket.writable) socket.destroy();
  else
    answerBare(
      socket,
      unknownMethod(error) ?? unreadable(error),
      countWords(this.server, socket.remoteAddress),
    );
}

/** A method that the HTTP parser itself does not know. */
function unknownMethod(error: Error): Bare | undefined {
  if (
    codeOf(error) !== 'HPE_INVALID_METHOD' ||
    !('rawPacket' in error) ||
    !Buffer.isBuffer(error.rawPacket)
  )
    return undefined;
  const [, method = '', address] = requestLine.exec(error.rawPacket.toString('latin1')) ?? [];
  if (address === undefined) return undefined;
  const allowed = methodsOf(address);
  // The fault lies in a request behind this one.
  if (allowed.includes(method)) return undefined;
  if (allowed.length === 0)
    return {
      status: '404 Not Found',
      body: errorBody('route_not_found', 'There is no such route.'),
    };
  const body = errorBody('method_not_allowed', `This route answers to ${allowed.join(', ')}.`);
  return { status: '405 Method Not Allowed', body, headers: `Allow: ${allowed.join(', ')}\r\n` };
}

function unreadable(error: Error): Bare {
  if (codeOf(error) === 'HPE_HEADER_OVERFLOW')
    return {
      status: '431 Request Header Fields Too Large',
      body: errorBody('headers_too_large', 'The headers are larger than 16 KiB.'),
    };
  return codeOf(error) === 'ERR_HTTP_REQUEST_TIMEOUT'
    ? malformed('408 Request Timeout', 'The request did not arrive in time; send all of it.')
    : malformed('400 Bad Request', 'The request could not be read.');
}

/** The shapes of the operations validate requests and answers, not the server. */
function noSchemas(): never {
  throw new Error('a route has a schema of the server, which has no compiler for it');
}
