import type { FastifyInstance } from 'fastify';

/** Within this scope a body is whatever came, whatever its sender says that it is; the server would refuse media types that it cannot read. */
export const takeAnyBody = (scope: FastifyInstance): void => {
  scope.addHook('onRequest', async ({ raw }) => {
    delete raw.headers['content-type'];
  });
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser('*', (_request, payload, done) => done(null, payload));
};
