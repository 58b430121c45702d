import { isIP } from 'node:net';
import { checkServerIdentity, type PeerCertificate } from 'node:tls';
import {
  type Authenticator,
  AuthorizationError,
  connect,
  type NatsConnection,
  type NodeConnectionOptions,
  TimeoutError,
  wsconnect,
} from '@nats-io/transport-node';
import { backoff, pause } from '../base/async.ts';
import { codeOf } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import { trustHere } from '../base/network.ts';
import { keyFromSeed, parseCredentials } from './nkeys.ts';
import { isWebsocket, openWebsocket } from './websocket.ts';

/** How the client connects. */
export type BusEntry = {
  /**
   * One address, or several with commas. If one of them is `tls://`, TLS is required, and begins
   * before the server's greeting: that comes in the clear otherwise, and the client would believe
   * what it says of TLS. `wss://` goes by a websocket, also through the proxy of the environment.
   */
  readonly url: string;
  /** The text of a credentials file; read again for each dial where it may be renewed. */
  readonly credentials: string | (() => string);
  /**
   * Certificates of the authorities that the bus's may be signed by, as PEM, instead of those that
   * the machine trusts. TLS is required with them.
   */
  readonly ca?: string | undefined;
  /**
   * Authorities besides those that the machine trusts, as PEM; of no matter where `ca` says which.
   */
  readonly authorities?: string | undefined;
  /** Of a websocket: what the coordinator that passes it on says of our address. */
  readonly onAddress?: (text: string | undefined) => void;
};

const dialMs = 3_000;

/** Tries each server once. @throws the reason of the last one, in words. */
export async function dialOnce(
  entrance: BusEntry,
  more: NodeConnectionOptions,
): Promise<NatsConnection> {
  const tls = tlsOf(entrance);
  const way = isWebsocket(entrance.url)
    ? { wsFactory: (url: string) => openWebsocket(url, entrance) }
    : tls && { tls };
  try {
    return await (isWebsocket(entrance.url) ? wsconnect : connect)({
      ...more,
      ...way,
      // The servers behind a greeting may be reached by another way than this one.
      ignoreClusterUpdates: isWebsocket(entrance.url),
      servers: serversOf(entrance),
      authenticator: authenticatorOf(entrance.credentials),
      // The socket looks names up, and tells why it could not; the client would do so in silence.
      resolve: false,
      timeout: dialMs,
      noAsyncTraces: true,
    });
  } catch (error) {
    throw inWords(error, tls !== undefined);
  }
}

function serversOf({ url }: BusEntry): string[] {
  return url.split(',').map((server) => server.trim());
}

/**
 * What TLS must be; undefined where it need not be. The certificate must be good for one of the
 * hosts that the operator named: the client takes further servers, by whatever name, from a
 * greeting.
 */
function tlsOf(entrance: BusEntry) {
  const { ca, authorities } = entrance;
  const servers = serversOf(entrance);
  if (isWebsocket(entrance.url)) return undefined;
  if (ca === undefined && !servers.some((server) => server.startsWith('tls://'))) return undefined;
  const hosts = servers.map(hostOf);
  const name = hosts.find((host) => isIP(host) === 0);
  return {
    handshakeFirst: true,
    ...(name === undefined ? {} : { servername: name }),
    ...(ca === undefined ? { secureContext: trustHere(authorities) } : { ca }),
    checkServerIdentity: (_dialled: string, shown: PeerCertificate): Error | undefined => {
      const faults = hosts.map((host) => checkServerIdentity(host, shown));
      return faults.includes(undefined) ? undefined : faults[0];
    },
  };
}

function hostOf(server: string): string {
  return new URL(server.includes('://') ? server : `nats://${server}`).hostname.replace(
    /^\[|\]$/g,
    '',
  );
}

function inWords(error: unknown, isTls: boolean): Error {
  const why = error instanceof Error ? error : new Error(String(error));
  const words = (text: string) => new Error(text, { cause: why });
  const hint = isTls ? '' : '; a server that wants TLS says nothing before it: then use tls://';
  if (why instanceof TimeoutError) return words(`no answer within ${dialMs / 1_000} s${hint}`);
  // What the client says where the other side closed without an error.
  if (why.message.includes('undefined error'))
    return words(`the server closed the connection without an error${hint}`);
  if (isTls && /^ERR_SSL_(WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG)$/.test(codeOf(why)))
    return words(
      'the server does not begin with TLS, which tls:// requires: set handshake_first in its tls block',
    );
  return why;
}

/**
 * Signs by node:crypto; the client's own way is in JavaScript: 45 ms of a core in a fresh process,
 * and V8's optimizing compilers (6 MB).
 */
function authenticatorOf(credentials: BusEntry['credentials']): Authenticator {
  const read = (text: string) => {
    const { jwt, seed } = parseCredentials(text);
    return { text, jwt, key: keyFromSeed(seed, 'user') };
  };
  let now = read(typeof credentials === 'string' ? credentials : credentials());
  return (nonce = '') => {
    const text = typeof credentials === 'string' ? credentials : credentials();
    if (text !== now.text) now = read(text);
    const { jwt, key } = now;
    return { jwt, nkey: key.id, sig: Buffer.from(key.sign(Buffer.from(nonce))).toString('base64') };
  };
}

export type FailedDial = (why: Error) => void;

/**
 * Dials until connected; from then on the client reconnects by itself, for ever. @throws when the
 * signal ends it.
 */
export async function dialWithRetries(
  entrance: BusEntry,
  more: NodeConnectionOptions,
  onFailed: FailedDial,
  signal?: AbortSignal,
): Promise<{ readonly nc: NatsConnection; readonly waits: Waits }> {
  const waits = createWaits();
  for (;;) {
    signal?.throwIfAborted();
    const nc = await dialOnce(entrance, {
      ...more,
      maxReconnectAttempts: -1,
      reconnectDelayHandler: waits.waitMs,
      // A server that has just restarted may not know the account for a moment; that is no reason
      // to stop for ever.
      ignoreAuthErrorAbort: true,
    }).catch((error: unknown) => {
      waits.failed();
      onFailed(error instanceof Error ? error : new Error(String(error)));
    });
    if (nc && !signal?.aborted) {
      waits.reached();
      return { nc, waits };
    }
    await nc?.close();
    await pause(waits.waitMs(), signal);
  }
}

type Waits = ReturnType<typeof createWaits>;

const firstWaitMs = 200;

/** Short enough to recover within half a minute of the bus. */
export const longestDialWaitMs = 5_000;

/** The wait before each dial while disconnected: exponential, with jitter. */
function createWaits() {
  let failed = 0;
  const next = (): number =>
    backoff(failed, firstWaitMs, longestDialWaitMs) * (0.75 + Math.random() / 4);
  let waitMs = next();
  return {
    waitMs: () => waitMs,
    failed: (): void => {
      failed += 1;
      waitMs = next();
    },
    reached: (): void => {
      failed = 0;
      waitMs = next();
    },
  };
}

/**
 * What the bus says of whoever is no longer let in: `revoked` when it said so, `refused` when it
 * gives no reason. The latter is believed after much longer: a bus that lost its accounts says the
 * same to all, until somebody fixes it.
 */
export type AccessLost = 'revoked' | 'refused';

const believedMs: Readonly<Record<AccessLost, number>> = { revoked: 10_000, refused: 3_600_000 };

/**
 * Judges refusals: only those of the credentials that are used now, with nothing else between them.
 * Whoever has newer ones goes on with those.
 */
export function createRefusals(
  credentials: BusEntry['credentials'],
  now: () => number = () => performance.now(),
) {
  const text = () => (typeof credentials === 'string' ? credentials : credentials());
  let revoked: string | undefined;
  let since: { readonly at: number; readonly of: string } | undefined;
  let last = text();
  return {
    reached: (): void => {
      since = undefined;
      revoked = undefined;
      last = text();
    },
    /** The bus ended the connection with an error. */
    ended: (why: Error): void => {
      if (/authentication revoked/i.test(why.message)) revoked = last;
    },
    /** A dial failed; undefined unless the bus will not let us in again. */
    failed: (why: Error | undefined): AccessLost | undefined => {
      if (!(why instanceof AuthorizationError) || /timeout/i.test(why.message)) {
        since = undefined;
        return undefined;
      }
      const of = text();
      if (since?.of !== of) since = { at: now(), of };
      const how = revoked === of ? 'revoked' : 'refused';
      return now() - since.at >= believedMs[how] ? how : undefined;
    },
  };
}

/**
 * Logs why the bus cannot be reached, and does not fill the disk: the first failed dial, then one
 * at growing distances, with how many there were; a reason that this absence has not had yet at
 * once.
 */
export type DialLog = {
  /** Without a reason it is found out when a line is due: the client tells none of a reconnect. */
  readonly failed: (why?: Error) => void;
  readonly reached: () => void;
};

const firstDistanceMs = 5_000;
const longestDistanceMs = 600_000;
/** Of an absence; a server that says something else each time is no reason to repeat it all. */
const maxReasons = 8;

export function createDialLog(
  log: Log,
  connection: { readonly name: string; readonly url: string },
  /** Undefined when it can be reached again. */
  findReason: () => Promise<Error | undefined>,
  now: () => number = () => performance.now(),
): DialLog {
  const { name } = connection;
  const server = connection.url.replaceAll(/\/\/[^@/,]*@/g, '//');
  let since = 0;
  let failed = 0;
  let lines = 0;
  let dueAt = 0;
  let isFinding = false;
  const reasons = new Set<string>();

  const say = (why: Error): void => {
    const at = now();
    reasons.add(why.message);
    dueAt = at + backoff(lines, firstDistanceMs, longestDistanceMs);
    lines += 1;
    log.error(
      {
        err: why,
        server,
        connection: name,
        failed_dials: failed,
        for_s: Math.round((at - since) / 1_000),
      },
      'the bus cannot be reached',
    );
  };
  const find = async (): Promise<void> => {
    isFinding = true;
    const why = await findReason();
    isFinding = false;
    if (why && failed > 0) say(why);
  };

  return {
    failed: (why) => {
      const at = now();
      if (failed === 0) since = at;
      failed += 1;
      const isDue = at >= dueAt;
      if (why === undefined) {
        if (isDue && !isFinding) void find();
        return;
      }
      const isNew = reasons.size < maxReasons && !reasons.has(why.message);
      if (isNew || isDue) say(why);
    },
    reached: () => {
      if (failed > 0)
        log.info(
          { connection: name, failed_dials: failed, after_s: Math.round((now() - since) / 1_000) },
          'connected to the bus',
        );
      failed = 0;
      lines = 0;
      dueAt = 0;
      reasons.clear();
    },
  };
}
