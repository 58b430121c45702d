import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { FastifyHttpOptions, FastifyInstance } from 'fastify';
import { newId } from '../../../shared/base/crypto.ts';
import { codeOf } from '../../../shared/base/errors.ts';
import { type RateLimiter, subjectOfAddress } from '../../access/access-rate-limit.ts';
import { bodyLimit } from './rest-body.ts';
import { errorBody } from './rest-errors.ts';
import { countHeaders } from './rest-identify-caller.ts';
import { addressOfUnknownMethod, methodsOf } from './rest-methods.ts';
import { soundUrl } from './rest-urls.ts';

/** How the count of a caller's address stands, of each server that counts. It counts as nothing: no request was read. */
const looks = new WeakMap<Server, RateLimiter['look']>();

const countWords = (server: Server, address: string | undefined): Readonly<Record<string, string>> => {
  const look = looks.get(server);
  if (look === undefined || address === undefined) return {};
  return countHeaders(look(subjectOfAddress(address)));
};

type Bare = { readonly status: string; readonly body: unknown; readonly headers?: string };

/** A method that the parser of HTTP itself does not know. */
const unknownMethod = (error: Error): Bare | undefined => {
  if (codeOf(error) !== 'HPE_INVALID_METHOD' || !('rawPacket' in error) || !Buffer.isBuffer(error.rawPacket)) return undefined;
  const address = addressOfUnknownMethod(error.rawPacket);
  if (address === undefined) return undefined;
  const allowed = methodsOf(address);
  if (allowed.length === 0) return { status: '404 Not Found', body: errorBody('route_not_found', 'There is no such route.') };
  const body = errorBody('method_not_allowed', `This route answers to ${allowed.join(', ')}.`);
  return { status: '405 Method Not Allowed', body, headers: `Allow: ${allowed.join(', ')}\r\n` };
};

const malformed = (status: string, message: string): Bare => ({ status, body: errorBody('request_malformed', message) });

const unreadable = (error: Error): Bare => {
  if (codeOf(error) === 'HPE_HEADER_OVERFLOW')
    return { status: '431 Request Header Fields Too Large', body: errorBody('headers_too_large', 'The headers are larger than 16 KiB.') };
  return codeOf(error) === 'ERR_HTTP_REQUEST_TIMEOUT'
    ? malformed('408 Request Timeout', 'The request did not arrive in time; send all of it.')
    : malformed('400 Bad Request', 'The request could not be read.');
};

const answerBare = (socket: Duplex, { status, body, headers = '' }: Bare, count: Readonly<Record<string, string>>): void => {
  const counted = Object.entries(count).map(([name, value]) => `${name}: ${value}\r\n`);
  const text = JSON.stringify(body);
  socket.end(
    `HTTP/1.1 ${status}\r\nContent-Type: application/json; charset=utf-8\r\nX-Request-Id: ${newId()}\r\n${counted.join('')}${headers}Content-Length: ${Buffer.byteLength(text)}\r\nConnection: close\r\n\r\n${text}`,
  );
};

/** What cannot be read as HTTP at all is answered here, on the bare socket: no route has been found yet. */
function refuseUnreadable(this: Pick<FastifyInstance, 'server'>, error: Error, socket: Socket): void {
  if (codeOf(error) === 'ECONNRESET' || !socket.writable) socket.destroy();
  else answerBare(socket, unknownMethod(error) ?? unreadable(error), countWords(this.server, socket.remoteAddress));
}

/** What Node answers by itself, before anything of ours is asked, and without a word about why, nor of how the count stands. */
export const answerInWords = (server: Server, { look }: Pick<RateLimiter, 'look'>): void => {
  looks.set(server, look);
  server.on('connect', ({ socket: { remoteAddress } }, socket) =>
    answerBare(socket, malformed('400 Bad Request', 'This is no proxy; ask for a path of it.'), countWords(server, remoteAddress)),
  );
  server.on('checkExpectation', (request, response) => {
    const { body } = malformed('', 'The only expectation that can be met is 100-continue; leave the header Expect out.');
    const count = countWords(server, request.socket.remoteAddress);
    response
      .writeHead(417, { 'content-type': 'application/json; charset=utf-8', 'x-request-id': newId(), ...count })
      .end(JSON.stringify(body));
  });
};

/** Requests and answers are judged by the shapes of the operations, not by the server. */
const noSchemas = (): never => {
  throw new Error('a route has a schema of the server, which has no compiler for it');
};

/** Options of the server that the API needs; whoever makes the Fastify instance spreads them in. */
export const restServerOptions = {
  bodyLimit,
  exposeHeadRoutes: false,
  /** Who was let in is answered to the end: Fastify would refuse with words and headers of its own, not as the API does. */
  return503OnClosing: false,
  /** Node would refuse a request without one with no word; here it is refused by whoever is asked. */
  http: { requireHostHeader: false },
  /** A body that stalls does not hold its connection for ever; no call of the API has more than can be sent in this time. */
  requestTimeout: 60_000,
  rewriteUrl: (request) => soundUrl(request.url ?? '/'),
  clientErrorHandler: refuseUnreadable,
  // An id of any length is judged by the API, not lost by the router.
  routerOptions: { maxParamLength: 16 * 1024 },
  // Without these it would load a hundred modules at every start, for schemas that no route has.
  schemaController: { compilersFactory: { buildValidator: noSchemas, buildSerializer: noSchemas } },
} as const satisfies FastifyHttpOptions<Server>;
