import { createServer as createHttp, type IncomingMessage } from 'node:http';
import { createServer as createHttps } from 'node:https';
import type { Socket } from 'node:net';
import { afterAll } from 'vitest';
import { type ServerOptions, type WebSocket, WebSocketServer } from 'ws';
import type { Minted } from '../../support/certificates.ts';
import { portOf } from '../../support/connections.ts';
import { upgraded } from '../../support/websocket-frames.ts';
import { serveRaw } from './observations.ts';

/** Servers of WebSockets on real sockets: one that is as it should be, and one without manners. */

const closing: (() => void)[] = [];
afterAll(() => {
  for (const close of closing) close();
});

type Served = {
  readonly port: number;
  /** Requests for an upgrade in the order in which they came. */
  readonly requests: IncomingMessage[];
  /** How each WebSocket was closed. */
  readonly closes: number[];
};

/** A well-kept server, which does with each WebSocket what a test wants. */
export const serveWebsockets = async (
  behave: (client: WebSocket) => void = () => undefined,
  options: ServerOptions & { readonly certificate?: Minted } = {},
): Promise<Served> => {
  const { certificate, ...more } = options;
  const server = certificate
    ? createHttps({ cert: certificate.chain, key: certificate.key, ALPNProtocols: ['http/1.1'] })
    : createHttp();
  const requests: IncomingMessage[] = [];
  const closes: number[] = [];
  const sockets = new WebSocketServer({ ...more, server });
  sockets.on('connection', (client, request) => {
    requests.push(request);
    client.on('close', (code) => closes.push(code));
    client.on('error', () => undefined);
    behave(client);
  });
  const port = await portOf(server);
  closing.push(() => {
    for (const client of sockets.clients) client.terminate();
    server.closeAllConnections();
    server.close();
  });
  return { port, requests, closes };
};

/** Does with each connection what a test wants, once the head of its request is there. */
export const serveHeads = (behave: (socket: Socket, head: string) => void) =>
  serveRaw((socket) => {
    let head = '';
    const take = (part: Buffer): void => {
      head += part.toString('latin1');
      if (!head.endsWith('\r\n\r\n')) return;
      socket.off('data', take);
      // Goes on reading: what is not read keeps the system from telling of the end.
      socket.resume();
      behave(socket, head);
    };
    socket.on('data', take);
  });

/** Accepts each upgrade, then does what a test wants. */
export const serveUpgraded = (behave: (socket: Socket) => void) =>
  serveHeads((socket, head) => {
    socket.write(upgraded(head));
    behave(socket);
  });
