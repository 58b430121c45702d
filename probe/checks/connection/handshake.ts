import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { codeOf } from '../../../shared/base/errors.ts';
import type { CheckDeadline } from '../limits.ts';
import type { CheckContext } from '../types.ts';
import type { Open } from './connect.ts';
import { type Failure, ownCodes, type TlsSeen } from './observation.ts';
import { type ConnectionDependencies, type Endpoint, type Reached, reach } from './reach.ts';
import { faultBeforeRefusal, type Trust, tlsSeen } from './trust.ts';

/** What a handshake came to. The socket stays open only where there is no failure. */
export type Handshaken = {
  readonly socket: TLSSocket;
  readonly tls: TlsSeen | null;
  readonly ms: number | null;
  readonly failure: Failure<'tls'> | null;
};

export type Certified = {
  /** The host that the certificate must name, and whether a bad certificate is a failure. */
  readonly host: string;
  readonly verify: boolean;
  readonly trust: Trust;
};

/** An error after the end is the other side's reaction to our closing, and does not matter. */
const ignored = (): void => undefined;

/**
 * What was seen of a server that refused the handshake because it wants a certificate of ours;
 * undefined for any other failure. The ciphers were agreed on, or there would be no certificate of
 * the server, so only ours can be missing.
 */
export function refusedWithoutOurs(
  socket: TLSSocket,
  code: string,
  host: string,
  trust: Trust,
): { readonly tls: TlsSeen } | undefined {
  const leaf = socket.getPeerX509Certificate();
  if (!code.endsWith('ALERT_HANDSHAKE_FAILURE') || !leaf) return undefined;
  return { tls: tlsSeen(socket, host, trust, faultBeforeRefusal(leaf, trust)) };
}

/**
 * Waits for the handshake of a socket that has begun it, and reads the certificate.
 *
 * Modes: `handshake` → over (secured, failed, closed, or the deadline); settles once.
 */
export function handshake(
  socket: TLSSocket,
  began: number,
  { host, verify, trust }: Certified,
  deadline: CheckDeadline,
): Promise<Handshaken> {
  return new Promise((resolve) => {
    let over = false;
    const settle = (code: string | null, tls: TlsSeen | null, ms: number | null): void => {
      if (over) return;
      over = true;
      // Node keeps a closed TLS connection until a full garbage collection, so we detach everything
      // of ours from it.
      socket
        .off('secureConnect', secured)
        .off('error', failed)
        .off('end', closed)
        .off('close', closed);
      socket.on('error', ignored);
      if (code !== null) socket.destroy();
      resolve({ socket, tls, ms, failure: code === null ? null : { phase: 'tls', code } });
    };
    const secured = (): void => {
      const tls = tlsSeen(socket, host, trust);
      const isBad = verify && (tls.fault !== null || !tls.host_matches);
      settle(isBad ? ownCodes.certificate : null, tls, performance.now() - began);
    };
    const failed = (error: unknown): void => {
      const code = codeOf(error, 'EUNKNOWN');
      const refused = refusedWithoutOurs(socket, code, host, trust);
      if (refused) settle(ownCodes.clientCertificate, refused.tls, performance.now() - began);
      else settle(code, null, null);
    };
    const closed = (): void => settle(ownCodes.closed, null, null);

    socket.once('error', failed);
    if (deadline.isOver()) return settle(ownCodes.deadline, null, null);
    // Reads what has already arrived first: after a pause of this process, the deadline fires
    // before the sockets.
    deadline.stop = () => void setImmediate(settle, ownCodes.deadline, null, null);
    socket.once('secureConnect', secured);
    socket.once('end', closed);
    socket.once('close', closed);
  });
}

/** A connection, secured where it was opened so. */
export type Connection = {
  readonly reached: Reached;
  readonly socket: Socket | null;
  readonly tls: TlsSeen | null;
  readonly tls_ms: number | null;
  readonly failure: Failure<'dns' | 'tcp' | 'tls'> | null;
};

/**
 * Reaches the server, and waits for the handshake where `opening` opens TLS. Nothing in common may
 * mean that the server takes post-quantum groups only: it is asked once more with them.
 */
export async function reachWithHandshake(
  endpoint: Endpoint,
  opening: (isHybrid: boolean) => Open,
  certified: Certified,
  context: CheckContext,
  dependencies: ConnectionDependencies,
): Promise<Connection> {
  const reached = await reach(endpoint, opening(false), context, dependencies);
  const { socket, at, failure } = reached;
  if (!(socket instanceof TLSSocket)) return { reached, socket, tls: null, tls_ms: null, failure };
  let seen = await handshake(socket, at, certified, context.deadline);
  if (seen.failure?.code.endsWith('ALERT_HANDSHAKE_FAILURE')) {
    const again = await reached.connectAgain(opening(true));
    // The first handshake reports any other fault.
    if (again.socket instanceof TLSSocket) {
      const second = await handshake(again.socket, again.at, certified, context.deadline);
      if (second.tls) seen = second;
    }
  }
  return { reached, socket: seen.socket, tls: seen.tls, tls_ms: seen.ms, failure: seen.failure };
}
