import {
  createSecureServer,
  createServer,
  type Http2SecureServer,
  type Http2Server,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
  type ServerHttp2Stream,
} from 'node:http2';
import { afterAll } from 'vitest';
import type { Minted } from '../../support/certificates.ts';
import { portOf } from '../../support/connections.ts';

/** Servers of HTTP/2 on real sockets. */

type Served = {
  readonly port: number;
  /** The headers of every request so far. */
  readonly requests: IncomingHttpHeaders[];
  /** The connections so far. */
  readonly connections: () => number;
  /** The handshakes that came to nothing. */
  readonly refusals: () => number;
};

export type Serving = {
  /** In the clear without one. */
  readonly certificate?: Minted;
  /** How it answers HTTP/1.1, if it takes that, too. */
  readonly allowHTTP1?: { readonly status: number; readonly headers: OutgoingHttpHeaders };
  /** The authority of the certificates that it wants of clients. */
  readonly clients?: string;
};

const closing: (() => void)[] = [];
afterAll(() => {
  for (const close of closing) close();
});
const ignored = (): void => undefined;

export const serveHttp2 = async (
  answer: (stream: ServerHttp2Stream, headers: IncomingHttpHeaders, body: Buffer) => void,
  { certificate, allowHTTP1, clients }: Serving = {},
): Promise<Served> => {
  const requests: IncomingHttpHeaders[] = [];
  let connections = 0;
  let refusals = 0;
  const server: Http2Server | Http2SecureServer = certificate
    ? createSecureServer({
        cert: certificate.chain,
        key: certificate.key,
        allowHTTP1: allowHTTP1 !== undefined,
        maxSendHeaderBlockLength: 200_000,
        ...(clients === undefined ? {} : { requestCert: true, ca: [clients] }),
      })
    : createServer();
  server.on(certificate ? 'secureConnection' : 'connection', () => {
    connections += 1;
  });
  server.on('sessionError', ignored);
  server.on('stream', (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
    requests.push(headers);
    stream.on('error', ignored);
    const parts: Buffer[] = [];
    stream.on('data', (part: Buffer) => parts.push(part));
    stream.on('end', () => answer(stream, headers, Buffer.concat(parts)));
  });
  if (allowHTTP1)
    server.on('request', (request: Http2ServerRequest, response: Http2ServerResponse) => {
      if (request.httpVersion !== '1.1') return;
      response.writeHead(allowHTTP1.status, allowHTTP1.headers);
      response.end('by HTTP/1.1');
    });
  // A client that offers none of our protocols is told so by the handshake.
  server.on('tlsClientError', () => {
    refusals += 1;
  });
  const port = await portOf(server);
  closing.push(() => server.close());
  return { port, requests, connections: () => connections, refusals: () => refusals };
};
