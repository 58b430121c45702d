import type { IncomingMessage, ServerResponse } from 'node:http';
import { connect, Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { trustHere } from '../../shared/base/network.ts';
import { addressHeader, busPath } from '../../shared/bus/websocket.ts';

/**
 * The way to the bus at BASE_URL/bus, for probes that can reach port 443 alone. A websocket is
 * passed on, byte by byte, to the websocket listener of nats-server, which knows users and rights.
 * Of the request goes on only what a websocket needs, and always to the path for clients:
 * nats-server has others, for leaf nodes and MQTT. Its answer gets one line more: where the probe
 * comes from, which nats-server does not see.
 *
 * Modes of a connection: `opening` (for 3 s, in which nats-server closes one that does not sign in)
 * → `open` (until either side ends it) → closed.
 */
export type BusEntrance = {
  /** Ends all connections; probes come in again by another coordinator. */
  readonly close: () => void;
};

const openingMs = 3_000;
/** In all, and of one address, which may be the proxy of a whole company. */
const mostOpening = { all: 1_024, ofOne: 256 } as const;
const mostOpen = 10_000;

/** For the HTTP server: what else asks for an upgrade is answered as if it did not. */
export function isForBus({ url = '', headers }: IncomingMessage): boolean {
  return url.split('?', 1)[0] === busPath && /^websocket$/i.test(headers.upgrade ?? '');
}

/** What nats-server needs to know of a request. Everything else stays here. */
const passedOn = ['sec-websocket-key', 'sec-websocket-version'] as const;

type Way = { readonly from: Socket; readonly head: Buffer; readonly response: ServerResponse };

export async function busEntrance(
  web: FastifyInstance,
  {
    servers,
    ca,
    proven,
  }: {
    /** The websocket listeners of the bus; where there are none, probes come by TCP alone. */
    readonly servers: readonly URL[];
    readonly ca: string | undefined;
    /** What a probe is told of its address, with a proof. */
    readonly proven: (address: string) => string;
  },
): Promise<BusEntrance> {
  const { ServerResponse: Answer } = await import('node:http');
  const ways = new WeakMap<IncomingMessage, Way>();
  const opening = new Map<string, number>();
  const open = new Set<Socket>();
  let turn = 0;

  const count = (address: string, by: 1 | -1): void => {
    const now = (opening.get(address) ?? 0) + by;
    if (now === 0) opening.delete(address);
    else opening.set(address, now);
  };
  const isFull = (address: string): boolean =>
    open.size >= mostOpen ||
    (opening.get(address) ?? 0) >= mostOpening.ofOne ||
    [...opening.values()].reduce((sum, of) => sum + of, 0) >= mostOpening.all;

  const passOn = (server: URL, { from, head }: Way, { raw, ip }: FastifyRequest): void => {
    const to = dial(server, ca);
    open.add(from);
    count(ip, 1);
    let isOpening = true;
    const opened = (): void => {
      if (isOpening) count(ip, -1);
      isOpening = false;
      clearTimeout(timer);
    };
    const timer = setTimeout(() => {
      if (to.bytesRead === 0) to.destroy(new Error('no answer'));
      opened();
    }, openingMs);
    to.once('error', () => {
      if (to.bytesRead === 0) from.write(unreachable);
    });
    for (const [one, other] of [
      [from, to],
      [to, from],
    ] as const) {
      one.once('error', () => one.destroy());
      one.once('close', () => {
        opened();
        open.delete(from);
        other.destroySoon();
      });
    }
    to.write(requestFor(server, raw, ip));
    to.write(head);
    from.pipe(to);
    to.once('data', (begins: Buffer) => {
      from.write(withLine(begins, `${addressHeader}: ${proven(ip)}`));
      to.pipe(from);
    });
  };

  web.server.on('upgrade', (request, from, head) => {
    if (!(from instanceof Socket)) {
      from.destroy();
      return;
    }
    from.on('error', () => from.destroy());
    from.setTimeout(0).setNoDelay();
    const response = new Answer(request);
    response.assignSocket(from);
    // Of what is refused here; the server itself has let go of the connection.
    response.shouldKeepAlive = false;
    response.once('finish', () => from.destroySoon());
    ways.set(request, { from, head, response });
    web.routing(request, response);
  });
  web.get(busPath, (request, reply) => {
    const server = servers[turn++ % servers.length];
    if (server === undefined) return reply.callNotFound();
    const way = ways.get(request.raw);
    if (way === undefined)
      return refuse(reply, 426, 'Probes come here by a websocket.', { upgrade: 'websocket' });
    if (isFull(request.ip))
      return refuse(reply, 503, 'Too many are coming in; try again.', { 'retry-after': '5' });
    reply.hijack();
    way.response.detachSocket(way.from);
    passOn(server, way, request);
  });
  return {
    close: () => {
      for (const from of open) from.destroy();
    },
  };
}

function refuse(
  reply: FastifyReply,
  status: number,
  words: string,
  headers: Readonly<Record<string, string>>,
): FastifyReply {
  return reply
    .code(status)
    .headers({ ...headers, connection: 'close' })
    .send(`${words}\n`);
}

/** An answer with one line of head more, if it lets the websocket in. */
function withLine(begins: Buffer, line: string): Buffer {
  const end = begins.indexOf('\r\n');
  if (end < 0 || !begins.toString('latin1', 0, end).startsWith('HTTP/1.1 101 ')) return begins;
  return Buffer.concat([
    begins.subarray(0, end + 2),
    Buffer.from(`${line}\r\n`),
    begins.subarray(end + 2),
  ]);
}

const unreachable = 'HTTP/1.1 502 Bad Gateway\r\nconnection: close\r\ncontent-length: 0\r\n\r\n';

function dial({ protocol, hostname, port }: URL, ca: string | undefined): Socket {
  const host = hostname.replace(/^\[|\]$/g, '');
  if (protocol === 'ws:') return connect({ host, port: Number(port || 80), noDelay: true });
  return connectTls({
    host,
    port: Number(port || 443),
    ...(ca === undefined ? { secureContext: trustHere() } : { ca }),
  });
}

function requestFor({ host }: URL, { headers }: IncomingMessage, ip: string): string {
  const kept = passedOn.map((name) => `${name}: ${String(headers[name] ?? '')}\r\n`).join('');
  return `GET / HTTP/1.1\r\nhost: ${host}\r\nupgrade: websocket\r\nconnection: Upgrade\r\nx-forwarded-for: ${ip}\r\n${kept}\r\n`;
}
