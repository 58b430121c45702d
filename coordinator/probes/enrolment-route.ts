import type { FastifyInstance } from 'fastify';
import { rawInput } from '../../shared/api/operation.ts';
import type { Log } from '../../shared/base/log.ts';
import { readBody } from '../api/body.ts';
import { answerOf } from '../api/errors.ts';
import type { Gate } from '../gate/setup.ts';
import { enrolProbe } from './contract.ts';

/** A token, a key and a proof take a few hundred bytes. */
const maxBodyBytes = 8 * 1024;
const json = 'application/json; charset=utf-8';

/**
 * Where a host applies to be a probe: `antipode-probe.mjs join`. It authenticates with a join token
 * and nothing else.
 */
export const enrolmentRoute = (
  app: FastifyInstance,
  { execute, log }: { readonly execute: Gate['executeForVisitor']; readonly log: Pick<Log, 'error'> },
): void => {
  app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit: maxBodyBytes }, (_request, body, done) => done(null, body));
    scope.setErrorHandler((error, _request, reply) => {
      const answer = answerOf(error);
      if (answer.hidden) log.error({ err: answer.hidden.error, request_id: answer.hidden.request_id }, 'could not enrol a host');
      return reply.code(answer.status).headers(answer.headers).type(json).header('cache-control', 'no-store').send(answer.body);
    });
    scope.post('/enrol', async (request, reply) => {
      const body = readBody(Buffer.isBuffer(request.body) ? request.body : undefined, 'application/json');
      const visitor = { address: request.ip, device: request.headers['user-agent'] ?? '' };
      const answered = await execute(enrolProbe, visitor, rawInput(enrolProbe, body));
      return reply.type(json).header('cache-control', 'no-store').send(answered.body);
    });
  });
};
