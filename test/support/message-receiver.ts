/** A receiver of messages on loopback that keeps what it gets and answers as a test says, however badly. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Outgoing, OutgoingRequest } from '../../coordinator/notifications/kinds/types.ts';

export type Got = {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
  /** By which of the machine's addresses it came. */
  readonly at: string;
};

export type Behaviour = (response: ServerResponse, got: Got) => void;

export type Receiver = {
  readonly url: string;
  readonly port: number;
  readonly got: readonly Got[];
  /** Connections so far, and the most that stood at once. */
  readonly connections: () => number;
  readonly mostAtOnce: () => number;
  readonly answer: (behaviour: Behaviour) => void;
  readonly close: () => Promise<void>;
};

export const says =
  (status: number, body: unknown = '', headers: { readonly [name: string]: string } = {}): Behaviour =>
  (response) => {
    response.writeHead(status, headers);
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  };

export const hangs: Behaviour = () => undefined;

/** Its head is whole and its body is not. */
export const breaksOff =
  (status: number): Behaviour =>
  (response) => {
    response.writeHead(status, { 'content-length': '1000' });
    response.write('{"half":', () => response.destroy());
  };

export const openReceiver = async (
  parts: { readonly host?: string; readonly tls?: { readonly certificate: string; readonly key: string } } = {},
): Promise<Receiver> => {
  const got: Got[] = [];
  let behaviour: Behaviour = says(200);
  let connections = 0;
  let now = 0;
  let most = 0;
  const take = (request: IncomingMessage, response: ServerResponse): void => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('error', () => undefined); // Who hangs up in the middle is no fault of a receiver.
    request.on('end', () => {
      const { method = '', url = '', headers, socket } = request;
      const one = { method, path: url, headers, body: Buffer.concat(chunks), at: socket.localAddress ?? '' };
      got.push(one);
      behaviour(response, one);
    });
  };
  const server = parts.tls === undefined ? createServer(take) : createTlsServer({ cert: parts.tls.certificate, key: parts.tls.key }, take);
  server.on('connection', (socket) => {
    connections += 1;
    now += 1;
    most = Math.max(most, now);
    socket.on('close', () => {
      now -= 1;
    });
  });
  server.on('tlsClientError', () => undefined); // One who does not trust us says so and goes.
  const listening = Promise.withResolvers<void>();
  server.listen(0, parts.host ?? '127.0.0.1', () => listening.resolve());
  await listening.promise;
  const { port } = server.address() as AddressInfo;
  return {
    url: `${parts.tls === undefined ? 'http' : 'https'}://${parts.host ?? '127.0.0.1'}:${port}`,
    port,
    got,
    connections: () => connections,
    mostAtOnce: () => most,
    answer: (next) => {
      behaviour = next;
    },
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
};

/** The same message, to this receiver instead of the vendor's own address. */
export const redirected = (outgoing: Outgoing, to: string): Outgoing => {
  const at = (url: string): string => {
    const { pathname, search } = new URL(url);
    return `${to}${pathname}${search}`;
  };
  if (outgoing.by === 'mail') return outgoing;
  if (outgoing.by === 'push') return { ...outgoing, endpoint: at(outgoing.endpoint) };
  const moved = (request: OutgoingRequest): OutgoingRequest => {
    const { afterwards, ...rest } = request;
    return { ...rest, url: at(request.url), ...(afterwards === undefined ? {} : { afterwards: moved(afterwards) }) };
  };
  return moved(outgoing);
};
