import { hash } from 'node:crypto';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import type { FastifyReply, FastifyRequest } from 'fastify';

/** How an answer goes out: marked with what it holds, not sent again to who has it, and as small as the caller takes it. */

const brotli = promisify(brotliCompress);
const zip = promisify(gzip);

/** Below this a compressed answer is no smaller. */
const leastBytes = 1_000;

/** Weak: an answer is the same in whatever encoding it goes. */
const tagOf = (bytes: Buffer): string => `W/"${hash('sha256', bytes, 'base64url').slice(0, 27)}"`;

const opaque = (tag: string): string => tag.trim().replace(/^W\//, '');

const hasIt = (known: string | undefined, tag: string): boolean =>
  known !== undefined && (known.trim() === '*' || known.split(',').some((one) => opaque(one) === opaque(tag)));

/** Whether the caller takes an encoding: named, and not at the weight of nothing. */
const takes = (accepted: string, encoding: string): boolean =>
  accepted.split(',').some((part) => {
    const [name = '', ...parameters] = part.split(';').map((one) => one.trim().toLowerCase());
    return name === encoding && !parameters.some((one) => /^q=0(?:\.0*)?$/.test(one));
  });

const isRead = ({ method }: FastifyRequest): boolean => method === 'GET' || method === 'HEAD';

/** The last step before an answer is on its way. */
export const send = async (request: FastifyRequest, reply: FastifyReply, payload: unknown): Promise<unknown> => {
  if (typeof payload !== 'string' && !Buffer.isBuffer(payload)) return payload;
  reply.header(
    'vary',
    ['authorization', 'accept-encoding', ...(reply.hasHeader('access-control-allow-origin') ? ['origin'] : [])].join(', '),
  );
  // Its mark, its length and what is sent are all of the same bytes: they are made once.
  const bytes = typeof payload === 'string' ? Buffer.from(payload) : payload;
  if (isRead(request) && reply.statusCode === 200) {
    const tag = tagOf(bytes);
    // It may be kept by whoever asked, and is good only after asking again.
    reply.headers({ etag: tag, 'cache-control': 'private, no-cache' });
    if (hasIt(request.headers['if-none-match'], tag)) {
      reply.code(304).removeHeader('content-type').removeHeader('content-length');
      return '';
    }
  }
  if (bytes.length < leastBytes) return bytes;
  const accepted = request.headers['accept-encoding'] ?? '';
  const small = takes(accepted, 'br')
    ? ([
        'br',
        brotli(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 4, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length } }),
      ] as const)
    : takes(accepted, 'gzip')
      ? (['gzip', zip(bytes)] as const)
      : undefined;
  if (small === undefined) return bytes;
  const [encoding, zipping] = small;
  reply.header('content-encoding', encoding).removeHeader('content-length');
  return zipping;
};
