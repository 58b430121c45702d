import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { type ConnectionOptions, connect as connectTls, type TLSSocket } from 'node:tls';
import { codeOf } from '../../../shared/base/errors.ts';
import { isLoopback, parseAddress } from '../../../shared/base/network.ts';
import type { ClientCertificate } from '../../../shared/checks/connection/client-certificate.ts';
import type { Guard } from '../guard.ts';
import type { CheckDeadline } from '../limits.ts';
import { type Families, interleave } from './lookup.ts';
import { type AttemptSeen, isOwnSocketCode, ownCodes } from './observation.ts';
import { type ChecksProxy, dialThrough } from './proxy.ts';
import { readCertificateLazily, type Trust } from './trust.ts';

/**
 * How to secure a connection. `host`: the server name to send, if it is a name; `isHybrid`: also
 * offer post-quantum groups; `alpn`: protocols to offer, in wire format, as node would build a list
 * of names again for each connection; `client`: the certificate to show, if the server wants one.
 */
export type Securing = {
  readonly host: string;
  readonly verify: boolean;
  readonly isHybrid: boolean;
  readonly alpn?: Buffer;
  readonly client?: ClientCertificate | null;
};

/**
 * Opens a socket to a literal address. With TLS, one object does both and starts its handshake as
 * soon as it is connected. Adding TLS to an existing socket costs a twentieth of the whole check.
 * `through`: a connection that a proxy has made to that address.
 */
export function openSocket(
  address: string,
  port: number,
  securing: Securing | null,
  trust: Trust,
  through?: Socket,
): Socket {
  if (through) return securing ? secureSocket(through, securing, trust) : through;
  if (!securing) return connectTcp({ host: address, port, noDelay: true });
  const socket = connectTls({ host: address, port, ...tlsOptions(securing, trust) });
  socket.setNoDelay(true);
  readCertificateLazily(socket);
  return socket;
}

/** Adds TLS to a connection that spoke in the clear until now. */
export function secureSocket(plain: Socket, securing: Securing, trust: Trust): TLSSocket {
  const socket = connectTls({ socket: plain, ...tlsOptions(securing, trust) });
  readCertificateLazily(socket);
  return socket;
}

/**
 * Closes after `farewell`, or after the close_notify of TLS. Does not wait until it is sent: a peer
 * that does not read must not keep a check's socket open.
 */
export function closeSocket(socket: Socket, farewell?: Buffer): void {
  socket.on('error', ignored);
  if (farewell === undefined) socket.end();
  else socket.end(farewell);
  setImmediate(() => socket.destroy());
}

/** An error after the end is the other side's reaction to our closing, and does not matter. */
const ignored = (): void => undefined;

function tlsOptions(
  { host, verify, isHybrid, alpn, client }: Securing,
  trust: Trust,
): ConnectionOptions {
  return {
    ...(isIP(host) === 0 ? { servername: host } : {}),
    secureContext: trust.context(verify, isHybrid, client),
    // The check judges the chain itself, from OpenSSL's result. The certificates then remain readable
    // as evidence.
    rejectUnauthorized: false,
    checkServerIdentity: noOwnCheck,
    ...(alpn === undefined ? {} : { ALPNProtocols: alpn }),
  };
}

function noOwnCheck() {
  return undefined;
}

/**
 * A connection, or why there is none, with every attempt, the addresses, and the performance.now()
 * at which this was known.
 */
export type Connected = {
  readonly socket: Socket | null;
  readonly code: string;
  readonly attempts: readonly AttemptSeen[];
  /** All addresses known in the end. */
  readonly addresses: readonly string[];
  readonly at: number;
};

type Attempt = { -readonly [Key in keyof AttemptSeen]: AttemptSeen[Key] };

/** How long an attempt may be silent before the next address is tried in parallel. */
const patience = 250;
/**
 * Limits the attempts that are silent or fail only after that time. Attempts that fail sooner cost
 * nothing, and the next address is tried while there is time.
 */
const maxSlow = 6;
/**
 * Limits all attempts, however fast they fail: a name must not serve as a list of machines to scan.
 */
const maxAttempts = 32;

/** Whether the machine has any address of this one's family. Loopback works without one. */
export function hasFamily(address: string, families: Families): boolean {
  if (families[isIP(address) === 6 ? 6 : 4]) return true;
  const literal = parseAddress(address);
  return literal !== undefined && isLoopback(literal);
}

/** `through`: a connection to that address, if it is made already. */
export type Open = (address: string, port: number, through?: Socket) => Socket;

/**
 * Connects with `open` to the first address that answers. The guard judges each address in the same
 * turn in which its socket opens, and sockets open to literal addresses only: nothing can be
 * resolved in between. One address that is not public refuses all. Addresses of a family that the
 * machine lacks are skipped. `late`: further addresses, tried in turn with the rest as they come.
 * Through a proxy all of this is the same, and it is asked for the literal address.
 *
 * The promise settles once: with a connection, a failure, or the deadline.
 */
export function connectFirst(
  known: readonly string[],
  port: number,
  guard: Guard,
  families: Families,
  deadline: CheckDeadline,
  open: Open,
  proxy: ChecksProxy | undefined,
  late?: Promise<readonly string[]>,
): Promise<Connected> {
  return new Promise((resolve, reject) => {
    const attempts: Attempt[] = [];
    const trying = new Map<Socket, { readonly attempt: Attempt; readonly began: number }>();
    const ofOwnFamilies = (some: readonly string[]): readonly string[] =>
      some.filter((address) => hasFamily(address, families));
    let addresses = known;
    let wanted = ofOwnFamilies(known);
    let isLateToCome = late !== undefined;
    let timer: NodeJS.Timeout | undefined;
    let next = 0;
    let slow = 0;
    let over = false;

    const finish = (socket: Socket | null, code: string): void => {
      if (over) return;
      over = true;
      clearTimeout(timer);
      for (const [other, { attempt, began }] of trying)
        if (other !== socket) {
          other.destroy();
          attempt.code = ownCodes.unanswered;
          attempt.ms = performance.now() - began;
        }
      resolve({ socket, code, attempts, addresses, at: performance.now() });
    };
    /** What an address of the target answered counts before what this machine could not do. */
    const firstFailure = (): string | undefined => {
      const codes = attempts.flatMap(({ code }) => (code === null ? [] : [code]));
      return codes.find((code) => !isOwnSocketCode(code)) ?? codes[0];
    };
    // Reports a connection that was made meanwhile first: after a pause of this process, its
    // deadline fires before its sockets.
    const stop = () =>
      void setImmediate(() =>
        finish(null, trying.size === 0 ? (firstFailure() ?? ownCodes.deadline) : ownCodes.deadline),
      );

    const hasNext = (): boolean =>
      next < Math.min(wanted.length, maxAttempts) && slow + trying.size < maxSlow;
    const allFailed = (): void => {
      if (trying.size === 0 && !isLateToCome) finish(null, firstFailure() ?? ownCodes.noFamily);
    };

    const tryNext = () => {
      const address = wanted[next];
      if (over || address === undefined) return;
      next += 1;
      if (!guard.allows(address, port)) return finish(null, ownCodes.notPublic);
      const began = performance.now();
      const attempt: Attempt = { address, code: null, ms: 0 };
      attempts.push(attempt);
      const connected = (through?: Socket) => {
        socket.off('error', failed);
        if (over) return;
        attempt.ms = performance.now() - began;
        trying.delete(socket);
        finish(through ? open(address, port, through) : socket, '');
      };
      const socket = proxy
        ? dialThrough(proxy, address, port, () => connected(socket))
        : open(address, port);
      trying.set(socket, { attempt, began });
      const failed = (error: unknown) => {
        attempt.code = codeOf(error, 'EUNKNOWN');
        attempt.ms = performance.now() - began;
        trying.delete(socket);
        if (attempt.ms >= patience) slow += 1;
        if (over) return;
        clearTimeout(timer);
        if (hasNext()) tryNext();
        else allFailed();
      };
      socket.once('error', failed);
      // Runs before the handshake begins, which does not count as time to connect.
      if (!proxy) socket.prependOnceListener('connect', () => connected());
      if (hasNext()) timer = setTimeout(tryNext, patience);
    };

    /** Tries the first of them at once: they are late enough. */
    const join = (more: readonly string[]) => {
      isLateToCome = false;
      if (over) return;
      if (!more.every((address) => guard.allows(address, port)))
        return finish(null, ownCodes.notPublic);
      addresses = [...addresses, ...more];
      const fresh = ofOwnFamilies(more);
      if (fresh.length === 0) return allFailed();
      wanted = [...wanted.slice(0, next), ...interleave(fresh, wanted.slice(next))];
      clearTimeout(timer);
      if (hasNext()) tryNext();
      else allFailed();
    };

    if (deadline.isOver()) return finish(null, ownCodes.deadline);
    if (!addresses.every((address) => guard.allows(address, port)))
      return finish(null, ownCodes.notPublic);
    if (wanted.length === 0 && late === undefined) return finish(null, ownCodes.noFamily);
    deadline.stop = stop;
    late?.then(join).catch(reject);
    tryNext();
  });
}
