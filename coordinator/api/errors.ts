import { hash } from 'node:crypto';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { InvalidInput, statusOf } from '../../shared/api/operation.ts';
import { newId } from '../../shared/base/crypto.ts';
import { Refusal } from '../../shared/base/errors.ts';
import { bodyLimit } from './body.ts';

/**
 * The answer to a failure. `hidden` is set for an error of our own: it goes to the log, under the
 * id in the answer.
 */
type ErrorAnswer = {
  readonly status: number;
  readonly body: unknown;
  readonly headers: Readonly<Record<string, string>>;
  readonly hidden?: { readonly request_id: string; readonly error: unknown };
};

export function errorBody(code: string, message: string) {
  return { error: { code, message } };
}

/** The only place where a failure becomes an HTTP answer. */
export function answerOf(error: unknown, mostBody = bodyLimit): ErrorAnswer {
  if (error instanceof InvalidInput)
    return { status: 422, body: { detail: error.faults }, headers: {} };
  const refusal = error instanceof Refusal ? error : fromFramework(error, mostBody);
  if (refusal && refusal.kind !== 'internal') return refused(refusal);
  const request_id = newId();
  return {
    status: 500,
    body: errorBody(
      'internal',
      `Something went wrong on our side. The id of this request is ${request_id}.`,
    ),
    headers: { 'x-request-id': request_id },
    hidden: { request_id, error },
  };
}

/** What Fastify itself refuses: a body over the limit, or one of another length than stated. */
function fromFramework(error: unknown, mostBody: number): Refusal | undefined {
  if (!(error instanceof Error) || !('code' in error) || !('statusCode' in error)) return undefined;
  if (error.code === 'FST_ERR_CTP_BODY_TOO_LARGE')
    return new Refusal('body_too_large', `The body is larger than ${sizeWords(mostBody)}.`);
  if (typeof error.statusCode === 'number' && error.statusCode < 500)
    return new Refusal('request_malformed', 'The request could not be read.');
  return undefined;
}

function sizeWords(bytes: number): string {
  return bytes < 1024 * 1024 ? `${bytes / 1024} KiB` : `${bytes / 1024 / 1024} MiB`;
}

function refused(refusal: Refusal): ErrorAnswer {
  return {
    status: statusOf[refusal.kind],
    body: errorBody(refusal.code, refusal.message),
    headers: headersOf(refusal),
  };
}

function headersOf(refusal: Refusal): ErrorAnswer['headers'] {
  if (refusal.kind === 'unauthenticated') return { 'www-authenticate': 'Bearer' };
  if (refusal.code === 'idempotency_key_in_use') return { 'retry-after': '1' };
  if (refusal.waitS !== undefined) return { 'retry-after': String(refusal.waitS) };
  return refusal.kind === 'unavailable' ? { 'retry-after': '5' } : {};
}

const brotli = promisify(brotliCompress);
const zip = promisify(gzip);

/** Below this size, compression gains nothing. */
const leastBytes = 1_000;

/**
 * How an answer is sent: with a tag of its content, not again to a caller who has it, and with the
 * best compression that the caller accepts.
 *
 * The last step before an answer is sent.
 */
export async function send(
  request: FastifyRequest,
  reply: FastifyReply,
  payload: unknown,
): Promise<unknown> {
  if (typeof payload !== 'string' && !Buffer.isBuffer(payload)) return payload;
  reply.header(
    'vary',
    [
      'authorization',
      'accept-encoding',
      ...(reply.hasHeader('access-control-allow-origin') ? ['origin'] : []),
    ].join(', '),
  );
  // Tag, length and content all need the same bytes, which are made once.
  const bytes = typeof payload === 'string' ? Buffer.from(payload) : payload;
  if (isRead(request) && reply.statusCode === 200) {
    const tag = tagOf(bytes);
    // The caller may cache it, but must revalidate it before each use.
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
        brotli(bytes, {
          params: {
            [constants.BROTLI_PARAM_QUALITY]: 4,
            [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
          },
        }),
      ] as const)
    : takes(accepted, 'gzip')
      ? (['gzip', zip(bytes)] as const)
      : undefined;
  if (small === undefined) return bytes;
  const [encoding, zipping] = small;
  reply.header('content-encoding', encoding).removeHeader('content-length');
  return zipping;
}

function isRead({ method }: FastifyRequest): boolean {
  return method === 'GET' || method === 'HEAD';
}

/** Weak: an answer is the same in any encoding. */
function tagOf(bytes: Buffer): string {
  return `W/"${hash('sha256', bytes, 'base64url').slice(0, 27)}"`;
}

function hasIt(known: string | undefined, tag: string): boolean {
  return (
    known !== undefined &&
    (known.trim() === '*' || known.split(',').some((one) => opaque(one) === opaque(tag)))
  );
}

function opaque(tag: string): string {
  return tag.trim().replace(/^W\//, '');
}

/** Whether the caller accepts an encoding: it is named, and its weight is not zero. */
function takes(accepted: string, encoding: string): boolean {
  return accepted.split(',').some((part) => {
    const [name = '', ...parameters] = part.split(';').map((one) => one.trim().toLowerCase());
    return name === encoding && !parameters.some((one) => /^q=0(?:\.0*)?$/.test(one));
  });
}
