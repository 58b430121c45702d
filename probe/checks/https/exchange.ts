import type { Socket } from 'node:net';
import type { Transform } from 'node:stream';
import { TLSSocket } from 'node:tls';
import pLimit from 'p-limit';
import { codeOf } from '../../../shared/base/errors.ts';
import { refusedWithoutOurs } from '../connection/handshake.ts';
import { ownCodes, type TlsSeen } from '../connection/observation.ts';
import { type Trust, tlsSeen } from '../connection/trust.ts';
import { type BodyShare, type CheckDeadline, GrowingBytes } from '../limits.ts';
import type { HopFailure, HttpsPhase } from './evidence.ts';
import { type Header, ResponseReader, readerLimits } from './reader.ts';

/** `free` returns the body's memory; nothing reads the body after that. */
export type Decoded = {
  readonly body: Uint8Array;
  readonly truncated: boolean;
  readonly free: () => void;
};

/** Limits how many bodies are unpacked at a time: beside the body, each takes up to 16 MiB. */
const atATime = pLimit(2);

/**
 * The decoded body, never more than `most` bytes of it, which stops a decompression bomb. A body
 * that cannot be unpacked at all stays as it came.
 */
export async function decoded(reader: ResponseRead, limit: number): Promise<Decoded> {
  const raw = reader.body;
  const encodings = encodingsOf(reader);
  const asItCame = { body: raw, truncated: reader.truncated, free: () => reader.kept.free() };
  if (encodings.length === 0 || raw.length === 0) return asItCame;
  const { bytes, isLonger } = await atATime(() => unpacked(raw, encodings, limit));
  if (bytes.length === 0) return asItCame;
  // A thread may still read a decoding that was aborted, so its memory is left to the collector.
  if (!isLonger) reader.kept.free();
  return { body: bytes.bytes, truncated: reader.truncated || isLonger, free: () => bytes.free() };
}

type Encoding = keyof Awaited<ReturnType<typeof decoders>>;

/** No real server sends more than these; each takes memory. */
const maxEncodings = 3;

/**
 * In the order in which the server applied them, from all headers of the name; empty if one of them
 * is unknown.
 */
function encodingsOf(reader: ResponseRead): readonly Encoding[] {
  const values = reader.headers
    .filter(([name]) => name === 'content-encoding')
    .flatMap(([, value]) => value.toLowerCase().split(','))
    .map((value) => value.trim())
    .filter((value) => value !== '' && value !== 'identity');
  const known = values.filter(isKnown);
  return known.length === values.length && known.length <= maxEncodings ? known : [];
}

function isKnown(value: string): value is Encoding {
  return ['gzip', 'x-gzip', 'deflate', 'br', 'zstd'].includes(value);
}

type Inflated = { readonly bytes: GrowingBytes; readonly isLonger: boolean };

/** Removes the encoding that was applied last first. */
async function unpacked(
  raw: Buffer,
  encodings: readonly Encoding[],
  limit: number,
): Promise<Inflated> {
  const decoder = await decoders();
  let [packed, isLonger] = [raw, false];
  let bytes = new GrowingBytes(limit);
  for (const encoding of encodings.toReversed()) {
    const one = await inflated(decoder[encoding](), packed, limit);
    bytes.free();
    bytes = one.bytes;
    isLonger ||= one.isLonger;
    packed = Buffer.from(bytes.bytes);
  }
  return { bytes, isLonger };
}

/**
 * Compressions that a server may use although we asked for none. Few do, so node's zlib is loaded
 * on first use. If the data end early, each decoder returns what it has, because nothing more will
 * come.
 */
async function decoders() {
  const { constants, createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } =
    await import('node:zlib');
  const soFar = { finishFlush: constants.Z_SYNC_FLUSH };
  return {
    gzip: () => createGunzip(soFar),
    'x-gzip': () => createGunzip(soFar),
    deflate: () => createInflate(soFar),
    br: () => createBrotliDecompress({ finishFlush: constants.BROTLI_OPERATION_FLUSH }),
    // A frame may ask for a window of any size. We allow at most 8 MiB, as browsers do.
    zstd: () =>
      createZstdDecompress({
        finishFlush: constants.ZSTD_e_flush,
        params: { [constants.ZSTD_d_windowLogMax]: 23 },
      }),
  } as const;
}

/**
 * Decodes until the data end, become unreadable, or exceed `most`. The decoder keeps an error
 * listener for as long as it lives.
 */
function inflated(decoder: Transform, raw: Buffer, limit: number): Promise<Inflated> {
  return new Promise((resolve) => {
    const bytes = new GrowingBytes(limit);
    let isLonger = false;
    const finish = (): void => {
      decoder.destroy();
      resolve({ bytes, isLonger });
    };
    decoder.on('error', finish);
    decoder.once('end', finish);
    decoder.on('data', (part: Buffer) => {
      if (isLonger) return;
      isLonger = bytes.length + part.length > limit;
      bytes.add(part);
      if (isLonger) finish();
    });
    decoder.end(raw);
  });
}

/** A response as far as it was read, by either version of HTTP. */
export type ResponseRead = {
  readonly isHttp2: boolean;
  /** 0 without a head. */
  readonly status: number;
  readonly headers: readonly Header[];
  readonly read: number;
  readonly truncated: boolean;
  /** What came instead of a response. */
  readonly beginning: Uint8Array;
  readonly kept: GrowingBytes;
  readonly body: Buffer;
};

export type ExchangeRequest = {
  readonly method: string;
  /** The whole request as bytes. */
  readonly bytes: Buffer;
  /** How many bytes of the body to keep. */
  readonly keep: number;
  /** The memory that the body may take. */
  readonly memory: BodyShare;
  /**
   * Whether only the head of a response with this status is needed: the body of a redirect is not
   * read.
   */
  readonly headOnly: (status: number) => boolean;
  /** The host that the certificate must name, and whether a bad certificate ends the exchange. */
  readonly host: string;
  readonly verify: boolean;
  readonly trust: Trust;
};

export type Exchanged = {
  readonly tls: TlsSeen | null;
  readonly reader: ResponseRead;
  readonly failure: HopFailure | null;
  readonly tls_ms: number | null;
  readonly first_byte_ms: number | null;
};

/**
 * Sends one request and reads its response over a connection made at `began` of performance.now().
 * Always closes the connection.
 *
 * The request leaves only after the certificate has been judged, so no credentials reach the wrong
 * server. The deadline ends every step.
 */
export function exchange(
  socket: Socket,
  began: number,
  request: ExchangeRequest,
  deadline: CheckDeadline,
): Promise<Exchanged> {
  return new Promise((resolve) => {
    const reader = new ResponseReader(request.method, { ...readerLimits, keep: request.keep });
    const secure = socket instanceof TLSSocket ? socket : null;
    let phase: HttpsPhase = secure ? 'tls' : 'first_byte';
    let tls: TlsSeen | null = null;
    let tls_ms: number | null = null;
    let sent = began;
    let first_byte_ms: number | null = null;
    let over = false;
    /** Waiting for memory: reading pauses, and the other side is kept from sending more. */
    let isWaiting = false;

    const finish = (code: string | null) => {
      if (over) return;
      over = true;
      // Node keeps a closed TLS connection until a full garbage collection, so we detach everything
      // of ours from it.
      socket
        .off('data', read)
        .off('end', ended)
        .off('close', ended)
        .off('error', failed)
        .on('error', ignored);
      secure?.off('secureConnect', secured);
      socket.destroy();
      resolve({
        tls,
        reader,
        failure: code === null ? null : { phase, code },
        tls_ms,
        first_byte_ms,
      });
    };
    // Reads what has already arrived first: after a pause of this process, the deadline fires
    // before the sockets.
    const stop = () =>
      void setImmediate(() => finish(isWaiting ? ownCodes.memory : ownCodes.deadline));

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
      // Bytes of a response have come, so a reset cuts off the response, not the connection.
      if (phase === 'head' || phase === 'body') return finish(ownCodes.incomplete);
      const refused =
        phase === 'tls' && secure
          ? refusedWithoutOurs(secure, code, request.host, request.trust)
          : undefined;
      if (!refused) return finish(code);
      tls = refused.tls;
      tls_ms = performance.now() - began;
      finish(ownCodes.clientCertificate);
    };

    const secured = () => {
      if (!secure) return;
      tls_ms = performance.now() - began;
      tls = tlsSeen(secure, request.host, request.trust);
      if (request.verify && (tls.fault !== null || !tls.host_matches))
        return finish(ownCodes.certificate);
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
}

/** An error after the end is the other side's reaction to our closing, and does not matter. */
function ignored() {
  return undefined;
}
