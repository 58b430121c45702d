import { mkdir, open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { newId } from '../../shared/base/crypto.ts';
import { codeOf } from '../../shared/base/errors.ts';
import { boundedBody } from '../../shared/base/json.ts';

const uuid = /^[0-9a-f-]{36}$/;

/**
 * The name of the place where a coordinator keeps its files, the same on each start there. Only one
 * coordinator runs there at a time, because its spool is there too. An invalid file is replaced:
 * nothing is claimed under the new name.
 */
export async function ownPlace(folder: string): Promise<string> {
  const file = join(folder, 'place');
  const kept = await readFile(file, 'utf8').catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return '';
    throw error;
  });
  if (uuid.test(kept.trim())) return kept.trim();
  await mkdir(folder, { recursive: true });
  const place = newId();
  const handle = await open(file, 'w', 0o600);
  try {
    await handle.writeFile(`${place}\n`);
    await handle.sync();
  } finally {
    await handle.close();
  }
  return place;
}

/** How a route passes on kept pings of a ping receiver, without knowing more about pings. */
export type TakeForwardedPings = (call: {
  /** The probe that claims to send them. */
  readonly probe: string;
  /**
   * The header `Antipode-<name>`: proxies treat a bare `Signature` as part of a standard of their
   * own.
   */
  readonly header: (name: string) => string | undefined;
  /** Reads the body, which is not read before this is called. */
  readonly body: () => Promise<Uint8Array | 'too_large' | 'cut_off'>;
}) => Promise<{
  readonly status: number;
  readonly text: string;
  readonly headers: Readonly<Record<string, string>>;
}>;

/** Twice what a ping receiver sends at once, and within the limit of most proxies. */
const maxBodyBytes = 512 * 1024;
/** A ping receiver sends it in one go; a stalled sender is not one. */
const defaultTimeoutMs = 5_000;

/**
 * Where a ping receiver that is cut off from the bus delivers its kept pings. It is below the
 * heartbeat address, so that proxies in front of the coordinator let it through; no token is as
 * short as its name.
 */
export function forwardedPingsRoute(
  app: FastifyInstance,
  {
    take,
    patienceMs = defaultTimeoutMs,
  }: { readonly take: TakeForwardedPings; readonly patienceMs?: number },
): void {
  app.register(async (scope) => {
    takeAnyBody(scope);
    scope.post<{ Params: { probe: string } }>(
      '/beat/kept/:probe',
      async ({ raw, params: { probe } }, reply) => {
        const bounded = boundedBody(raw, {
          keep: maxBodyBytes + 1,
          most: maxBodyBytes,
          patienceMs,
        });
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
      },
    );
  });
}

/**
 * Within this scope a body is any bytes, whatever type its sender claims; the server would refuse
 * media types that it cannot read.
 */
function takeAnyBody(scope: FastifyInstance): void {
  scope.addHook('onRequest', async ({ raw }) => {
    // It is not left out, because the server requires one for a QUERY.
    raw.headers['content-type'] = 'application/octet-stream';
  });
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser('*', (_request, payload, done) => done(null, payload));
}

/** How a route passes on a ping, without knowing more about pings. */
type TakePing = (request: {
  readonly method: string;
  readonly address: string;
  /** Reads the body, which is not read before this is called. */
  readonly body: () => Promise<Uint8Array>;
}) => Promise<{
  readonly status: number;
  readonly text: string;
  readonly headers: Readonly<Record<string, string>>;
}>;

/** A longer body is cut off; but the job did run, and its ping counts. The first 10 kB are kept. */
const maxPingBytes = 8 * 1024 * 1024;
const keptBodyBytes = 10_000;
/** How long a body may take; after that the ping counts with the part that came. */
const pingTimeoutMs = 10_000;

/**
 * The heartbeat address at the coordinator: the same grammar and answers as at every probe's ping
 * receiver.
 */
export function pingRoutes(
  app: FastifyInstance,
  { take, patienceMs = pingTimeoutMs }: { readonly take: TakePing; readonly patienceMs?: number },
): void {
  const addresses = async (scope: FastifyInstance): Promise<void> => {
    // Whatever a job's tool says of its body, rightly or wrongly, it is only text to be kept.
    takeAnyBody(scope);
    const answer = async ({ raw }: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
      const body = boundedBody(raw, { keep: keptBodyBytes, most: maxPingBytes, patienceMs });
      reply.type('text/plain; charset=utf-8').header('cache-control', 'no-store');
      const { status, text, headers } = await take({
        method: raw.method ?? 'GET',
        address: raw.url ?? '/',
        body: body.read,
      });
      if (!(await body.finish())) reply.header('connection', 'close');
      return reply.code(status).headers(headers).send(text);
    };
    const method = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];
    scope.route({ method, url: '/*', exposeHeadRoute: false, handler: answer });
    // Methods that the router does not know, such as QUERY, get the same refusal as any other.
    scope.setNotFoundHandler(answer);
  };
  // The second is that of aliases.
  for (const prefix of ['/beat', '/ping']) app.register(addresses, { prefix });
}
