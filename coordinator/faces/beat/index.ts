import type { FastifyInstance } from 'fastify';
import { type BoundedBody, readBounded } from '../../../shared/base/bounded-body.ts';

/** What a face needs to know of beats: nothing but how to have one taken. */
export type TakeBeat = (request: { readonly method: string; readonly address: string; readonly body: Uint8Array }) => Promise<{
  readonly status: number;
  readonly text: string;
  readonly headers: Readonly<Record<string, string>>;
}>;

/** More than this is not read, and its sender cut off; but the job did run, and its beat counts. The first 10 kB are kept. */
const mostBodyBytes = 8 * 1024 * 1024;
const keptBodyBytes = 10_000;
/** So long a body may take; then the beat counts with the part that came. */
const usualPatienceMs = 10_000;

const nothing: BoundedBody = { kept: new Uint8Array(), isWhole: true };

/** The heartbeat address at the coordinator: the same grammar and the same answers as at every probe's ear. */
export const beatRoutes = (
  app: FastifyInstance,
  { take, patienceMs = usualPatienceMs }: { readonly take: TakeBeat; readonly patienceMs?: number },
): void => {
  app.register(async (scope) => {
    // Whatever media type a job's tool happens to name, its body is only text to be kept.
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', (_request, payload, done) => {
      readBounded(payload, { keep: keptBodyBytes, most: mostBodyBytes, patienceMs }).then((body) => done(null, body), done);
    });
    scope.route<{ Body: BoundedBody | undefined }>({
      method: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'],
      url: '/beat/*',
      exposeHeadRoute: false,
      handler: async (request, reply) => {
        const { kept, isWhole } = request.body ?? nothing;
        reply.type('text/plain; charset=utf-8').header('cache-control', 'no-store');
        if (!isWhole) reply.header('connection', 'close');
        const { status, text, headers } = await take({ method: request.method, address: request.raw.url ?? '/', body: kept });
        return reply.code(status).headers(headers).send(text);
      },
    });
  });
};
