import { once } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { boundedBody } from '../../shared/base/json.ts';
import type { Log } from '../../shared/base/log.ts';
import type { PingReply, PingRequest } from '../../shared/bus/pings.ts';
import { keptBodyBytes } from '../../shared/checks/heartbeat/state.ts';

/**
 * The heartbeat address of a probe: plain HTTP behind a TLS proxy. It knows nothing of pings: it
 * reads a bounded request, passes it on, and answers.
 */
export type PingReceiver = { readonly address: string; readonly close: () => Promise<void> };

/**
 * Importing the module would load all of its exports, and with them undici: 40 ms of a core, and
 * its memory.
 */
const { createServer } = process.getBuiltinModule('node:http');

/**
 * A longer body is not read, and its sender is disconnected. The job did run, so its ping counts.
 * Far less of the body is kept.
 */
const maxBodyBytes = 8 * 1024 * 1024;

/** How long a body may take in ms; then the ping counts with the part that came. */
const defaultTimeoutMs = 10_000;
const headersTimeout = 5_000;

const send = (response: ServerResponse, isHead: boolean, { status, text, headers }: PingReply): void => {
  const body = Buffer.from(text);
  response.writeHead(status, {
    'content-type': 'text/plain; charset=utf-8',
    'content-length': body.length,
    'cache-control': 'no-store',
    ...headers,
  });
  response.end(isHead ? undefined : body);
};

const broken: PingReply = { status: 500, text: 'Failed', headers: {} };

export const startPingReceiver = async (options: {
  readonly host: string;
  readonly port: number;
  readonly take: (request: PingRequest) => Promise<PingReply>;
  readonly log: Log;
  readonly patienceMs?: number;
}): Promise<PingReceiver> => {
  const { host, port, take, log, patienceMs = defaultTimeoutMs } = options;
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const method = request.method ?? 'GET';
    const body = boundedBody(request, { keep: keptBodyBytes, most: maxBodyBytes, patienceMs });
    const reply = await take({ method, address: request.url ?? '/', body: body.read });
    if (!(await body.finish())) response.setHeader('connection', 'close');
    send(response, method === 'HEAD', reply);
  };
  const server: Server = createServer(
    {
      maxHeaderSize: 8_192,
      // The server's own request limit, after which no answer is sent, is longer than ours.
      requestTimeout: patienceMs + 2 * headersTimeout,
      headersTimeout,
      // The default checks only twice a minute: silent connections could then block the ping
      // receiver.
      connectionsCheckingInterval: 1_000,
      keepAliveTimeout: 5_000,
    },
    (request, response) => {
      answer(request, response).catch((error: unknown) => {
        // A caller that went away is no fault of ours, and no one is left to answer.
        if (request.destroyed && !request.complete) return;
        log.error({ err: error }, 'could not answer a ping');
        if (!response.headersSent) send(response, false, broken);
      });
    },
  );
  // Anyone may open connections, so their number is bounded by what a machine can hold.
  server.maxConnections = 2_000;
  server.listen(port, host);
  await once(server, 'listening');
  const bound = server.address();
  if (bound === null || typeof bound === 'string') throw new Error('the ear has no port');
  const shown = bound.family === 'IPv6' ? `[${bound.address}]` : bound.address;
  return {
    address: `http://${shown}:${bound.port}`,
    close: async () => {
      server.close();
      server.closeIdleConnections();
      const timer = setTimeout(() => server.closeAllConnections(), 2_000);
      await once(server, 'close').finally(() => clearTimeout(timer));
    },
  };
};
