import { pipeline, Readable } from 'node:stream';
import { promisify } from 'node:util';
import { brotliCompress, constants, createBrotliCompress, createGzip, gzip } from 'node:zlib';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Asset } from './web-assets.ts';

const brotli = promisify(brotliCompress);
const zip = promisify(gzip);

/** Below this a compressed page is no smaller. */
const leastBytes = 600;

/** Sends a text as small as the browser takes it. */
export const sendSmall = async (request: FastifyRequest, reply: FastifyReply, text: string): Promise<FastifyReply> => {
  const bytes = Buffer.from(text);
  const accepted = request.headers['accept-encoding'] ?? '';
  reply.header('vary', 'accept-encoding');
  if (bytes.length < leastBytes) return reply.send(bytes);
  if (/\bbr\b/.test(accepted)) {
    const params = { [constants.BROTLI_PARAM_QUALITY]: 5, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length };
    return reply.header('content-encoding', 'br').send(await brotli(bytes, { params }));
  }
  return /\bgzip\b/.test(accepted) ? reply.header('content-encoding', 'gzip').send(await zip(bytes)) : reply.send(bytes);
};

/** Sends a text in pieces, each as soon as it is there, and as small as the browser takes it. */
export const sendAsItComes = (request: FastifyRequest, reply: FastifyReply, texts: AsyncIterable<string>): FastifyReply => {
  const accepted = request.headers['accept-encoding'] ?? '';
  // Proxies would else gather the pieces.
  reply.headers({ vary: 'accept-encoding', 'x-accel-buffering': 'no' });
  const source = Readable.from(texts, { objectMode: false });
  const brotliNow = () =>
    createBrotliCompress({ flush: constants.BROTLI_OPERATION_FLUSH, params: { [constants.BROTLI_PARAM_QUALITY]: 4 } });
  const [encoding, zipped] = /\bbr\b/.test(accepted)
    ? (['br', brotliNow()] as const)
    : /\bgzip\b/.test(accepted)
      ? (['gzip', createGzip({ flush: constants.Z_SYNC_FLUSH })] as const)
      : ([undefined, undefined] as const);
  if (encoding === undefined) return reply.send(source);
  // Who went away ends the stream; there is nobody left to tell.
  pipeline(source, zipped, () => undefined);
  return reply.header('content-encoding', encoding).send(zipped);
};

/** Sends what has its content in its name. */
export const sendAsset = (request: FastifyRequest, reply: FastifyReply, { type, bytes, brotli: small }: Asset): FastifyReply => {
  reply.headers({
    'content-type': type,
    'cache-control': 'public, max-age=31536000, immutable',
    'x-content-type-options': 'nosniff',
    'cross-origin-resource-policy': 'same-origin',
    vary: 'accept-encoding',
  });
  if (small !== null && /\bbr\b/.test(request.headers['accept-encoding'] ?? '')) return reply.header('content-encoding', 'br').send(small);
  return reply.send(bytes);
};
