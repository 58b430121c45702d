import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { handshake } from '../connection/handshake.ts';
import {
  type HeaderField,
  type Http2Request,
  headerFields,
  requestByHttp2,
} from '../connection/http2.ts';
import { type CheckDeadline, GrowingBytes } from '../limits.ts';
import type { HopFailure } from './evidence.ts';
import type { Exchanged, ExchangeRequest, ResponseRead } from './exchange.ts';
import { readerLimits } from './reader.ts';

/** Headers that mean nothing in HTTP/2, or are written otherwise there. */
const notForHttp2 = ['connection', 'host'];

/** A request of HTTP/1.1 as one of HTTP/2. */
export function asHttp2(bytes: Buffer, isSecure: boolean): Http2Request {
  const end = bytes.indexOf('\r\n\r\n');
  const first = bytes.indexOf('\r\n');
  const [method = '', path = ''] = bytes.toString('latin1', 0, first).split(' ');
  const fields = headerFields(bytes.subarray(first, end));
  const body = bytes.subarray(end + 4);
  return {
    headers: [
      [':method', method],
      [':scheme', isSecure ? 'https' : 'http'],
      [':authority', fields.find(([name]) => name === 'host')?.[1] ?? ''],
      [':path', path],
      ...fields.filter(([name]) => !notForHttp2.includes(name)),
    ],
    body: body.length > 0 ? body : null,
  };
}

/**
 * The exchange of `exchange.ts` over HTTP/2: the same bounds, and the request leaves only after the
 * certificate has been judged. Always closes the connection.
 */
export async function exchangeByHttp2(
  socket: Socket,
  began: number,
  request: ExchangeRequest,
  deadline: CheckDeadline,
): Promise<Exchanged> {
  const reader = new Http2Reader(request.keep);
  const secured =
    socket instanceof TLSSocket ? await handshake(socket, began, request, deadline) : null;
  const tls = secured?.tls ?? null;
  const tls_ms = secured?.ms ?? null;
  if (secured?.failure)
    return { tls, tls_ms, reader, failure: secured.failure, first_byte_ms: null };

  const sent = performance.now();
  let first_byte_ms: number | null = null;
  const { code, phase, beginning } = await requestByHttp2(
    socket,
    asHttp2(request.bytes, secured !== null),
    {
      head: (status, fields, isLast) => {
        first_byte_ms = performance.now() - sent;
        reader.status = status;
        reader.headers = fields.filter(([name]) => !name.startsWith(':'));
        return isLast || request.headOnly(status);
      },
      data: (part, goOn) =>
        request.memory.allows(reader.keptAfter(part.length), goOn) ? reader.take(part) : 'wait',
    },
    deadline,
  );
  reader.beginning = beginning;
  const failure: HopFailure | null = code === null ? null : { phase, code };
  return { tls, tls_ms, reader, failure, first_byte_ms };
}

/** What was read of a response. */
class Http2Reader implements ResponseRead {
  readonly isHttp2 = true;
  status = 0;
  headers: readonly HeaderField[] = [];
  read = 0;
  truncated = false;
  beginning: Uint8Array = new Uint8Array();
  readonly kept: GrowingBytes;
  readonly #keep: number;

  constructor(keep: number) {
    this.#keep = keep;
    this.kept = new GrowingBytes(keep);
  }

  get body(): Buffer {
    return this.kept.bytes;
  }

  /** The most bytes of body that are kept once this many more have come. */
  keptAfter(bytes: number): number {
    return Math.min(this.#keep, this.kept.length + bytes);
  }

  /** Takes the next bytes of the body; returns whether there are too many. */
  take(part: Buffer): boolean {
    const room = readerLimits.body - this.read;
    this.truncated = part.length > room;
    this.read += Math.min(part.length, room);
    this.kept.add(part);
    return this.truncated;
  }
}
