import type { FastifyReply } from 'fastify';
import type { Logger } from 'pino';
import type { Operation, RawInput } from '../../shared/api/operation.ts';
import { newId } from '../../shared/base/crypto.ts';
import { Refusal } from '../../shared/base/errors.ts';
import type { Answered } from '../gate/bind.ts';
import type { Named, Outcome } from '../gate/idempotency.ts';
import { type Count, subjectOfAddress } from '../gate/rate-limit.ts';

/** What the API needs from a caller: the token's id, to count its calls. */
export type TokenCaller = { readonly token?: { readonly id: string } };

/** Dependencies of the API: the gate, authentication and rate limits. */
export type RestDependencies<Caller extends TokenCaller> = {
  readonly execute: (operation: Operation, caller: Caller, raw: RawInput) => Promise<Answered>;
  /** The same for a call with an idempotency key. */
  readonly executeOnce: (
    operation: Operation,
    caller: Caller,
    raw: RawInput,
    named: Named,
  ) => Promise<Outcome>;
  /** @throws the refusals token_missing and token_invalid. */
  readonly authenticate: (authorization: string | undefined, address: string) => Promise<Caller>;
  readonly limiter: {
    readonly count: (subject: string) => Count | Promise<Count>;
    readonly look: (subject: string) => Count;
  };
  readonly log: Pick<Logger, 'error'>;
  /** Origins whose pages may call from a browser; `*` allows any. */
  readonly corsOrigins?: readonly string[];
  /** The base URL of the service, for the document; known only once the service listens. */
  readonly baseUrl: () => string;
  /** Whether the page about the installation itself is public. */
  readonly isAboutOpen?: () => boolean;
};

const tooMany = new Refusal('rate_limited', 'Too many calls; wait as long as Retry-After says.');

export function countHeaders({ remaining, reset }: Count) {
  return {
    'ratelimit-remaining': String(remaining),
    'ratelimit-reset': String(reset),
  };
}

/** @throws Refusal when the call may not pass. */
export function noteCount(reply: FastifyReply, count: Count): void {
  say(reply, count);
  if (count.allowed) return;
  reply.header('retry-after', String(count.reset));
  throw tooMany;
}

function say(reply: FastifyReply, count: Count): void {
  reply.headers(countHeaders(count));
}

/** Counts a call without a valid token. */
export async function countAddress(
  { limiter }: Pick<RestDependencies<TokenCaller>, 'limiter'>,
  address: string,
  reply: FastifyReply,
): Promise<void> {
  return noteCount(reply, await limiter.count(subjectOfAddress(address)));
}

/**
 * For requests beside the API: sets the answer's request id and the address's rate-limit headers.
 * Such a request is not counted and never refused.
 */
export type SetLimitHeaders = (address: string, reply: FastifyReply) => void;

export function limitHeaders({
  look,
}: Pick<RestDependencies<TokenCaller>['limiter'], 'look'>): SetLimitHeaders {
  return (address, reply) => {
    reply.header('x-request-id', newId());
    say(reply, look(subjectOfAddress(address)));
  };
}

/**
 * Authenticates the caller and counts the call: with a valid token on the token, otherwise on the
 * address. Each answer carries the count, even a refusal, so this runs before anything else of a
 * request is read.
 */
export async function identify<Caller extends TokenCaller>(
  dependencies: Pick<RestDependencies<Caller>, 'authenticate' | 'limiter'>,
  request: { readonly authorization: string | undefined; readonly address: string },
  reply: FastifyReply,
): Promise<Caller> {
  const caller = await dependencies
    .authenticate(request.authorization, request.address)
    .catch(async (error: unknown) => {
      await countAddress(dependencies, request.address, reply);
      throw error;
    });
  if (caller.token) noteCount(reply, await dependencies.limiter.count(`token:${caller.token.id}`));
  return caller;
}
