import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Log } from '../../../shared/base/log.ts';
import { answerOf, errorBody } from './rest-errors.ts';
import type { SayBeside } from './rest-identify-caller.ts';
import { methodsOf } from './rest-methods.ts';

const nothingHere = (request: FastifyRequest, reply: FastifyReply, beside: SayBeside): FastifyReply => {
  beside(request.ip, reply);
  reply.header('cache-control', 'no-store');
  const allowed = methodsOf(request.url);
  if (allowed.length > 0)
    return reply
      .code(405)
      .header('allow', allowed.join(', '))
      .send(errorBody('method_not_allowed', `This address answers to ${allowed.join(', ')}.`));
  return reply.code(404).send(errorBody('route_not_found', 'There is nothing here; the API is described at /api/v1/docs.'));
};

/** Answers a person with a page. False: it is a program that asks. */
export type AnswerPerson = (request: FastifyRequest, reply: FastifyReply) => Promise<boolean>;

/** Outside of the API too, a refusal has the one form, and tells a newcomer where there is something to see; a person gets a page. */
export const refuseOutside = (
  web: FastifyInstance,
  log: Log,
  answerPerson: AnswerPerson = async () => false,
  beside: SayBeside = () => undefined,
): void => {
  web.setNotFoundHandler(async (request, reply) => ((await answerPerson(request, reply)) ? reply : nothingHere(request, reply, beside)));
  web.setErrorHandler((error, request, reply) => {
    // The server looks at a body before it finds that nobody wants it.
    if (request.is404) return nothingHere(request, reply, beside);
    beside(request.ip, reply);
    const { status, body, headers, hidden } = answerOf(error, request.routeOptions.bodyLimit);
    if (hidden) log.error({ err: hidden.error, request_id: hidden.request_id, url: request.routeOptions.url }, 'request failed');
    return reply.code(status).headers(headers).send(body);
  });
};
