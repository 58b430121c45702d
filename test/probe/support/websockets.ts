import { createHash } from 'node:crypto';
import { createServer as createHttp, type IncomingMessage } from 'node:http';
import { createServer as createHttps } from 'node:https';
import type { Socket } from 'node:net';
import { afterAll } from 'vitest';
import { type ServerOptions, type WebSocket, WebSocketServer } from 'ws';
import type { Minted } from '../../support/certificates.ts';
import { serveRaw } from './observations.ts';

/** Servers of WebSockets on real sockets: one that is as it should be, and one without manners. */

const closing: (() => void)[] = [];
afterAll(() => {
  for (const close of closing) close();
});

export type Served = {
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
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  closing.push(() => {
    for (const client of sockets.clients) client.terminate();
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  return { port: typeof address === 'object' ? (address?.port ?? 0) : 0, requests, closes };
};

const guid = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
const acceptOf = (head: string): string =>
  createHash('sha1')
    .update(`${/^sec-websocket-key: (.*)\r$/im.exec(head)?.[1] ?? ''}${guid}`)
    .digest('base64');

/** The answer to an upgrade with these headers; null leaves one out. */
export const upgraded = (
  head: string,
  changes: Readonly<Record<string, string | null>> = {},
): string => {
  const headers: Readonly<Record<string, string | null>> = {
    Upgrade: 'websocket',
    Connection: 'Upgrade',
    'Sec-WebSocket-Accept': acceptOf(head),
    ...changes,
  };
  const lines = Object.entries(headers).flatMap(([name, value]) =>
    value === null ? [] : [`${name}: ${value}`],
  );
  return ['HTTP/1.1 101 Switching Protocols', ...lines, '', ''].join('\r\n');
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

export const opcodes = { more: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;

/** One frame of a server, as wrong as a test wants it. */
export const frame = (
  opcode: number,
  payload: string | Buffer = '',
  {
    fin = true,
    reserved = 0,
    isMasked = false,
    length,
  }: {
    readonly fin?: boolean;
    readonly reserved?: number;
    readonly isMasked?: boolean;
    /** Says another length than that of the payload. */
    readonly length?: number;
  } = {},
): Buffer => {
  const bytes = Buffer.from(payload);
  const size = length ?? bytes.length;
  const first = (fin ? 0x80 : 0) | (reserved << 4) | opcode;
  const mask = isMasked ? 0x80 : 0;
  const head =
    size < 126
      ? Buffer.from([first, mask | size])
      : size < 65_536
        ? Buffer.from([first, mask | 126, size >> 8, size & 0xff])
        : Buffer.concat([Buffer.from([first, mask | 127]), bigEndian(size)]);
  return Buffer.concat([head, isMasked ? Buffer.alloc(4) : Buffer.alloc(0), bytes]);
};

const bigEndian = (size: number): Buffer => {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(BigInt(size));
  return bytes;
};

export const closeFrame = (code: number, reason = ''): Buffer =>
  frame(opcodes.close, Buffer.concat([Buffer.from([code >> 8, code & 0xff]), Buffer.from(reason)]));
