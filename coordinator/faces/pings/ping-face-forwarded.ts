import type { FastifyInstance } from 'fastify';
import { boundedBody } from '../../../shared/base/json.ts';
import { takeAnyBody } from './ping-face-any-body.ts';

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
const mostBodyBytes = 512 * 1024;
/** A ping receiver sends it in one go; whoever stalls is none. */
const usualPatienceMs = 5_000;

/**
 * Where a ping receiver that is cut off from the bus brings the pings that it keeps. It lies below the heartbeat address, so that whatever stands in
 * front of the coordinator lets it through; no token is as short as its name.
 */
export const forwardedPingsRoute = (
  app: FastifyInstance,
  { take, patienceMs = usualPatienceMs }: { readonly take: TakeForwardedPings; readonly patienceMs?: number },
): void => {
  app.register(async (scope) => {
    takeAnyBody(scope);
    scope.post<{ Params: { probe: string } }>('/beat/kept/:probe', async ({ raw, params: { probe } }, reply) => {
      const bounded = boundedBody(raw, { keep: mostBodyBytes + 1, most: mostBodyBytes, patienceMs });
      const body = async (): Promise<Uint8Array | 'too_large' | 'cut_off'> => {
        const bytes = await bounded.read();
        if (bytes.length > mostBodyBytes) return 'too_large';
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
