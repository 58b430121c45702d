import { createHash } from 'node:crypto';
import { pipeline, Readable } from 'node:stream';
import { promisify } from 'node:util';
import {
  brotliCompress,
  brotliCompressSync,
  constants,
  createBrotliCompress,
  createGzip,
  gzip,
  gzipSync,
} from 'node:zlib';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Asset } from './assets.ts';

/**
 * Nothing inline, nothing from elsewhere, no frames. One named policy of our scripts may turn text
 * into HTML, and another an address into a worker.
 */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "manifest-src 'self'",
  "worker-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  'trusted-types antipode push-worker',
].join('; ');

export const securityHeaders = {
  'content-security-policy': policy,
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  // With no-referrer, a posted form would name no origin.
  'referrer-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
} as const;

/**
 * For pages before signing in and those between them: an assistant may have opened them in a window
 * of its own, and waits for the result.
 */
export const openerHeaders = { 'cross-origin-opener-policy': 'unsafe-none' } as const;

/**
 * The worker that shows notifications fetches nothing, and is not cached: browsers check for a new
 * version by themselves.
 */
export const workerHeaders = {
  'content-type': 'text/javascript; charset=utf-8',
  'content-security-policy': "default-src 'none'",
  'x-content-type-options': 'nosniff',
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-cache',
} as const;

const brotli = promisify(brotliCompress);
const zip = promisify(gzip);

/** Below this size, compression gains nothing. */
const leastBytes = 600;

/**
 * Up to this size a text is compressed at once: a page takes less than a millisecond. A compressor
 * that works beside us lives until the next long collection, with the page that it was given, and
 * so every hundredth page waited for one.
 */
const maxBytesAtOnce = 128 * 1024;

/**
 * Brotli's quality 8 saves 1 to 2 % over 6. That is worth half a millisecond for every page, and not
 * for longer texts: from 7 on it clears a table of megabytes for each.
 */
const longBytes = 96 * 1024;

/** Sends a text with the best compression that the browser accepts. */
export async function sendSmall(
  request: FastifyRequest,
  reply: FastifyReply,
  text: string,
): Promise<FastifyReply> {
  const bytes = Buffer.from(text);
  const accepted = request.headers['accept-encoding'] ?? '';
  reply.header('vary', 'accept-encoding');
  if (bytes.length < leastBytes) return reply.send(bytes);
  const isSmall = bytes.length <= maxBytesAtOnce;
  if (/\bbr\b/.test(accepted)) {
    const params = {
      [constants.BROTLI_PARAM_QUALITY]: bytes.length > longBytes ? 6 : 8,
      [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
    };
    const small = isSmall ? brotliCompressSync(bytes, { params }) : await brotli(bytes, { params });
    return reply.header('content-encoding', 'br').send(small);
  }
  return /\bgzip\b/.test(accepted)
    ? reply.header('content-encoding', 'gzip').send(isSmall ? gzipSync(bytes) : await zip(bytes))
    : reply.send(bytes);
}

/**
 * Sends a text that a browser may keep, or that it is still the same. The tag is weak, because the
 * compression differs.
 */
export async function sendKept(
  request: FastifyRequest,
  reply: FastifyReply,
  text: string,
): Promise<FastifyReply> {
  const tag = createHash('sha256').update(text).digest('base64url').slice(0, 16);
  reply.header('etag', `W/"${tag}"`);
  return request.headers['if-none-match']?.includes(`"${tag}"`)
    ? reply.code(304).send()
    : sendSmall(request, reply, text);
}

/**
 * Sends a text in pieces, each as soon as it exists, with the best compression that the browser
 * accepts.
 */
export function sendStreamed(
  request: FastifyRequest,
  reply: FastifyReply,
  pieces: AsyncIterable<string | Uint8Array>,
): FastifyReply {
  const accepted = request.headers['accept-encoding'] ?? '';
  // Otherwise proxies would buffer the pieces.
  reply.headers({ vary: 'accept-encoding', 'x-accel-buffering': 'no' });
  const source = Readable.from(pieces, { objectMode: false });
  const brotliNow = () =>
    createBrotliCompress({
      flush: constants.BROTLI_OPERATION_FLUSH,
      params: { [constants.BROTLI_PARAM_QUALITY]: 4 },
    });
  const [encoding, zipped] = /\bbr\b/.test(accepted)
    ? (['br', brotliNow()] as const)
    : /\bgzip\b/.test(accepted)
      ? (['gzip', createGzip({ flush: constants.Z_SYNC_FLUSH })] as const)
      : ([undefined, undefined] as const);
  if (encoding === undefined) return reply.send(source);
  // A closed connection ends the stream; no one is left to notify.
  pipeline(source, zipped, () => undefined);
  return reply.header('content-encoding', encoding).send(zipped);
}

/** Sends a file whose name contains a digest of its content. */
export function sendAsset(
  request: FastifyRequest,
  reply: FastifyReply,
  { type, bytes, brotli: small }: Asset,
): FastifyReply {
  reply.headers({
    'content-type': type,
    'cache-control': 'public, max-age=31536000, immutable',
    'x-content-type-options': 'nosniff',
    'cross-origin-resource-policy': 'same-origin',
    vary: 'accept-encoding',
  });
  if (small !== null && /\bbr\b/.test(request.headers['accept-encoding'] ?? ''))
    return reply.header('content-encoding', 'br').send(small);
  return reply.send(bytes);
}
