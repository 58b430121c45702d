import type { FastifyInstance } from 'fastify';

/** Within this scope a body is whatever came, whatever its sender says that it is; the server would refuse media types that it cannot read. */
export const takeAnyBody = (scope: FastifyInstance): void => {
  scope.addHook('onRequest', async ({ raw }) => {
    // Not left out: of a QUERY the server wants to be told one.
    raw.headers['content-type'] = 'application/octet-stream';
  });
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser('*', (_request, payload, done) => done(null, payload));
};
