import type { ServerHttp2Stream } from 'node:http2';
import { expect } from 'vitest';
import { readHealth } from '../../../probe/checks/grpc/message.ts';
import fc from '../../support/random.ts';

/** Answers of gRPC's health service, right and wrong. */

/** A message as gRPC frames it. */
export const framed = (message: Uint8Array, flag = 0): Buffer => {
  const head = Buffer.from([flag, 0, 0, 0, 0]);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
};

export type Health = {
  /** Of the message; none where undefined. */
  readonly status?: number;
  /** What is sent in its place. */
  readonly bytes?: Buffer;
  readonly trailers?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string | number>>;
  /** Trailers in the place of headers. */
  readonly only?: boolean;
};

/** How a server answers each call. */
export const answerHealth =
  ({ status, bytes, trailers = { 'grpc-status': '0' }, headers = {}, only = false }: Health) =>
  (stream: ServerHttp2Stream): void => {
    const head = { ':status': 200, 'content-type': 'application/grpc', ...headers };
    if (only) {
      stream.respond({ ...head, ...trailers }, { endStream: true });
      return;
    }
    stream.respond(head, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers(trailers));
    const message = bytes ?? (status === undefined ? null : framed(Buffer.from([8, status])));
    if (message) stream.end(message);
    else stream.end();
  };

/** For as many runs as a test has time for. */
export const readsAnyHealth = fc.property(
  fc.oneof(
    fc.uint8Array({ maxLength: 300 }),
    fc.uint8Array({ maxLength: 300 }).map((message) => framed(message)),
    fc
      .array(fc.tuple(fc.constantFrom(8, 9, 10, 13, 18, 26), fc.uint8Array({ maxLength: 11 })), {
        maxLength: 12,
      })
      .map((parts) =>
        framed(Buffer.concat(parts.map(([tag, rest]) => Buffer.from([tag, ...rest])))),
      ),
  ),
  (bytes) => {
    const read = readHealth(bytes);
    if (read !== undefined) {
      expect(Number.isInteger(read)).toBe(true);
      expect(read).toBeGreaterThanOrEqual(0);
    }
  },
);
