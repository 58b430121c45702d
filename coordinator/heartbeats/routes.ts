import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { boundedBody } from '../../shared/base/json.ts';

/** Within this scope a body is whatever came, whatever its sender says that it is; the server would refuse media types that it cannot read. */
export const takeAnyBody = (scope: FastifyInstance): void => {
  scope.addHook('onRequest', async ({ raw }) => {
    // Not left out: of a QUERY the server wants to be told one.
    raw.headers['content-type'] = 'application/octet-stream';
  });
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser('*', (_request, payload, done) => done(null, payload));
};

/** What a face needs to know of pings that a ping receiver kept: nothing but how to have them taken. */
export type TakeForwardedPings = (call: {
  /** Who says that it sends them. */
  readonly probe: string;
  /** What stands in `Antipode-<name>`: what proxies make of `Signature` by itself is their own standard's. */
  readonly header: (name: string) => string | undefined;
  /** Reads the body, which is left alone until somebody wants it. */
  readonly body: () => Promise<Uint8Array | 'too_large' | 'cut_off'>;
}) => Promise<{ readonly status: number; readonly text: string; readonly headers: Readonly<Record<string, string>> }>;

/** Twice what a ping receiver sends at once, and what a proxy mostly lets through. */
const maxBodyBytes = 512 * 1024;
/** A ping receiver sends it in one go; whoever stalls is none. */
const defaultTimeoutMs = 5_000;

/**
 * Where a ping receiver that is cut off from the bus brings the pings that it keeps. It lies below the heartbeat address, so that whatever stands in
 * front of the coordinator lets it through; no token is as short as its name.
 */
export const forwardedPingsRoute = (
  app: FastifyInstance,
  { take, patienceMs = defaultTimeoutMs }: { readonly take: TakeForwardedPings; readonly patienceMs?: number },
): void => {
  app.register(async (scope) => {
    takeAnyBody(scope);
    scope.post<{ Params: { probe: string } }>('/beat/kept/:probe', async ({ raw, params: { probe } }, reply) => {
      const bounded = boundedBody(raw, { keep: maxBodyBytes + 1, most: maxBodyBytes, patienceMs });
      const body = async (): Promise<Uint8Array | 'too_large' | 'cut_off'> => {
        const bytes = await bounded.read();
        if (bytes.length > maxBodyBytes) return 'too_large';
        return (await bounded.finish()) ? bytes : 'cut_off';
      };
      const header = (name: string): string | undefined => {
        const value = raw.headers[`antipode-${name.toLowerCase()}`];
        return typeof value === 'string' ? value : undefined;
      };
      reply.type('text/plain; charset=utf-8').header('cache-control', 'no-store');
      const { status, text, headers } = await take({ probe, header, body });
      if (!(await bounded.finish())) reply.header('connection', 'close');
      return reply.code(status).headers(headers).send(text);
    });
  });
};

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
const maxPingBytes = 8 * 1024 * 1024;
const keptBodyBytes = 10_000;
/** So long a body may take; then the ping counts with the part that came. */
const pingTimeoutMs = 10_000;

/** The heartbeat address at the coordinator: the same grammar and the same answers as at every probe's ping receiver. */
export const pingRoutes = (
  app: FastifyInstance,
  { take, patienceMs = pingTimeoutMs }: { readonly take: TakePing; readonly patienceMs?: number },
): void => {
  app.register(
    async (scope) => {
      // Whatever a job's tool says of its body, or says wrongly, it is only text to be kept.
      takeAnyBody(scope);
      const answer = async ({ raw }: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
        const body = boundedBody(raw, { keep: keptBodyBytes, most: maxPingBytes, patienceMs });
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
