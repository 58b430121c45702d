import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Log } from '../../../shared/base/log.ts';
import { answerOf, errorBody } from './errors.ts';

const nothingHere = (reply: FastifyReply): FastifyReply =>
  reply
    .code(404)
    .header('cache-control', 'no-store')
    .send(errorBody('route_not_found', 'There is nothing here; the API is described at /api/v1/docs.'));

/** Answers a person with a page. False: it is a program that asks. */
export type AnswerPerson = (request: FastifyRequest, reply: FastifyReply) => Promise<boolean>;

/** Outside of the API too, a refusal has the one form, and tells a newcomer where there is something to see; a person gets a page. */
export const refuseOutside = (web: FastifyInstance, log: Log, answerPerson: AnswerPerson = async () => false): void => {
  web.setNotFoundHandler(async (request, reply) => ((await answerPerson(request, reply)) ? reply : nothingHere(reply)));
  web.setErrorHandler((error, request, reply) => {
    // The server looks at a body before it finds that nobody wants it.
    if (request.is404) return nothingHere(reply);
    const { status, body, headers, hidden } = answerOf(error, request.routeOptions.bodyLimit);
    if (hidden) log.error({ err: hidden.error, request_id: hidden.request_id, url: request.routeOptions.url }, 'request failed');
    return reply.code(status).headers(headers).send(body);
  });
};
