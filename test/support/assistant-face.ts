/** For test files: the address of assistants, with the gate behind it and the protocol's own client before it. */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import Fastify from 'fastify';
import { afterAll, beforeAll } from 'vitest';
import { restServerOptions } from '../../coordinator/api/routes.ts';
import { createConnections } from '../../coordinator/assistants/connections.ts';
import { type AssistantDependencies, assistantRoutes } from '../../coordinator/assistants/mcp-routes.ts';
import { createRateLimiter } from '../../coordinator/gate/rate-limit.ts';
import type { Scope } from '../../coordinator/organisations/model.ts';
import { createLog } from '../../shared/base/log.ts';
import { connectAssistant } from './assistants.ts';
import type { GateBench } from './gate.ts';
import { type Person, testSecretKey } from './people.ts';

export type Era = 'legacy' | 'auto';

export type Connected = { readonly connection: string; readonly token: string };

export type AssistantFace = {
  readonly url: string;
  /** Faults of our own that went to the log. */
  readonly logged: readonly unknown[];
  readonly connect: (who: Person, scope?: Scope) => Promise<Connected>;
  readonly clientOf: (connected: Connected, era?: Era, options?: ConstructorParameters<typeof Client>[1]) => Promise<Client>;
  /** One message without a client: what a stranger's program sends. */
  readonly post: (connected: Connected | undefined, body: unknown, headers?: Readonly<Record<string, string>>) => Promise<Response>;
  /** What happens before the gate is asked the next time. */
  between: ((operation: string) => Promise<void>) | undefined;
  /** Who is taken to be calling when nobody says so: judges from outside sign in nowhere. */
  letIn: Connected | undefined;
};

const open = async (bench: GateBench, { perMinute = 1_000_000 } = {}) => {
  const clock = { now: () => bench.now };
  const log = createLog({ name: 'assistants', level: 'silent' });
  let baseUrl = '';
  const parts = { sql: bench.sql, clock, log };
  const connections = createConnections({ ...parts, secretKey: testSecretKey, baseUrl: () => baseUrl });
  const limiter = createRateLimiter({ ...parts, perMinute });
  const logged: unknown[] = [];
  const app = Fastify(restServerOptions);
  const clients: Client[] = [];
  const face: AssistantFace = {
    get url() {
      return baseUrl;
    },
    logged,
    between: undefined,
    letIn: undefined,
    connect: (who, scope = 'read_write') => connectAssistant(bench.sql, who, { baseUrl, scope, now: bench.now }),
    clientOf: async ({ token }, mode = 'auto', options = {}) => {
      const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode }, ...options });
      const requestInit = { headers: { authorization: `Bearer ${token}` } };
      await client.connect(new StreamableHTTPClientTransport(new URL(`${baseUrl}/mcp`), { requestInit }));
      clients.push(client);
      return client;
    },
    post: (connected, body, headers = {}) =>
      fetch(`${baseUrl}/mcp`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          ...(connected === undefined ? {} : { authorization: `Bearer ${connected.token}` }),
          ...headers,
        },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      }),
  };
  const execute: AssistantDependencies['execute'] = async (operation, caller, raw) => {
    await face.between?.(operation.id);
    return bench.gate.execute(operation, caller, raw);
  };
  app.addHook('onRequest', async (request) => {
    if (face.letIn !== undefined) request.headers.authorization ??= `Bearer ${face.letIn.token}`;
  });
  assistantRoutes(app, {
    ...{ execute, callerOf: connections.callerOf, limiter, clock, baseUrl: () => baseUrl },
    log: { error: (entry: unknown) => logged.push(entry) },
  });
  baseUrl = await app.listen({ port: 0, host: '127.0.0.1' });
  return {
    face,
    close: async () => {
      await Promise.all(clients.map((client) => client.close()));
      await app.close();
      await limiter.close();
      await connections.close();
    },
  };
};

/** A face for all tests of a file, over a bench that was made for them before. */
export const assistantFace = (bench: GateBench, options?: { readonly perMinute?: number }): { readonly face: AssistantFace } => {
  let made: Awaited<ReturnType<typeof open>> | undefined;
  beforeAll(async () => {
    made = await open(bench, options);
  });
  afterAll(() => made?.close());
  return {
    get face() {
      if (!made) throw new Error('the face is there in tests and beforeAll only');
      return made.face;
    },
  };
};

/** Of a modern request: what each carries. */
export const envelope = (more: Readonly<Record<string, unknown>> = {}) => ({
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
  ...more,
});

export const textsOf = (answer: unknown): string => {
  const content: unknown = typeof answer === 'object' && answer !== null ? Reflect.get(answer, 'content') : undefined;
  return (Array.isArray(content) ? content : []).map((part: unknown) => String(Object(part).text ?? '')).join('\n');
};
