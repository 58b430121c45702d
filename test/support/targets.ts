import {
  createServer as createHttp,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
} from 'node:http';
import { createServer as createHttps } from 'node:https';
import { type AddressInfo, createServer as createTcp, type Server, type Socket } from 'node:net';
import { type Continent, continents } from '../../shared/base/continents.ts';
import type { Minted } from './certificates.ts';

/**
 * Targets on loopback for real checks. They tell probes apart by the User-Agent that every check
 * sends, so that a test can break a continent's view alone.
 */

export type Hit = {
  readonly at: number;
  readonly method: string;
  readonly url: string;
  readonly continent: Continent | null;
  readonly agent: string;
};

/** What can be told to a target that runs elsewhere. */
export type PlainAnswer =
  | {
      readonly is: 'status';
      readonly status: number;
      readonly headers?: Readonly<Record<string, string>>;
      readonly body?: string;
    }
  /** Takes the request and never answers. */
  | { readonly is: 'hang' }
  /** Closes the connection without a word. */
  | { readonly is: 'drop' }
  /** As it is called: by the name of its host alone, without a port. */
  | {
      readonly is: 'hosts';
      readonly named: Readonly<Record<string, PlainAnswer>>;
      readonly others: PlainAnswer;
    };

export type Answer =
  | PlainAnswer
  | {
      readonly is: 'by';
      readonly answer: (request: IncomingMessage, response: ServerResponse) => void;
    };

export const fine: PlainAnswer = { is: 'status', status: 200, body: 'fine' };
export const broken: PlainAnswer = { is: 'status', status: 503, body: 'broken' };

export type Target = {
  readonly port: number;
  readonly address: string;
  readonly url: (path?: string) => string;
  /** Requests in the order in which they came. */
  readonly hits: Hit[];
  /** Connections that were ever opened, asked for or not. */
  readonly connections: () => number;
  /** What everybody gets, or only those from these continents; the latest word counts. */
  readonly answer: (answer: Answer, from?: readonly Continent[]) => void;
  /** From now on it shows this certificate. At no moment does it refuse a connection. */
  readonly show: (certificate: Minted) => void;
  readonly close: () => Promise<void>;
};

const continentOf = (request: IncomingMessage): Continent | null => {
  const named = /continent=([A-Za-z ]+)\)/.exec(request.headers['user-agent'] ?? '')?.[1];
  return continents.find((continent) => continent === named) ?? null;
};

const give = (answer: Answer, request: IncomingMessage, response: ServerResponse): void => {
  if (answer.is === 'status')
    response.writeHead(answer.status, answer.headers).end(answer.body ?? '');
  else if (answer.is === 'drop') request.socket.destroy();
  else if (answer.is === 'hosts')
    give(
      answer.named[request.headers.host?.replace(/:\d+$/, '') ?? ''] ?? answer.others,
      request,
      response,
    );
  else if (answer.is === 'by') answer.answer(request, response);
};

type Listening = {
  readonly port: number;
  readonly connections: () => number;
  readonly close: () => Promise<void>;
};

/** Listens on a port of the system's choice, counts connections, and closes with all of them. */
const listen = (server: Server, host: string, port: number): Promise<Listening> =>
  new Promise((resolve, reject) => {
    const open = new Set<Socket>();
    let count = 0;
    server.on('connection', (socket: Socket) => {
      count += 1;
      open.add(socket);
      socket.on('error', () => undefined); // The other side may go at any moment: that is what these targets are for.
      socket.once('close', () => open.delete(socket));
    });
    server.once('error', reject);
    server.listen(port, host, () => {
      const address: AddressInfo | string | null = server.address();
      if (typeof address !== 'object' || address === null)
        return reject(new Error('a server without a port'));
      const close = (): Promise<void> =>
        new Promise((closed) => {
          server.close(() => closed());
          for (const socket of open) socket.destroy();
        });
      resolve({ port: address.port, connections: () => count, close });
    });
  });

export type TargetOptions = {
  readonly onHit?: (hit: Hit) => void;
  readonly host?: string;
  readonly port?: number;
  /** With a certificate it speaks https. */
  readonly certificate?: Minted;
  /** What it shows instead of the certificate's whole chain. */
  readonly shows?: string;
  readonly tls?: {
    readonly minVersion?: 'TLSv1' | 'TLSv1.2' | 'TLSv1.3';
    readonly maxVersion?: 'TLSv1.1' | 'TLSv1.2' | 'TLSv1.3';
    readonly requestCert?: boolean;
    /** Whose certificates of clients it takes. */
    readonly ca?: string;
    readonly ciphers?: string;
    readonly ecdhCurve?: string;
    readonly ALPNProtocols?: string[];
    readonly SNICallback?: (name: string, done: (error: null) => void) => void;
  };
};

export const startTarget = async (options: TargetOptions = {}): Promise<Target> => {
  const host = options.host ?? '127.0.0.1';
  const hits: Hit[] = [];
  const special = new Map<Continent, Answer>();
  let common: Answer = fine;
  const listener: RequestListener = (request, response) => {
    const continent = continentOf(request);
    const hit = {
      at: Date.now(),
      method: request.method ?? '',
      url: request.url ?? '',
      continent,
      agent: request.headers['user-agent'] ?? '',
    };
    hits.push(hit);
    options.onHit?.(hit);
    give((continent && special.get(continent)) ?? common, request, response);
  };
  const { certificate } = options;
  const https =
    certificate &&
    createHttps(
      {
        cert: options.shows ?? certificate.chain,
        key: certificate.key,
        ...options.tls,
        rejectUnauthorized: options.tls?.requestCert === true,
      },
      listener,
    );
  const server = https ?? createHttp(listener);
  server.on('tlsClientError', () => undefined); // A refused handshake is what some tests want.
  const { port, connections, close } = await listen(server, host, options.port ?? 0);
  const shown = host.includes(':') ? `[${host}]` : host;
  return {
    port,
    address: host,
    url: (path = '/') => `${certificate ? 'https' : 'http'}://${shown}:${port}${path}`,
    hits,
    connections,
    answer: (answer, from) => {
      if (from) for (const continent of from) special.set(continent, answer);
      else {
        special.clear();
        common = answer;
      }
    },
    show: ({ chain, key }) => {
      if (!https) throw new Error('a target without TLS has no certificate to show');
      https.setSecureContext({ ...options.tls, cert: chain, key });
    },
    close,
  };
};

export type RawTarget = Listening & { readonly url: (scheme?: string) => string };

/** A target below http: what it does with a connection is the test's own. */
export const startRawTarget = async (
  onSocket: (socket: Socket) => void,
  host = '127.0.0.1',
  port = 0,
): Promise<RawTarget> => {
  const listening = await listen(createTcp(onSocket), host, port);
  const shown = host.includes(':') ? `[${host}]` : host;
  return { ...listening, url: (scheme = 'http') => `${scheme}://${shown}:${listening.port}/` };
};
