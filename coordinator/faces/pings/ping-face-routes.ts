import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { boundedBody } from '../../../shared/base/json.ts';
import { takeAnyBody } from './ping-face-any-body.ts';

/** What a face needs to know of pings: nothing but how to have one taken. */
export type TakePing = (request: {
  readonly method: string;
  readonly address: string;
  /** Reads the body, which is left alone until somebody wants it. */
  readonly body: () => Promise<Uint8Array>;
}) => Promise<{
  readonly status: number;
  readonly text: string;
  readonly headers: Readonly<Record<string, string>>;
}>;

/** More than this is not read, and its sender cut off; but the job did run, and its ping counts. The first 10 kB are kept. */
const mostBodyBytes = 8 * 1024 * 1024;
const keptBodyBytes = 10_000;
/** So long a body may take; then the ping counts with the part that came. */
const usualPatienceMs = 10_000;

/** The heartbeat address at the coordinator: the same grammar and the same answers as at every probe's ping receiver. */
export const pingRoutes = (
  app: FastifyInstance,
  { take, patienceMs = usualPatienceMs }: { readonly take: TakePing; readonly patienceMs?: number },
): void => {
  app.register(
    async (scope) => {
      // Whatever a job's tool says of its body, or says wrongly, it is only text to be kept.
      takeAnyBody(scope);
      const answer = async ({ raw }: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
        const body = boundedBody(raw, { keep: keptBodyBytes, most: mostBodyBytes, patienceMs });
        reply.type('text/plain; charset=utf-8').header('cache-control', 'no-store');
        const { status, text, headers } = await take({ method: raw.method ?? 'GET', address: raw.url ?? '/', body: body.read });
        if (!(await body.finish())) reply.header('connection', 'close');
        return reply.code(status).headers(headers).send(text);
      };
      const method = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];
      scope.route({ method, url: '/*', exposeHeadRoute: false, handler: answer });
      // Methods that the router has no word for, such as QUERY, are refused in the same words as any other.
      scope.setNotFoundHandler(answer);
    },
    { prefix: '/beat' },
  );
};
