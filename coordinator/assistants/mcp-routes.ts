import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { newId } from '../../shared/base/crypto.ts';
import { Refusal } from '../../shared/base/errors.ts';
import { memberOf } from '../../shared/base/json.ts';
import type { Clock } from '../../shared/base/time.ts';
import { bodyLimit } from '../api/body.ts';
import { answerOf } from '../api/errors.ts';
import type { Sql } from '../database/connect.ts';
import { createAttempts } from '../gate/attempts.ts';
import { type Count, subjectOfAddress } from '../gate/rate-limit.ts';
import type { createOwnPlaces } from '../outbound/connection.ts';
import { createDocumentReader } from '../outbound/documents.ts';
import type { AccountSecrets } from '../secrets/account-secrets.ts';
import type { MasterKeys } from '../secrets/at-rest.ts';
import { createAssistantKey } from './connections.ts';
import {
  type Asking,
  type AssistantDependencies,
  bearerOf,
  ProtocolFault,
  readSent,
  refuseForeignOrigin,
} from './mcp-request.ts';
import { challengeOf, createAssistantSecrets, createOauthRecords } from './oauth.ts';
import type { OauthDependencies } from './oauth-routes.ts';

type Dependencies = MasterKeys & {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly accountSecrets: AccountSecrets;
  /** Tests replace requests to other hosts here. */
  readonly readDocument?: OauthDependencies['readDocument'] | undefined;
  readonly ownPlaces?: ReturnType<typeof createOwnPlaces>;
};

const hour = 3_600_000;

/** The dependencies of the assistants' sign-in. */
export function createAssistants({
  sql,
  clock,
  accountSecrets,
  secretKey,
  previousKey,
  readDocument,
  ownPlaces,
}: Dependencies) {
  const key = createAssistantKey(sql, { secretKey, previousKey });
  const documents = createDocumentReader(ownPlaces && { ownPlaces });
  return {
    records: createOauthRecords(sql, clock, key),
    secrets: createAssistantSecrets(key),
    attempts: createAttempts(sql, clock, accountSecrets, hour),
    readDocument: readDocument ?? documents.read,
    close: documents.close,
  };
}

export type { AssistantDependencies } from './mcp-request.ts';

/**
 * Where assistants call. Each request is independent: it authenticates its caller, is answered, and
 * leaves no state, so that any coordinator can receive the next.
 */
const assistantPath = '/mcp';

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const;

/** For refusals before the protocol is spoken. Our own code is in the data. */
const refusedCode = -32_000;

export function assistantRoutes(app: FastifyInstance, dependencies: AssistantDependencies): void {
  app.register(async (face) => {
    face.removeAllContentTypeParsers();
    face.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit }, (_request, body, done) =>
      done(null, body),
    );

    face.addHook('onRequest', async (request, reply) => {
      reply.headers({
        'cache-control': 'no-store',
        'x-content-type-options': 'nosniff',
        'x-request-id': newId(),
      });
      refuseForeignOrigin(request.headers, dependencies.baseUrl());
    });

    face.setErrorHandler((error, request, reply) => {
      if (error instanceof ProtocolFault)
        return reply.code(error.status).send(faultBody(error.code, error.message, error.id));
      const { status, body, headers, hidden } = answerOf(error);
      if (hidden)
        dependencies.log.error(
          { err: hidden.error, request_id: hidden.request_id, url: request.routeOptions.url },
          'request failed',
        );
      reply.code(status).headers(headers);
      if (error instanceof Refusal && error.kind === 'unauthenticated')
        reply.header(
          'www-authenticate',
          challengeOf(
            dependencies.baseUrl(),
            error.code === 'token_missing' ? undefined : 'invalid_token',
          ),
        );
      const said = memberOf(body, 'error');
      return reply.send(
        faultBody(hidden ? -32_603 : refusedCode, String(memberOf(said, 'message')), null, {
          code: memberOf(said, 'code'),
        }),
      );
    });

    face.route({
      method: [...methods],
      url: assistantPath,
      handler: (request, reply) => answer(dependencies, request, reply),
    });
  });
}

function faultBody(code: number, message: string, id: string | number | null, data?: unknown) {
  return {
    jsonrpc: '2.0',
    id,
    error: { code, message, ...(data === undefined ? {} : { data }) },
  };
}

async function answer(
  dependencies: AssistantDependencies,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const asking = await identify(dependencies, request, reply);
  if (request.method !== 'POST') {
    reply.header('allow', 'POST');
    throw new Refusal(
      'method_not_allowed',
      'Messages are sent here with POST; there is no session to begin, to listen to or to end.',
    );
  }
  const subject = `connection:${asking.caller.connection.id}`;
  noteCount(reply, await dependencies.limiter.count(subject));
  const { body, calls } = readSent(Buffer.isBuffer(request.body) ? request.body : undefined);
  for (let nth = 1; nth < calls; nth += 1)
    noteCount(reply, await dependencies.limiter.count(subject));
  // The protocol's library is large, and most starts have no assistant for a while.
  const { answered } = await import('./mcp.ts');
  const response = await answered(dependencies, asking, request.headers, body);
  // A buffering proxy would hold back the answer.
  return reply.header('x-accel-buffering', 'no').send(response);
}

async function identify(
  dependencies: AssistantDependencies,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<Asking> {
  const token = bearerOf(request.headers.authorization);
  const caller = token === undefined ? undefined : await dependencies.callerOf(token, request.ip);
  if (token === undefined || caller === undefined) {
    noteCount(reply, await dependencies.limiter.count(subjectOfAddress(request.ip)));
    throw token === undefined ? missing() : invalid();
  }
  const again = async () => {
    const now = await dependencies.callerOf(token, request.ip);
    if (now === undefined) throw ended();
    return now;
  };
  return { caller, again };
}

function noteCount(reply: FastifyReply, { remaining, reset, allowed }: Count): void {
  reply.headers({ 'ratelimit-remaining': String(remaining), 'ratelimit-reset': String(reset) });
  if (allowed) return;
  reply.header('retry-after', String(reset));
  throw new Refusal('rate_limited', `Too many calls: this connection may make more in ${reset} s.`);
}

function missing() {
  return new Refusal(
    'token_missing',
    'Assistants connect to this address: enter it in yours, and it will send you here to sign in and to allow it.',
  );
}

function invalid() {
  return new Refusal(
    'token_invalid',
    'This assistant is not connected (any more), or its access has to be renewed; connect it again.',
  );
}

function ended() {
  return new Refusal(
    'token_invalid',
    'This assistant was disconnected in the meantime. What it did until then stays.',
  );
}
