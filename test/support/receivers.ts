import { createDecipheriv, createECDH, type ECDH, hkdfSync } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { Email } from 'postal-mime';
import PostalMime from 'postal-mime';
import { SMTPServer } from 'smtp-server';
import type { Outgoing, OutgoingRequest } from '../../coordinator/notifications/kinds/types.ts';
import { memberOf } from '../../shared/base/json.ts';
import { mint } from './certificates.ts';
import { portOf } from './connections.ts';
import { eventually } from './eventually.ts';

/**
 * For test files: a real SMTP server that keeps what it takes, and can be told to refuse, or to be
 * away.
 */

type Received = {
  readonly from: string;
  readonly to: readonly string[];
  readonly subject: string;
  /** The plain text, decoded. */
  readonly text: string;
  readonly raw: string;
};

export type Mailbox = {
  readonly url: string;
  readonly received: readonly Received[];
  /** How many connections there were. */
  readonly connections: () => number;
  /** What every recipient is answered from now on; null takes them again. */
  readonly refuse: (answer: { readonly code: number; readonly text: string } | null) => void;
  /** The newest mail to an address; waits for it. */
  readonly newestTo: (address: string, past?: number) => Promise<Received>;
  readonly close: () => Promise<void>;
};

const decoded = (part: string): string => {
  const [head = '', ...body] = part.split('\r\n\r\n');
  const content = body.join('\r\n\r\n');
  if (/content-transfer-encoding: base64/i.test(head))
    return Buffer.from(content, 'base64').toString();
  if (!/content-transfer-encoding: quoted-printable/i.test(head)) return content;
  const bytes = content
    .replaceAll('=\r\n', '')
    .replaceAll(/=([0-9A-F]{2})/g, (_, hex: string) =>
      String.fromCharCode(Number.parseInt(hex, 16)),
    );
  return Buffer.from(bytes, 'latin1').toString();
};

const textOf = (raw: string): string => {
  const boundary = /boundary="?([^"\r\n;]+)/.exec(raw)?.[1];
  const parts = boundary === undefined ? [raw] : raw.split(`--${boundary}`);
  return decoded(parts.find((part) => /content-type: text\/plain/i.test(part))?.trimStart() ?? raw);
};

export const openMailbox = async (): Promise<Mailbox> => {
  const received: Received[] = [];
  let refusal: { readonly code: number; readonly text: string } | null = null;
  let connections = 0;
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    onConnect: (_session, done) => {
      connections += 1;
      done();
    },
    onRcptTo: (_address, _session, done) =>
      done(refusal ? Object.assign(new Error(refusal.text), { responseCode: refusal.code }) : null),
    onData: (stream, session, done) => {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        const raw = Buffer.concat(chunks).toString();
        const { mailFrom, rcptTo } = session.envelope;
        received.push({
          from: mailFrom === false ? '' : mailFrom.address,
          to: rcptTo.map(({ address }) => address),
          subject: /^subject: (.*)$/im.exec(raw)?.[1]?.trim() ?? '',
          text: textOf(raw),
          raw,
        });
        done();
      });
    },
  });
  server.on('error', () => undefined); // A client that goes away in the middle is no fault of a mailbox.
  const port = await portOf(server.server);
  return {
    url: `smtp://127.0.0.1:${port}`,
    received,
    connections: () => connections,
    refuse: (answer) => {
      refusal = answer;
    },
    newestTo: (address, past = 0) =>
      eventually(async () => {
        const found = received.filter(({ to }) => to.includes(address));
        return found.length > past ? found.at(-1) : undefined;
      }),
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
};

/**
 * An SMTP server as a provider runs one: nothing before STARTTLS, nobody without a password, and a
 * no where a test wants it.
 */

export type MailServer = {
  readonly url: string;
  readonly raw: readonly string[];
  /** Whether each mail came over TLS, from whom who had signed in. */
  readonly sessions: readonly { readonly secure: boolean; readonly user: unknown }[];
  readonly newest: () => Promise<Email>;
  readonly refuse: (answer: { readonly code: number; readonly at: 'RCPT' | 'DATA' } | null) => void;
  readonly close: () => Promise<void>;
};

export const openMailServer = async (
  account = { user: 'antipode', password: 'right & proper' },
): Promise<MailServer> => {
  const certificate = mint({ names: ['127.0.0.1'] });
  const raw: string[] = [];
  const sessions: { secure: boolean; user: unknown }[] = [];
  let refusal: { readonly code: number; readonly at: 'RCPT' | 'DATA' } | null = null;
  const no = (at: 'RCPT' | 'DATA'): Error | null =>
    refusal?.at === at
      ? Object.assign(new Error('not this one'), { responseCode: refusal.code })
      : null;
  const server = new SMTPServer({
    cert: certificate.certificate,
    key: certificate.key,
    authMethods: ['PLAIN', 'LOGIN'],
    onAuth: ({ username, password }, session, done) => {
      const isRight = username === account.user && password === account.password && session.secure;
      done(isRight ? null : Object.assign(new Error('who are you'), { responseCode: 535 }), {
        user: account.user,
      });
    },
    onRcptTo: (_address, _session, done) => done(no('RCPT')),
    onData: (stream, session, done) => {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        const error = no('DATA');
        if (error === null) {
          raw.push(Buffer.concat(chunks).toString('latin1'));
          sessions.push({ secure: session.secure, user: session.user });
        }
        done(error);
      });
    },
  });
  server.on('error', () => undefined); // A client that goes away in the middle is no fault of a mailbox.
  const port = await portOf(server.server);
  const { user, password } = account;
  return {
    // Its certificate is nobody's, as inside many a network; what matters here is that it is asked
    // for.
    url: `smtp://${user}:${encodeURIComponent(password)}@127.0.0.1:${port}?requireTLS=true&tls.rejectUnauthorized=false`,
    raw,
    sessions,
    newest: () => PostalMime.parse(Buffer.from(raw.at(-1) ?? '', 'latin1')),
    refuse: (answer) => {
      refusal = answer;
    },
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
};

/**
 * A receiver of messages on loopback that keeps what it gets and answers as a test says, however
 * badly.
 */

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
  (
    status: number,
    body: unknown = '',
    headers: { readonly [name: string]: string } = {},
  ): Behaviour =>
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

/** The text that proves an address, where it is asked for by a webhook of events. */
export const challengeIn = ({ body }: Pick<Got, 'body'>): string | undefined => {
  const text = body.toString();
  if (!text.startsWith('{"type":"webhook.challenge"')) return undefined;
  const asked: unknown = JSON.parse(text);
  const challenge = memberOf(memberOf(asked, 'data'), 'challenge');
  return typeof challenge === 'string' ? challenge : undefined;
};

export const openReceiver = async (
  parts: {
    readonly host?: string;
    readonly tls?: { readonly certificate: string; readonly key: string };
    /** Challenges of webhooks are for the test to answer, too. */
    readonly isChallenged?: boolean;
  } = {},
): Promise<Receiver> => {
  const got: Got[] = [];
  let behaviour: Behaviour = says(200);
  let connections = 0;
  let now = 0;
  let limit = 0;
  const take = (request: IncomingMessage, response: ServerResponse): void => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('error', () => undefined); // Who hangs up in the middle is no fault of a receiver.
    request.on('end', () => {
      const { method = '', url = '', headers, socket } = request;
      const one = {
        method,
        path: url,
        headers,
        body: Buffer.concat(chunks),
        at: socket.localAddress ?? '',
      };
      const text = parts.isChallenged ? undefined : challengeIn(one);
      if (text !== undefined) return void response.end(text);
      got.push(one);
      return behaviour(response, one);
    });
  };
  const server =
    parts.tls === undefined
      ? createServer(take)
      : createTlsServer({ cert: parts.tls.certificate, key: parts.tls.key }, take);
  server.on('connection', (socket) => {
    connections += 1;
    now += 1;
    limit = Math.max(limit, now);
    socket.on('close', () => {
      now -= 1;
    });
  });
  server.on('tlsClientError', () => undefined); // One who does not trust us says so and goes.
  const port = await portOf(server, parts.host);
  return {
    url: `${parts.tls === undefined ? 'http' : 'https'}://${parts.host ?? '127.0.0.1'}:${port}`,
    port,
    got,
    connections: () => connections,
    mostAtOnce: () => limit,
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
    return {
      ...rest,
      url: at(request.url),
      ...(afterwards === undefined ? {} : { afterwards: moved(afterwards) }),
    };
  };
  return moved(outgoing);
};

/** For test files: a browser's side of Web Push, and the service that carries it. */

export const newPushKeys = (): ECDH => {
  const pair = createECDH('prime256v1');
  pair.generateKeys();
  return pair;
};

/**
 * What a browser does with a message (RFC 8188 and 8291), from its private key. @throws when it is
 * not meant for it.
 */
export const readPush = (
  message: Buffer,
  browser: { readonly privateKey: Buffer; readonly auth: Buffer },
): string => {
  const salt = message.subarray(0, 16);
  if (message.readUInt32BE(16) < message.length - 86)
    throw new Error('the record is longer than it says');
  const theirs = message.subarray(21, 21 + message.readUInt8(20));
  const own = createECDH('prime256v1');
  own.setPrivateKey(browser.privateKey);
  const info = Buffer.concat([Buffer.from('WebPush: info\0'), own.getPublicKey(), theirs]);
  const input = Buffer.from(hkdfSync('sha256', own.computeSecret(theirs), browser.auth, info, 32));
  const key = Buffer.from(hkdfSync('sha256', input, salt, 'Content-Encoding: aes128gcm\0', 16));
  const nonce = Buffer.from(hkdfSync('sha256', input, salt, 'Content-Encoding: nonce\0', 12));
  const sealed = message.subarray(21 + theirs.length);
  const decipher = createDecipheriv('aes-128-gcm', key, nonce);
  decipher.setAuthTag(sealed.subarray(-16));
  const padded = Buffer.concat([decipher.update(sealed.subarray(0, -16)), decipher.final()]);
  if (padded.at(-1) !== 2) throw new Error('it has no end mark');
  return padded.subarray(0, -1).toString();
};
