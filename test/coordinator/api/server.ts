import type { Server } from 'node:http';
import Fastify, { type FastifyHttpOptions, type FastifyInstance } from 'fastify';
import {
  type RestDependencies,
  restRoutes,
  restServerOptions,
  type TokenCaller,
} from '../../../coordinator/api/routes.ts';
import type { Answered } from '../../../coordinator/gate/bind.ts';
import { InvalidInput, type Operation } from '../../../shared/api/operation.ts';
import { Refusal } from '../../../shared/base/errors.ts';

export const token = 'Bearer known';

/**
 * What the carrying layer is tested with: the parse of the real operations, and a gate that hands
 * back what it read.
 */
const echoing = async (
  operation: Operation,
  _caller: TokenCaller,
  raw: Parameters<Operation['parse']>[0],
): Promise<Answered> => {
  const parsed = operation.parse(raw);
  if (!parsed.ok) throw new InvalidInput(parsed.faults);
  return { body: parsed.value };
};

export type Over = Partial<Omit<RestDependencies<TokenCaller>, 'limiter'>> & {
  readonly limiter?: Partial<RestDependencies<TokenCaller>['limiter']>;
};

export const restServer = async (
  { limiter, ...over }: Over = {},
  options: FastifyHttpOptions<Server> = {},
): Promise<{ readonly app: FastifyInstance; readonly logged: unknown[] }> => {
  const logged: unknown[] = [];
  const app = Fastify({ ...restServerOptions, ...options });
  restRoutes(app, {
    execute: echoing,
    executeOnce: async (...[operation, caller, raw]) => ({
      replayed: false,
      answered: await echoing(operation, caller, raw),
    }),
    authenticate: async (authorization) => {
      if (authorization === undefined) throw new Refusal('token_missing', 'Send a bearer token.');
      if (authorization !== token) throw new Refusal('token_invalid', 'The token is not known.');
      return { token: { id: '019a9c10-4f0e-7b52-9a6d-0c1d5b8f2e31' } };
    },
    limiter: {
      count: () => ({ allowed: true, remaining: 119, reset: 60 }),
      look: () => ({ allowed: true, remaining: 120, reset: 60 }),
      ...limiter,
    },
    log: { error: (entry: unknown) => logged.push(entry) },
    baseUrl: () => 'https://antipode.example.org',
    ...over,
  });
  await app.ready();
  return { app, logged };
};
