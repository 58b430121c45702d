import type { FastifyInstance } from 'fastify';
import { readBounded } from '../../../shared/base/bounded-body.ts';

/** What a face needs to know of beats: nothing but how to have one taken. */
export type TakeBeat = (request: { readonly method: string; readonly address: string; readonly body: Uint8Array }) => Promise<{
  readonly status: number;
  readonly text: string;
  readonly headers: Readonly<Record<string, string>>;
}>;

/** More than this is no log of a job any more; of what a job sends, the first 10 kB are kept. */
const mostBodyBytes = 1024 * 1024;
const keptBodyBytes = 10_000;

/** The heartbeat address at the coordinator: the same grammar and the same answers as at every probe's ear. */
export const beatRoutes = (app: FastifyInstance, { take }: { readonly take: TakeBeat }): void => {
  app.register(async (scope) => {
    // Whatever media type a job's tool happens to name, its body is only text to be kept.
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', (_request, payload, done) => {
      readBounded(payload, { keep: keptBodyBytes, most: mostBodyBytes }).then((body) => done(null, body ?? null), done);
    });
    scope.route({
      method: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'],
      url: '/beat/*',
      exposeHeadRoute: false,
      handler: async (request, reply) => {
        const none = request.body === undefined ? new Uint8Array() : null;
        const body = request.body instanceof Uint8Array ? request.body : none;
        reply.type('text/plain; charset=utf-8').header('cache-control', 'no-store');
        if (body === null) return reply.code(413).header('connection', 'close').send('Body too large');
        const { status, text, headers } = await take({ method: request.method, address: request.raw.url ?? '/', body });
        return reply.code(status).headers(headers).send(text);
      },
    });
  });
};
