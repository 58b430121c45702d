import { createHash } from 'node:crypto';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import type { FastifyReply, FastifyRequest } from 'fastify';

/** Which page, and which part of it. */
export type Params = { readonly slug: string; readonly of?: string };
export type Here = FastifyRequest<{ Params: Params }>;

export const hostOf = (host: string | undefined): string => (host ?? '').toLowerCase().replace(/:\d+$/, '').replace(/\.$/, '');

/** `shop` and `shop.json` are of the same page. */
export const slugOf = (request: Here): string => request.params.slug.replace(/\.json$/, '');

/** A text as it goes out: made once, sent thousands of times. */
export type Body = { readonly bytes: Buffer; readonly brotli: Buffer; readonly gzip: Buffer; readonly etag: string };

export const bodyOf = (text: string): Body => {
  const bytes = Buffer.from(text);
  const params = { [constants.BROTLI_PARAM_QUALITY]: 5, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length };
  return {
    ...{ bytes, brotli: brotliCompressSync(bytes, { params }), gzip: gzipSync(bytes) },
    etag: `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 16)}"`,
  };
};

const common = "default-src 'none'; style-src 'self'; img-src 'self' data:; base-uri 'none'";
/** Nothing but our style and pictures; no script at all. */
const policies = {
  page: `${common}; form-action 'self'; frame-ancestors 'none'`,
  /** The one document that other sites may put into a frame. */
  embed: `${common}; form-action 'none'; frame-ancestors *`,
  /** What is no document. */
  data: "default-src 'none'; frame-ancestors 'none'",
} as const;

const safety = (kind: Kind): Readonly<Record<string, string>> => ({
  'content-security-policy': policies[kind],
  'x-content-type-options': 'nosniff',
  // With no-referrer a form that is posted would name no origin.
  'referrer-policy': kind === 'page' ? 'same-origin' : 'no-referrer',
  'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
  ...(kind === 'page' ? { 'x-frame-options': 'DENY', 'cross-origin-opener-policy': 'same-origin' } : {}),
  'cross-origin-resource-policy': kind === 'page' ? 'same-origin' : 'cross-origin',
});

export type Kind = keyof typeof policies;

export type Sent = {
  readonly kind: Kind;
  readonly type: string;
  readonly body: Body;
  readonly status?: number;
  /** Everybody may see it: nobody keeps what is private. */
  readonly isPublic: boolean;
  /** Search engines may show it. */
  readonly isFound?: boolean;
  readonly headers?: Readonly<Record<string, string>>;
};

const openHeaders = (kind: Kind, isFound: boolean) => ({
  ...safety(kind),
  'cache-control': 'public, no-cache',
  vary: 'accept-encoding',
  ...(isFound ? {} : { 'x-robots-tag': 'noindex' }),
  ...(kind === 'data' ? { 'access-control-allow-origin': '*' } : {}),
});

/** Made once for each sort of answer: they go out thousands of times a second. */
const kinds = ['page', 'embed', 'data'] as const;
const openFor = new Map(
  kinds.flatMap((kind) => [true, false].map((isFound) => [`${kind} ${isFound}`, openHeaders(kind, isFound)] as const)),
);
const closedFor = new Map(
  kinds.map((kind) => [
    kind,
    { ...safety(kind), 'cache-control': 'private, no-store', vary: 'accept-encoding, cookie', 'x-robots-tag': 'noindex' },
  ]),
);

export const send = (request: FastifyRequest, reply: FastifyReply, sent: Sent): FastifyReply => {
  const { kind, type, body, status = 200, isPublic, isFound = false, headers } = sent;
  const usual = isPublic ? openFor.get(`${kind} ${isFound}`) : closedFor.get(kind);
  reply.headers({ ...usual, 'content-type': type, ...headers });
  if (isPublic && status === 200) {
    reply.header('etag', body.etag);
    if (request.headers['if-none-match'] === body.etag) return reply.code(304).send();
  }
  reply.code(status);
  const accepted = request.headers['accept-encoding'] ?? '';
  if (/\bbr\b/.test(accepted)) return reply.header('content-encoding', 'br').send(body.brotli);
  if (/\bgzip\b/.test(accepted)) return reply.header('content-encoding', 'gzip').send(body.gzip);
  return reply.send(body.bytes);
};
