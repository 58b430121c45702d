import type { FastifyReply, FastifyRequest } from 'fastify';
import { methodsOf } from './rest-methods.ts';

/** Which pages of other origins may call the API from a browser: those that the operator names. A token is sent by a program, never by a browser by itself. */

const exposed = ['ETag', 'Idempotency-Replayed', 'Location', 'RateLimit-Remaining', 'RateLimit-Reset', 'Retry-After', 'X-Request-Id'].join(
  ', ',
);
const sent = ['Authorization', 'Content-Type', 'Idempotency-Key', 'If-None-Match'].join(', ');

/** Lets the page read the answer, where its origin is one of those. */
export const allowOrigin = (origins: readonly string[], request: FastifyRequest, reply: FastifyReply): boolean => {
  const { origin } = request.headers;
  if (origin === undefined || !(origins.includes('*') || origins.includes(origin))) return false;
  reply.headers({ 'access-control-allow-origin': origins.includes('*') ? '*' : origin, 'access-control-expose-headers': exposed });
  return true;
};

/** Whether a browser asks beforehand what it may send; then that is the answer. */
export const answeredBeforehand = (request: FastifyRequest, reply: FastifyReply): boolean => {
  if (request.method !== 'OPTIONS' || request.headers['access-control-request-method'] === undefined) return false;
  const methods = methodsOf(request.url);
  if (methods.length === 0) return false;
  reply.headers({
    'access-control-allow-methods': methods.join(', '),
    'access-control-allow-headers': sent,
    'access-control-max-age': '600',
    vary: 'origin, access-control-request-method, access-control-request-headers',
  });
  reply.code(204);
  return true;
};
