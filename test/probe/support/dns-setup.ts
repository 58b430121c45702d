import { afterAll, afterEach } from 'vitest';
import { createUdpSockets, type UdpSockets } from '../../../probe/checks/dns/sockets.ts';
import type { Config } from '../../../shared/checks/assignment.ts';
import type { Verdict } from '../../../shared/checks/result.ts';
import { type Asked, answerTo, type Resolver, startResolver } from '../../support/name-servers.ts';
import { dnsChecker } from './checkers.ts';

/**
 * For a test file: sockets of its own, resolvers that end with their test, and checks against them.
 */
type DnsBench = {
  readonly sockets: UdpSockets;
  readonly resolver: (
    say: (asked: Asked) => Buffer | readonly Buffer[] | null,
    options?: { readonly tcp?: boolean },
  ) => Promise<Resolver>;
  readonly ask: (by: Resolver, config?: Config, timeout_ms?: number) => Promise<Verdict>;
};

export const dnsBench = (): DnsBench => {
  const sockets = createUdpSockets();
  const open: Resolver[] = [];
  afterAll(() => sockets.close());
  afterEach(async () => {
    await Promise.all(open.splice(0).map((one) => one.close()));
  });
  return {
    sockets,
    resolver: async (say, options = {}) => {
      const made = await startResolver(say, options);
      open.push(made);
      return made;
    },
    ask: (by, config = {}, timeout_ms = 2_000) =>
      dnsChecker(sockets)({
        target: 'example.test',
        timeout_ms,
        config: { resolver: by.address, ...config },
      }),
  };
};

/** The honest answer to what these tests ask. */
export const address = (query: Buffer, more: Parameters<typeof answerTo>[1] = {}): Buffer =>
  answerTo(query, {
    answers: [{ type: 'A', name: 'example.test', ttl: 300, data: '192.0.2.1' }],
    ...more,
  });

/** The class of its cause, or its outcome where there is none. */
export const word = (verdict: Verdict): string => verdict.cause?.class ?? verdict.outcome;
