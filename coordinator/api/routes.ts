import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { csvOf, csvType } from '../../shared/api/csv.ts';
import { restOperations } from '../../shared/api/index.ts';
import type { OutputOf, RestOperation } from '../../shared/api/operation.ts';
import { newId } from '../../shared/base/crypto.ts';
import { Refusal } from '../../shared/base/errors.ts';
import { isRecord } from '../../shared/base/json.ts';
import type { Log } from '../../shared/base/log.ts';
import { listMonitorFigures } from '../monitors/contract.ts';
import { bodyLimit, exactText, largeBodyLimit, readBody } from './body.ts';
import {
  countAddress,
  identify,
  limitHeaders,
  noteCount,
  type RestDependencies,
  type SetLimitHeaders,
  type TokenCaller,
} from './caller.ts';
import { createReference, docsSecurityPolicy, type Reference } from './docs.ts';
import { figuresText, figuresType } from './document-words.ts';
import { answerOf, errorBody, send } from './errors.ts';
import { fileSchema } from './file-schema.ts';
import { apiDocument, figuresOperation, placeOf } from './openapi.ts';
import {
  answerInWords,
  answerOnce,
  isNameAlone,
  methodsOf,
  namedBy,
  openPaths,
  prefix,
  queryOf,
} from './server.ts';

/**
 * Which pages of other origins may call the API from a browser: those that the operator names. A
 * program sends the token; a browser never sends it by itself.
 */

const exposed = [
  'ETag',
  'Idempotency-Replayed',
  'Location',
  'RateLimit-Remaining',
  'RateLimit-Reset',
  'Retry-After',
  'X-Request-Id',
].join(', ');
const sent = ['Authorization', 'Content-Type', 'Idempotency-Key', 'If-None-Match'].join(', ');

/** Lets the page read the answer, if its origin is allowed. */
function allowOrigin(
  origins: readonly string[],
  request: FastifyRequest,
  reply: FastifyReply,
): boolean {
  const { origin } = request.headers;
  if (origin === undefined || !(origins.includes('*') || origins.includes(origin))) return false;
  reply.headers({
    'access-control-allow-origin': origins.includes('*') ? '*' : origin,
    'access-control-expose-headers': exposed,
  });
  return true;
}

/** Answers a browser's preflight request. Returns whether it was one. */
function answeredBeforehand(request: FastifyRequest, reply: FastifyReply): boolean {
  if (
    request.method !== 'OPTIONS' ||
    request.headers['access-control-request-method'] === undefined
  )
    return false;
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
}

/** Answers a person with a page. False: a program asks. */
type AnswerPerson = (request: FastifyRequest, reply: FastifyReply) => Promise<boolean>;

/**
 * Refusals outside of the API have the same form, and tell a newcomer where to look; a person gets
 * a page.
 */
export function refuseOutside(
  web: FastifyInstance,
  log: Log,
  answerPerson: AnswerPerson = async () => false,
  beside: SetLimitHeaders = () => undefined,
): void {
  web.setNotFoundHandler(async (request, reply) =>
    (await answerPerson(request, reply)) ? reply : nothingHere(request, reply, beside),
  );
  web.setErrorHandler((error, request, reply) => {
    // The server checks a body before it finds that there is no route.
    if (request.is404) return nothingHere(request, reply, beside);
    beside(request.ip, reply);
    const { status, body, headers, hidden } = answerOf(error, request.routeOptions.bodyLimit);
    if (hidden)
      log.error(
        { err: hidden.error, request_id: hidden.request_id, url: request.routeOptions.url },
        'request failed',
      );
    return reply.code(status).headers(headers).send(body);
  });
}

function nothingHere(
  request: FastifyRequest,
  reply: FastifyReply,
  beside: SetLimitHeaders,
): FastifyReply {
  beside(request.ip, reply);
  reply.header('cache-control', 'no-store');
  const allowed = methodsOf(request.url);
  if (allowed.length > 0)
    return reply
      .code(405)
      .header('allow', allowed.join(', '))
      .send(errorBody('method_not_allowed', `This address answers to ${allowed.join(', ')}.`));
  return reply
    .code(404)
    .send(errorBody('route_not_found', 'No such route; the API is described at /api/v1/docs.'));
}

export type { RestDependencies, TokenCaller } from './caller.ts';
export { limitHeaders, type SetLimitHeaders } from './caller.ts';
export { restServerOptions } from './server.ts';

const noRoute = 'There is no such route.';

const json = 'application/json; charset=utf-8';

/** Words to search the reference for are read up to so many characters. */
const longestSearch = 200;

/**
 * The routes of the API: they pass the request to the gate, and its result back. They decide
 * nothing.
 */
export function restRoutes<Caller extends TokenCaller>(
  app: FastifyInstance,
  dependencies: RestDependencies<Caller>,
): void {
  const beside = limitHeaders(dependencies.limiter);
  app.get(`${prefix}/docs/`, { exposeHeadRoute: true }, (request, reply) => {
    beside(request.ip, reply);
    return reply.redirect(`${prefix}/docs`, 308);
  });
  answerInWords(app.server, dependencies.limiter);
  app.register(
    async (api) => {
      api.decorateRequest('caller', null);
      api.decorateRequest('sentMediaType', '');
      api.removeAllContentTypeParsers();
      api.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) =>
        done(null, body),
      );

      api.addHook('onRequest', async (request, reply) => {
        reply.headers({
          'cache-control': 'no-store',
          'x-content-type-options': 'nosniff',
          'x-request-id': newId(),
        });
        if (
          allowOrigin(dependencies.corsOrigins ?? [], request, reply) &&
          answeredBeforehand(request, reply)
        ) {
          beside(request.ip, reply);
          return reply.send();
        }
        // Fastify refuses media types that it cannot read before we could answer as the contract
        // says, so it must not see them.
        request.setDecorator('sentMediaType', request.raw.headers['content-type'] ?? '');
        delete request.raw.headers['content-type'];
        const { authorization } = request.headers;
        const astray = request.is404 || isNameAlone(request.url, request.method);
        const open = astray || openPaths.some((path) => path === request.routeOptions.url);
        if (request.raw.headers.host === undefined && request.raw.httpVersion === '1.1') {
          await countAddress(dependencies, request.ip, reply);
          throw new Refusal('request_malformed', 'The header Host is missing; HTTP/1.1 wants it.');
        }
        if (open && authorization === undefined) {
          await countAddress(dependencies, request.ip, reply);
          if (astray) refuseRoute(request, reply);
          return undefined;
        }
        const caller = await identify(
          dependencies,
          { authorization, address: request.ip },
          reply,
        ).catch((error: unknown) => {
          // A wrong token does not matter where none is needed.
          if (open && error instanceof Refusal && error.kind === 'unauthenticated') return null;
          throw error;
        });
        // Before Fastify checks the body: otherwise a method that it does not know, such as QUERY,
        // would make the body unreadable.
        if (astray) refuseRoute(request, reply);
        request.setDecorator('caller', caller);
        return undefined;
      });

      api.addHook('onSend', send);

      api.setErrorHandler((error, request, reply) => {
        const answer = answerOf(error, request.routeOptions.bodyLimit);
        if (answer.hidden)
          dependencies.log.error(
            {
              err: answer.hidden.error,
              request_id: answer.hidden.request_id,
              url: request.routeOptions.url,
            },
            'request failed',
          );
        return reply
          .code(answer.status)
          .headers(answer.headers)
          .type(json)
          .send(exactText(answer.body));
      });

      // Its hooks have refused already; without a handler of its own, the prefix would have no
      // hooks for unmatched paths.
      api.setNotFoundHandler(refuseRoute);

      for (const operation of restOperations) {
        api.route({
          method: operation.method,
          url: routePath(operation.path.slice(prefix.length)),
          exposeHeadRoute: operation.method === 'GET',
          bodyLimit: operation.takesMuch === true ? largeBodyLimit : bodyLimit,
          handler: (request, reply) => carry(operation, dependencies, request, reply),
        });
      }

      // Not among the operations with a route: it answers in a format of its own, for one kind of
      // client.
      api.get(
        figuresOperation.path.slice(prefix.length),
        { exposeHeadRoute: true },
        async (request, reply) => {
          const { body } = await dependencies.execute(
            listMonitorFigures,
            request.getDecorator<Caller>('caller'),
            { path: {}, query: {} },
          );
          // The gate returns the operation's response type, which its table of different operations
          // cannot express.
          return reply
            .type(figuresType)
            .send(figuresText(body as OutputOf<typeof listMonitorFigures>));
        },
      );

      // Made on the first request: only then is the base URL known.
      let made: { readonly document: string; readonly reference: Reference } | undefined;
      const texts = () => {
        if (made) return made;
        const document = apiDocument(dependencies.baseUrl());
        made = {
          document: JSON.stringify(document),
          reference: createReference(
            document,
            dependencies.baseUrl(),
            dependencies.isAboutOpen?.(),
          ),
        };
        return made;
      };
      api.get('/openapi.json', { exposeHeadRoute: true }, (_request, reply) =>
        reply.type(json).send(texts().document),
      );
      const sendPage = (reply: FastifyReply, page: string): FastifyReply =>
        reply
          .header('content-security-policy', docsSecurityPolicy)
          .type('text/html; charset=utf-8')
          .send(page);
      api.get('/docs', { exposeHeadRoute: true }, (request, reply) => {
        const { q = '' } = queryOf(request.raw.url ?? '');
        return sendPage(reply, texts().reference.index(q.slice(0, longestSearch)));
      });
      api.get<{ Params: { name: string } }>(
        '/docs/:name',
        { exposeHeadRoute: true },
        (request, reply) => {
          const page = texts().reference.page(request.params.name);
          if (page === undefined) throw new Refusal('route_not_found', noRoute);
          return sendPage(reply, page);
        },
      );
    },
    { prefix },
  );
  let schema: string | undefined;
  app.get('/antipode.schema.json', { exposeHeadRoute: true }, (_request, reply) => {
    schema ??= JSON.stringify(fileSchema(dependencies.baseUrl()));
    return reply
      .type('application/schema+json')
      .header('access-control-allow-origin', '*')
      .send(schema);
  });
}

/** Says why nothing answers to this method at this address. */
function refuseRoute(request: FastifyRequest, reply: FastifyReply): never {
  const allowed = methodsOf(request.url);
  if (allowed.length === 0) throw new Refusal('route_not_found', noRoute);
  reply.header('allow', allowed.join(', '));
  throw new Refusal('method_not_allowed', `This route answers to ${allowed.join(', ')}.`);
}

/** `/monitors/{monitor_id}` in the router's syntax. */
function routePath(path: string): string {
  return path.replaceAll(/\{(\w+)\}/g, ':$1');
}

async function carry<Caller extends TokenCaller>(
  operation: RestOperation,
  dependencies: RestDependencies<Caller>,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const path = isRecord(request.params) ? request.params : {};
  // The router takes the empty text after a trailing slash for an id, and a slash encoded as %2F
  // for a part of one, which it is in the ids of places alone.
  if (
    Object.entries(path).some(
      ([name, part]) => part === '' || (name !== 'place_id' && String(part).includes('/')),
    )
  )
    throw new Refusal('route_not_found', noRoute);
  const sent =
    operation.body === undefined
      ? {}
      : {
          body: readBody(
            Buffer.isBuffer(request.body) ? request.body : undefined,
            request.getDecorator<string>('sentMediaType'),
          ),
        };
  const caller = request.getDecorator<Caller>('caller');
  if (operation.calls && caller.token) {
    // The first call was counted before anything of the request was read.
    const calls = operation.calls(sent.body);
    for (let call = 1; call < calls; call += 1)
      noteCount(reply, await dependencies.limiter.count(`token:${caller.token.id}`));
  }
  const raw = { path, query: queryOf(request.raw.url ?? ''), ...sent };
  const named = operation.method === 'POST' ? namedBy(request) : undefined;
  const answered = await (named
    ? answerOnce(dependencies.executeOnce(operation, caller, raw, named), reply)
    : dependencies.execute(operation, caller, raw));
  reply.code(answered.status ?? operation.success);
  const place = reply.statusCode === 201 ? placeOf(operation, answered.body) : undefined;
  if (place !== undefined) reply.header('location', place);
  if (operation.success === 204) return reply.send();
  const csv = request.headers.accept?.includes(csvType)
    ? csvOf(operation, answered.body)
    : undefined;
  return csv === undefined
    ? reply.type(json).send(JSON.stringify(answered.body))
    : reply.type(`${csvType}; charset=utf-8`).send(csv);
}
