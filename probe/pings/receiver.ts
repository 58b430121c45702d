import { once } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { backoff } from '../../shared/base/async.ts';
import { boundedBody } from '../../shared/base/json.ts';
import type { Log } from '../../shared/base/log.ts';
import type { Clock } from '../../shared/base/time.ts';
import { signatureOf } from '../../shared/bus/identity.ts';
import { forwardedPingsReply, type Headers, maxForwardedPings } from '../../shared/bus/messages.ts';
import type { Key } from '../../shared/bus/nkeys.ts';
import type { SpooledPing } from '../../shared/bus/ping-spool.ts';
import type { PingForwarding, PingReply, PingRequest } from '../../shared/bus/pings.ts';
import { keptBodyBytes } from '../../shared/checks/heartbeat/state.ts';
import { post } from '../presence/signal.ts';

/**
 * How pings leave a ping receiver that is cut off from the bus, but not from the Internet. It sends
 * them, signed, to the coordinator's own address, below the path of heartbeats. The judging probes
 * then see them on the bus as if the ping receiver had published them; otherwise they would call a
 * punctual job late.
 *
 * After no coordinator answered, or it accepted nothing, it rests, longer each time.
 */
type Dependencies = {
  readonly probe: string;
  readonly key: Key;
  /** The coordinator's address; empty until it is known. */
  readonly baseUrl: () => string;
  readonly clock: Clock;
  /** Who may have signed the coordinator's certificate, besides those that this machine trusts. */
  readonly authorities: string | undefined;
};

const patienceMs = 15_000;
const firstRestMs = 1_000;
const longestRestMs = 15_000;

export function createPingForwarding({
  probe,
  key,
  baseUrl,
  clock,
  authorities,
}: Dependencies): PingForwarding {
  const closing = new AbortController();
  let failures = 0;
  let restsUntil = Number.NEGATIVE_INFINITY;

  const bring = async (
    waiting: readonly SpooledPing[],
    leaving: AbortSignal,
  ): Promise<ReadonlySet<string>> => {
    const address = addressFor(baseUrl(), probe);
    if (address === null) throw new Error('the address of the coordinator is not known yet');
    const pings = frontOf(waiting).join();
    const body = Buffer.from(
      `{"v":1,"probe":"${probe}","sent_at":${clock.now()},"beats":[${pings}]}`,
    );
    const signal = AbortSignal.any([closing.signal, leaving, AbortSignal.timeout(patienceMs)]);
    const { status, text } = await post(address, {
      headers: headersOf(signatureOf(key, body)),
      body,
      signal,
      authorities,
    });
    if (status !== 200)
      throw new Error(
        `the coordinator at ${address.origin} answered ${status}: ${text.slice(0, 200)}`,
      );
    const done = new Set(forwardedPingsReply.parse(JSON.parse(text)).done);
    if (!waiting.some(({ ping }) => done.has(ping.id)))
      throw new Error(`the coordinator at ${address.origin} took none of them`);
    return done;
  };

  return {
    isOpen: () =>
      !closing.signal.aborted &&
      performance.now() >= restsUntil &&
      addressFor(baseUrl(), probe) !== null,
    handOver: async (waiting, leaving) => {
      try {
        const handed = await bring(waiting, leaving);
        failures = 0;
        return { handed, failures: [] };
      } catch (error) {
        if (leaving.aborted) throw error;
        restsUntil = performance.now() + backoff(failures, firstRestMs, longestRestMs);
        failures += 1;
        throw error;
      }
    },
    close: () => closing.abort(),
  };
}

function addressFor(baseUrl: string, probe: string): URL | null {
  return /^https?:/.test(baseUrl)
    ? URL.parse(`${baseUrl.replace(/\/+$/, '')}/beat/kept/${probe}`)
    : null;
}

/** Below the limit of any proxy, and half of what the coordinator reads. */
const maxBytes = 256 * 1024;

/** The first pings, as many as fit into one call, in wire format. */
function frontOf(waiting: readonly SpooledPing[]): string[] {
  const texts: string[] = [];
  let bytes = 0;
  for (const { ping } of waiting.slice(0, maxForwardedPings)) {
    const text = JSON.stringify(ping);
    bytes += Buffer.byteLength(text) + 1;
    if (texts.length > 0 && bytes > maxBytes) break;
    texts.push(text);
  }
  return texts;
}

function headersOf(signature: Headers): Headers {
  return {
    'content-type': 'application/json',
    ...Object.fromEntries(
      Object.entries(signature).map(([name, value]) => [`antipode-${name.toLowerCase()}`, value]),
    ),
  };
}

/**
 * The heartbeat address of a probe: plain HTTP behind a TLS proxy. It knows nothing of pings: it
 * reads a bounded request, passes it on, and answers.
 */
export type PingReceiver = { readonly address: string; readonly close: () => Promise<void> };

/**
 * A longer body is not read, and its sender is disconnected. The job did run, so its ping counts.
 * Far less of the body is kept.
 */
const maxBodyBytes = 8 * 1024 * 1024;

/** How long a body may take in ms; then the ping counts with the part that came. */
const defaultTimeoutMs = 10_000;
const headersTimeout = 5_000;

const broken: PingReply = { status: 500, text: 'Failed', headers: {} };

export async function startPingReceiver(options: {
  readonly host: string;
  readonly port: number;
  readonly take: (request: PingRequest) => Promise<PingReply>;
  readonly log: Log;
  readonly patienceMs?: number;
}): Promise<PingReceiver> {
  const { host, port, take, log, patienceMs = defaultTimeoutMs } = options;
  // Loading it takes 10 MiB, which a probe without a receiver does not need.
  const { createServer } = await import('node:http');
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
  if (bound === null || typeof bound === 'string') throw new Error('the ping receiver has no port');
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
}

function send(
  response: ServerResponse,
  isHead: boolean,
  { status, text, headers }: PingReply,
): void {
  const body = Buffer.from(text);
  response.writeHead(status, {
    'content-type': 'text/plain; charset=utf-8',
    'content-length': body.length,
    'cache-control': 'no-store',
    ...headers,
  });
  response.end(isHead ? undefined : body);
}
