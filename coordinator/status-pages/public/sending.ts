import { createHash } from 'node:crypto';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import type { FastifyReply, FastifyRequest } from 'fastify';

/** A page, and a part of it. */
export type Params = { readonly slug: string; readonly of?: string };
export type Here = FastifyRequest<{ Params: Params }>;

export function hostOf(host: string | undefined): string {
  return (host ?? '').toLowerCase().replace(/:\d+$/, '').replace(/\.$/, '');
}

/** `shop` and `shop.json` belong to the same page. */
export function slugOf(request: Here): string {
  return request.params.slug.replace(/\.json$/, '');
}

/** Encoded: made once, sent thousands of times. */
export type Body = {
  readonly bytes: Buffer;
  readonly brotli: Buffer;
  readonly gzip: Buffer;
  readonly etag: string;
};

export function bodyOf(content: string | Uint8Array): Body {
  const bytes = typeof content === 'string' ? Buffer.from(content) : Buffer.from(content);
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: 5,
    [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
  };
  return {
    bytes,
    brotli: brotliCompressSync(bytes, { params }),
    gzip: gzipSync(bytes),
    etag: `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 16)}"`,
  };
}

const common =
  "default-src 'none'; style-src 'self'; font-src 'self'; script-src 'self'; img-src 'self' data:; base-uri 'none'";
/** Only our style, font, images and script. */
const policies = {
  page: `${common}; form-action 'self'; frame-ancestors 'none'`,
  /** The only document that other sites may embed in a frame. */
  embed: `${common}; form-action 'none'; frame-ancestors *`,
  /** For anything that is not a document. */
  data: "default-src 'none'; frame-ancestors 'none'",
} as const;

export type Kind = keyof typeof policies;

type Sent = {
  readonly kind: Kind;
  readonly type: string;
  readonly body: Body;
  readonly status?: number;
  /** Public pages may be cached; private ones must not be. */
  readonly isPublic: boolean;
  /** Search engines may show it. */
  readonly isFound?: boolean;
  readonly headers?: Readonly<Record<string, string>>;
};

/** Made once per kind of answer: they are sent thousands of times a second. */
const kinds = ['page', 'embed', 'data'] as const;
const openFor = new Map(
  kinds.flatMap((kind) =>
    [true, false].map((isFound) => [`${kind} ${isFound}`, openHeaders(kind, isFound)] as const),
  ),
);

function openHeaders(kind: Kind, isFound: boolean) {
  return {
    ...safety(kind),
    'cache-control': 'public, no-cache',
    vary: 'accept-encoding',
    ...(isFound ? {} : { 'x-robots-tag': 'noindex' }),
    ...(kind === 'data' ? { 'access-control-allow-origin': '*' } : {}),
  };
}

function safety(kind: Kind): Readonly<Record<string, string>> {
  return {
    'content-security-policy': policies[kind],
    'x-content-type-options': 'nosniff',
    // With no-referrer, a posted form would name no origin.
    'referrer-policy': kind === 'page' ? 'same-origin' : 'no-referrer',
    'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
    ...(kind === 'page'
      ? { 'x-frame-options': 'DENY', 'cross-origin-opener-policy': 'same-origin' }
      : {}),
    'cross-origin-resource-policy': kind === 'page' ? 'same-origin' : 'cross-origin',
  };
}
const closedFor = new Map(
  kinds.map((kind) => [
    kind,
    {
      ...safety(kind),
      'cache-control': 'private, no-store',
      vary: 'accept-encoding, cookie',
      'x-robots-tag': 'noindex',
    },
  ]),
);

export function send(request: FastifyRequest, reply: FastifyReply, sent: Sent): FastifyReply {
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
}
