import type { Socket } from 'node:net';
import type { FastifyServerOptions } from 'fastify';
import { errorBody } from './errors.ts';
import { soundUrl } from './urls.ts';

export const bodyLimit = 64 * 1024;

const codeOf = (error: Error): string => ('code' in error && typeof error.code === 'string' ? error.code : '');

/** What cannot be read as HTTP at all is answered here, on the bare socket: no route has been found yet. */
const refuseUnreadable = (error: Error, socket: Socket): void => {
  if (codeOf(error) === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const [status, body] =
    codeOf(error) === 'HPE_HEADER_OVERFLOW'
      ? ['431 Request Header Fields Too Large', errorBody('headers_too_large', 'The headers are larger than 16 KiB.')]
      : ['400 Bad Request', errorBody('request_malformed', 'The request could not be read.')];
  const text = JSON.stringify(body);
  socket.end(
    `HTTP/1.1 ${status}\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: ${Buffer.byteLength(text)}\r\nConnection: close\r\n\r\n${text}`,
  );
};

/** Options of the server that the API needs; whoever makes the Fastify instance spreads them in. */
export const restServerOptions = {
  bodyLimit,
  exposeHeadRoutes: false,
  rewriteUrl: (request) => soundUrl(request.url ?? '/'),
  clientErrorHandler: refuseUnreadable,
  // An id of any length is judged by the API, not lost by the router.
  routerOptions: { maxParamLength: 16 * 1024 },
} as const satisfies FastifyServerOptions;
