import { InvalidInput, statusOf } from '../../../shared/api/operation.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { Refusal } from '../../../shared/base/errors.ts';
import { bodyLimit } from './rest-body.ts';

/** How a failure is answered. `hidden` is set for a fault of our own: it goes to the log, under the id that the answer names. */
export type Answer = {
  readonly status: number;
  readonly body: unknown;
  readonly headers: Readonly<Record<string, string>>;
  readonly hidden?: { readonly request_id: string; readonly error: unknown };
};

export const errorBody = (code: string, message: string) => ({ error: { code, message } });

const refused = (refusal: Refusal): Answer => ({
  status: statusOf[refusal.kind],
  body: errorBody(refusal.code, refusal.message),
  headers: headersOf(refusal),
});

const headersOf = (refusal: Refusal): Answer['headers'] => {
  if (refusal.kind === 'unauthenticated') return { 'www-authenticate': 'Bearer' };
  if (refusal.code === 'idempotency_key_in_use') return { 'retry-after': '1' };
  if (refusal.waitS !== undefined) return { 'retry-after': String(refusal.waitS) };
  return refusal.kind === 'unavailable' ? { 'retry-after': '5' } : {};
};

const sizeWords = (bytes: number): string => (bytes < 1024 * 1024 ? `${bytes / 1024} KiB` : `${bytes / 1024 / 1024} MiB`);

/** What Fastify itself refuses on the way in: a body beyond the limit, or one that is not as long as it said. */
const fromFramework = (error: unknown, mostBody: number): Refusal | undefined => {
  if (!(error instanceof Error) || !('code' in error) || !('statusCode' in error)) return undefined;
  if (error.code === 'FST_ERR_CTP_BODY_TOO_LARGE') return new Refusal('body_too_large', `The body is larger than ${sizeWords(mostBody)}.`);
  if (typeof error.statusCode === 'number' && error.statusCode < 500)
    return new Refusal('request_malformed', 'The request could not be read.');
  return undefined;
};

/** The one place where a failure becomes an HTTP answer. */
export const answerOf = (error: unknown, mostBody = bodyLimit): Answer => {
  if (error instanceof InvalidInput) return { status: 422, body: { detail: error.faults }, headers: {} };
  const refusal = error instanceof Refusal ? error : fromFramework(error, mostBody);
  if (refusal && refusal.kind !== 'internal') return refused(refusal);
  const request_id = newId();
  return {
    status: 500,
    body: errorBody('internal', `Something went wrong on our side. The id of this request is ${request_id}.`),
    headers: { 'x-request-id': request_id },
    hidden: { request_id, error },
  };
};
