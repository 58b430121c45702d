import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { codeOf } from '../../shared/base/error-code.ts';
import type { BodyShare } from './check-body-memory.ts';
import type { CheckDeadline } from './check-deadline.ts';
import { type HopFailure, type HttpsPhase, ownCodes, type TlsSeen } from './https-observation.ts';
import { ResponseReader, readerLimits } from './https-reader.ts';
import { type Trust, tlsSeen } from './https-trust.ts';

export type ExchangeRequest = {
  readonly method: string;
  /** The whole request as bytes. */
  readonly bytes: Buffer;
  /** How many bytes of the body are kept. */
  readonly keep: number;
  /** What memory the body may take. */
  readonly memory: BodyShare;
  /** Whether the head of a response with this status is all that is wanted: the body of a redirect is not read. */
  readonly headOnly: (status: number) => boolean;
  /** The host as a certificate must name it, and whether a certificate that is not good enough is the end. */
  readonly host: string;
  readonly verify: boolean;
  readonly trust: Trust;
};

export type Exchanged = {
  readonly tls: TlsSeen | null;
  readonly reader: ResponseReader;
  readonly failure: HopFailure | null;
  readonly tls_ms: number | null;
  readonly first_byte_ms: number | null;
};

/** An error after the end is the other side's answer to our closing, and is of no interest. */
const ignored = () => undefined;

/**
 * One request and its response over a connection that has just come about, at `began` of performance.now(); it is closed in every case.
 *
 * Modes: `handshake` (TLS only) → `sent` (nothing has come yet) → `reading` → over. The request leaves only after the certificate has
 * been judged, so that no credentials reach a server that is not the right one. Every mode ends with the deadline.
 */
export const exchange = (socket: Socket, began: number, request: ExchangeRequest, deadline: CheckDeadline): Promise<Exchanged> =>
  new Promise((resolve) => {
    const reader = new ResponseReader(request.method, { ...readerLimits, keep: request.keep });
    const secure = socket instanceof TLSSocket ? socket : null;
    let phase: HttpsPhase = secure ? 'tls' : 'first_byte';
    let tls: TlsSeen | null = null;
    let tls_ms: number | null = null;
    let sent = began;
    let first_byte_ms: number | null = null;
    let over = false;
    /** For memory: what has come is not read further, and the other side is kept from sending more. */
    let isWaiting = false;

    const finish = (code: string | null) => {
      if (over) return;
      over = true;
      // Node keeps a closed TLS connection until the heap is collected as a whole: nothing of ours is to be kept with it.
      socket.off('data', read).off('end', ended).off('close', ended).off('error', failed).on('error', ignored);
      secure?.off('secureConnect', secured);
      socket.destroy();
      resolve({ tls, reader, failure: code === null ? null : { phase, code }, tls_ms, first_byte_ms });
    };
    // What has arrived already is read first: after a pause of this process the deadline is told of before the sockets are.
    const stop = () => void setImmediate(() => finish(isWaiting ? ownCodes.memory : ownCodes.deadline));

    const send = (): void => {
      phase = 'first_byte';
      sent = performance.now();
      socket.write(request.bytes);
    };

    const read = (bytes: Buffer): void => {
      const goOn = (): void => {
        isWaiting = false;
        if (over) return;
        socket.resume();
        read(bytes);
      };
      if (!request.memory.allows(reader.keptAfter(bytes.length), goOn)) {
        isWaiting = true;
        socket.pause();
        return;
      }
      if (first_byte_ms === null) {
        first_byte_ms = performance.now() - sent;
        phase = 'head';
      }
      const isOver = reader.take(bytes);
      if (reader.status !== 0) phase = 'body';
      if (isOver || (reader.status !== 0 && request.headOnly(reader.status))) finish(reader.fault);
    };

    const ended = () => {
      if (phase === 'tls') return finish(ownCodes.closed);
      reader.end();
      finish(reader.fault);
    };

    const failed = (error: unknown) => {
      const code = codeOf(error, 'EUNKNOWN');
      // Bytes of a response have come: what a reset cuts off there is the response, not the connection.
      if (phase === 'head' || phase === 'body') finish(ownCodes.incomplete);
      else finish(phase === 'tls' && isForWantOfCertificate(code) ? ownCodes.clientCertificate : code);
    };

    /** The ciphers were agreed on, or there would be no certificate of the server's: what it then misses is ours. */
    const isForWantOfCertificate = (code: string): boolean =>
      code.endsWith('ALERT_HANDSHAKE_FAILURE') && secure?.getPeerX509Certificate() !== undefined;

    const secured = () => {
      if (!secure) return;
      tls_ms = performance.now() - began;
      tls = tlsSeen(secure, request.host, request.trust);
      if (request.verify && (tls.fault !== null || !tls.host_matches)) return finish(ownCodes.certificate);
      send();
    };

    socket.once('error', failed);
    if (deadline.isOver()) return finish(ownCodes.deadline);
    deadline.stop = stop;
    socket.on('data', read);
    socket.once('end', ended);
    socket.once('close', ended);
    if (secure) secure.once('secureConnect', secured);
    else send();
  });
