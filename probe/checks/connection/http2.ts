import type { ClientHttp2Session, ClientHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { codeOf } from '../../../shared/base/errors.ts';
import type { CheckDeadline } from '../limits.ts';
import { FrameWatch, maxHeaderBytes } from './frames.ts';
import { ownCodes } from './observation.ts';

/** Protocols to offer in a handshake, in wire format. */
export const alpnHttp2 = Buffer.from('\u0002h2', 'latin1');

export type HeaderField = readonly [name: string, value: string];

/** Header lines as HTTP/1.1 writes them. */
export function headerFields(lines: Buffer): HeaderField[] {
  return lines
    .toString('latin1')
    .split('\r\n')
    .filter((line) => line !== '')
    .map((line) => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
    });
}

/** One request: its pseudo headers first. */
export type Http2Request = {
  readonly headers: readonly HeaderField[];
  readonly body: Buffer | null;
};

/** Receives the response as it comes. */
export type Http2Receiver = {
  /** Returns whether nothing more is needed. */
  readonly head: (status: number, headers: readonly HeaderField[], isLast: boolean) => boolean;
  /** Returns whether nothing more is needed; `wait` where it must not be given more for now. */
  readonly data: (part: Buffer, goOn: () => void) => boolean | 'wait';
  readonly trailers?: (headers: readonly HeaderField[]) => void;
};

/** How it ended: `code` is null where all that was wanted has come. */
export type Http2End = {
  readonly code: string | null;
  readonly phase: 'first_byte' | 'body';
  /** What came instead of HTTP/2. */
  readonly beginning: Uint8Array;
};

type Library = typeof import('node:http2');
let library: Library | undefined;

/** Few probes need it, and it takes 6 MB. */
export async function loadHttp2(): Promise<Library> {
  library ??= await import('node:http2');
  return library;
}

/** A response has as many headers as one of HTTP/1.1. */
const maxHeaders = 1_024;
/** What the library may hold of one connection. */
const maxMegabytes = 1;
/** As much as a body may have, so that a distant server need not wait for a window update. */
const ownWindow = 1_048_576;

const ignored = (): void => undefined;

/**
 * Sends one request over a connection that speaks HTTP/2 and nothing has used yet, and reads its
 * response. Always closes the connection. The deadline ends every mode.
 *
 * Modes: `first_byte` (the request has left) → `body` (the head has come) → over.
 */
export function requestByHttp2(
  socket: Socket,
  { headers, body }: Http2Request,
  receiver: Http2Receiver,
  deadline: CheckDeadline,
): Promise<Http2End> {
  return new Promise((resolve, reject) => {
    const watch = new FrameWatch();
    let phase: Http2End['phase'] = 'first_byte';
    let over = false;
    let isWaiting = false;
    let isEnded = false;
    /** How the connection below ended, where it did so by itself. */
    let closedBy: string | undefined;
    let session: ClientHttp2Session | undefined;
    let stream: ClientHttp2Stream | undefined;

    const finish = (code: string | null): void => {
      if (over) return;
      over = true;
      socket
        .off('data', take)
        .off('end', ended)
        .off('close', ended)
        .off('error', failed)
        .on('error', ignored);
      stream?.destroy();
      session?.destroy();
      watched.destroy();
      socket.destroy();
      resolve({ code, phase, beginning: watch.beginning });
    };
    /** Why there is no more to come. What the server said of it counts first. */
    const whyOver = (): string => {
      if (watch.fault !== null) return watch.fault;
      if (watch.ending !== null) return watch.ending;
      // The library found a fault that we did not look for.
      if (closedBy === undefined || watch.isAnswered) return ownCodes.malformed;
      if (phase === 'body') return ownCodes.incomplete;
      return watch.beginning.length > 0 ? ownCodes.malformed : closedBy;
    };

    // Our own stream between the socket and the library: all bytes pass the watch.
    const watched = new Duplex({
      read: () => {
        if (!isWaiting) socket.resume();
      },
      write: (part: Buffer, _encoding, done) => {
        socket.write(part, () => done());
      },
      final: (done) => done(),
      destroy: (_error, done) => done(null),
    });
    watched.on('error', ignored);
    const take = (bytes: Buffer): void => {
      const count = watch.take(bytes);
      if (watch.fault !== null) finish(watch.fault);
      else if (
        count > 0 &&
        !watched.push(count === bytes.length ? bytes : bytes.subarray(0, count))
      )
        socket.pause();
    };
    const close = (code: string): void => {
      closedBy ??= code;
      // The library would drop what it has not given us yet.
      if (!isEnded && !watch.isAnswered) watched.push(null);
      isEnded = true;
    };
    const ended = (): void => close(ownCodes.closed);
    const failed = (error: unknown): void => close(codeOf(error, 'EUNKNOWN'));

    // Reads what has already arrived first: after a pause of this process, the deadline fires
    // before the sockets.
    deadline.stop = () =>
      void setImmediate(() => finish(isWaiting ? ownCodes.memory : ownCodes.deadline));
    if (deadline.isOver()) return finish(ownCodes.deadline);
    socket.on('data', take);
    socket.once('end', ended);
    socket.once('close', ended);
    socket.once('error', failed);

    const start = ({ connect }: Library): void => {
      if (over) return;
      session = connect('http://localhost', {
        createConnection: () => watched,
        maxHeaderListPairs: maxHeaders,
        maxSessionMemory: maxMegabytes,
        maxReservedRemoteStreams: 0,
        settings: {
          enablePush: false,
          maxHeaderListSize: maxHeaderBytes,
          initialWindowSize: ownWindow,
        },
      });
      session.on('error', ignored);
      session.once('close', () => setImmediate(() => finish(whyOver())));
      session.once('connect', () => session?.setLocalWindowSize(ownWindow));
      stream = session.request(headers.flat(), { endStream: body === null });
      stream.on('error', ignored);
      stream.on('response', (_headers, flags, raw) => {
        phase = 'body';
        const fields = fieldsOf(raw);
        const status = Number(fields.find(([name]) => name === ':status')?.[1]);
        const isLast = (flags & endOfStream) !== 0;
        // What came packed into few bytes is bounded as what comes in full.
        if (fields.flat().join('').length > maxHeaderBytes) return finish(ownCodes.headersTooLarge);
        if (receiver.head(status, fields, isLast)) finish(null);
      });
      stream.on('trailers', (_headers, _flags, raw) => receiver.trailers?.(fieldsOf(raw)));
      stream.on('data', (part: Buffer) => {
        const goOn = (): void => {
          isWaiting = false;
          if (over) return;
          receive();
          stream?.resume();
          socket.resume();
        };
        const receive = (): void => {
          const answer = receiver.data(part, goOn);
          if (answer === true) finish(null);
          if (answer !== 'wait') return;
          isWaiting = true;
          stream?.pause();
          socket.pause();
        };
        receive();
      });
      stream.once('end', () => {
        if (watch.isAnswered) finish(null);
      });
      stream.once('close', () => setImmediate(() => finish(whyOver())));
      if (body !== null) stream.end(body);
    };
    if (library) start(library);
    else loadHttp2().then(start, reject);
  });
}

/** Of the library: NGHTTP2_FLAG_END_STREAM. */
const endOfStream = 1;

function fieldsOf(raw: readonly string[] | undefined): HeaderField[] {
  const fields: HeaderField[] = [];
  for (let at = 0; at + 1 < (raw?.length ?? 0); at += 2)
    fields.push([raw?.[at] ?? '', raw?.[at + 1] ?? '']);
  return fields;
}
