import { once } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { boundedBody } from '../../shared/base/json.ts';
import type { Log } from '../../shared/base/log.ts';
import type { PingReply, PingRequest } from '../../shared/bus/pings.ts';
import { keptBodyBytes } from '../../shared/checks/heartbeat/state.ts';

/**
 * The heartbeat address of a probe: plain HTTP behind whatever ends TLS there. It knows nothing of pings; it reads a bounded request, has it
 * taken, and answers.
 */
export type PingReceiver = { readonly address: string; readonly close: () => Promise<void> };

/** An import of the module would touch all that it offers, and with that load the whole of undici: 40 ms of a core, and its memory. */
const { createServer } = process.getBuiltinModule('node:http');

/** More than this is not read, and its sender cut off; but the job did run, and its ping counts. What is kept is far less. */
const maxBodyBytes = 8 * 1024 * 1024;

/** So long a body may take; then the ping counts with the part that came. */
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
      // The server's own limit of a request, after which nobody would be answered, lies beyond ours.
      requestTimeout: patienceMs + 2 * headersTimeout,
      headersTimeout,
      // By itself it would look twice a minute only, and whoever opens connections and says nothing would hold the ping receiver shut.
      connectionsCheckingInterval: 1_000,
      keepAliveTimeout: 5_000,
    },
    (request, response) => {
      answer(request, response).catch((error: unknown) => {
        // A caller that went away is no fault of ours, and nobody is left to be told.
        if (request.destroyed && !request.complete) return;
        log.error({ err: error }, 'a beat could not be answered');
        if (!response.headersSent) send(response, false, broken);
      });
    },
  );
  // Strangers may open connections; what a machine can hold of them is bounded.
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
