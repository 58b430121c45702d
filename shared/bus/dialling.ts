import { isIP } from 'node:net';
import { checkServerIdentity, type PeerCertificate } from 'node:tls';
import {
  type Authenticator,
  AuthorizationError,
  type NatsConnection,
  NatsConnectionImpl,
  type NodeConnectionOptions,
  setTransportFactory,
  TimeoutError,
} from '@nats-io/transport-node';
import { NodeTransport } from '@nats-io/transport-node/lib/node_transport.js';
import { backoff, pause } from '../base/async.ts';
import type { Log } from '../base/log.ts';
import { trustHere } from '../base/network.ts';
import { keyFromSeed, parseCredentials } from './nkeys.ts';

/**
 * How the client connects. By itself it hides why a dial failed, and trusts what the server's
 * greeting says of TLS, which comes in the clear; so every dial goes through a transport of ours.
 */
export type BusEntry = {
  /** One address, or several with commas. If one of them is `tls://`, TLS is required. */
  readonly url: string;
  /** The text of a credentials file; read again for each dial where it may be renewed. */
  readonly credentials: string | (() => string);
  /** TLS before the server's greeting; the server must agree. */
  readonly tlsFirst?: boolean | undefined;
  /**
   * Certificates of the authorities that the bus's may be signed by, as PEM, instead of those that
   * the machine trusts.
   */
  readonly ca?: string | undefined;
  /**
   * Authorities besides those that the machine trusts, as PEM; of no matter where `ca` says which.
   */
  readonly authorities?: string | undefined;
};

export type FailedDial = (server: string, why: Error) => void;

const dialMs = 3_000;

/**
 * Whom to tell of failed dials, by the list of servers: the client hands that, of all that it was
 * given, to its transports as it is.
 */
const watchers = new WeakMap<object, FailedDial>();

class Transport extends NodeTransport {
  #server = '';
  #hint = '';
  #tell: FailedDial | undefined;

  override async connect(
    { hostname, port, tlsName }: { hostname: string; port: number; tlsName: string },
    options: NodeConnectionOptions,
  ) {
    this.#server = `${hostname}:${port}`;
    const { servers, tls } = options;
    if (typeof servers === 'object') this.#tell = watchers.get(servers);
    const isFirst = tls?.handshakeFirst === true;
    if (tls && !isFirst)
      this.#hint =
        '; a server that wants TLS first says nothing before it: then set NATS_TLS_FIRST';
    await super.connect(
      { hostname, port, tlsName: tlsName || (isIP(hostname) ? '' : hostname) },
      options,
    );
    if (!tls || this.isEncrypted()) return;
    // Whatever the greeting said; nothing was sent yet.
    this.connected = false;
    this.socket.destroy();
    throw new Error("server does not support 'tls'");
  }

  /**
   * The client calls this with the reason of each failed dial: of the connection, the handshake,
   * the login.
   */
  override async close(why?: Error): Promise<void> {
    if (why) this.#tell?.(this.#server, this.#inWords(why));
    await super.close(why);
  }

  #inWords(why: Error): Error {
    // What the client says where the other side closed without an error.
    if (why.message.includes('undefined error'))
      return new Error(`the server closed the connection without an error${this.#hint}`, {
        cause: why,
      });
    if (why instanceof TimeoutError)
      return new Error(`no answer within ${dialMs / 1_000} s${this.#hint}`, { cause: why });
    if (why.message.includes("does not support 'tls'"))
      return new Error('the server offers no TLS, which tls:// requires', {
        cause: why,
      });
    return why;
  }
}

setTransportFactory({ factory: () => new Transport() });

/** Tries each server once. @throws the reason of the last one. */
export function dialOnce(
  entrance: BusEntry,
  more: NodeConnectionOptions,
  onFailed?: FailedDial,
): Promise<NatsConnection> {
  const servers = entrance.url.split(',').map((server) => server.trim());
  if (onFailed) watchers.set(servers, onFailed);
  const tls = tlsOf(entrance);
  return NatsConnectionImpl.connect({
    ...more,
    ...(tls === undefined ? {} : { tls }),
    servers,
    authenticator: authenticatorOf(entrance.credentials),
    // The socket looks names up, and tells why it could not; the client would do so in silence.
    resolve: false,
    timeout: dialMs,
    noAsyncTraces: true,
  });
}

/**
 * What TLS must be; undefined where it need not be. The certificate must be good for one of the
 * hosts that the operator named: the client takes further servers, by whatever name, from a
 * greeting that anybody on the way may have written.
 */
function tlsOf({ url, tlsFirst = false, ca, authorities }: BusEntry) {
  const servers = url.split(',').map((server) => server.trim());
  if (!tlsFirst && ca === undefined && !servers.some((server) => server.startsWith('tls://')))
    return undefined;
  const hosts = servers.map(hostOf);
  return {
    handshakeFirst: tlsFirst,
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

/**
 * Dials until connected; from then on the client reconnects by itself. @throws when the signal ends
 * it.
 */
export async function dialWithRetries(
  entrance: BusEntry,
  more: NodeConnectionOptions,
  onFailed: FailedDial,
  signal?: AbortSignal,
): Promise<{ readonly nc: NatsConnection; readonly reached: () => void }> {
  const waits = createWaits();
  const failed: FailedDial = (server, why) => {
    waits.failed();
    onFailed(server, why);
  };
  for (;;) {
    signal?.throwIfAborted();
    let isTold = false;
    const nc = await dialOnce(
      entrance,
      {
        ...more,
        maxReconnectAttempts: -1,
        reconnectDelayHandler: waits.waitMs,
        // A server that has just restarted may not know the account for a moment; that is no reason
        // to stop for ever.
        ignoreAuthErrorAbort: true,
      },
      (server, why) => {
        isTold = true;
        failed(server, why);
      },
    ).catch((error: unknown) => {
      if (!isTold) failed(entrance.url, error instanceof Error ? error : new Error(String(error)));
    });
    if (nc && !signal?.aborted) {
      waits.reached();
      return { nc, reached: waits.reached };
    }
    await nc?.close();
    await pause(waits.waitMs(), signal);
  }
}

const firstWaitMs = 200;

/** Short enough to recover within half a minute of the bus. */
const longestWaitMs = 5_000;

/** The wait before each dial while disconnected: exponential, with jitter. */
function createWaits() {
  let failed = 0;
  const next = (): number =>
    backoff(failed, firstWaitMs, longestWaitMs) * (0.75 + Math.random() / 4);
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
    failed: (why: Error): AccessLost | undefined => {
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
export type DialLog = { readonly failed: FailedDial; readonly reached: () => void };

const firstDistanceMs = 5_000;
const longestDistanceMs = 600_000;
/** Of an absence; a server that says something else each time is no reason to repeat it all. */
const maxReasons = 8;

export function createDialLog(
  log: Log,
  name: string,
  now: () => number = () => performance.now(),
): DialLog {
  let since = 0;
  let failed = 0;
  let lines = 0;
  let dueAt = 0;
  const reasons = new Set<string>();

  return {
    failed: (server, why) => {
      const at = now();
      if (failed === 0) since = at;
      failed += 1;
      const reason = `${server} ${why.message}`;
      const isNew = reasons.size < maxReasons && !reasons.has(reason);
      if (!isNew && at < dueAt) return;
      reasons.add(reason);
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
    },
    reached: () => {
      if (failed > 0)
        log.info(
          { connection: name, failed_dials: failed, after_s: Math.round((now() - since) / 1_000) },
          'connected to the bus',
        );
      failed = 0;
      lines = 0;
      reasons.clear();
    },
  };
}
