import type { Transform } from 'node:stream';
import pLimit from 'p-limit';
import { GrowingBytes } from './check-body-memory.ts';
import type { ResponseReader } from './https-reader.ts';

/**
 * Compressions that a server may use although none was asked for. Few do: node's zlib is loaded for the first. Each gives what it holds when the
 * data end before their time, because that is all there will be.
 */
const decoders = async () => {
  const { constants, createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } = await import('node:zlib');
  const soFar = { finishFlush: constants.Z_SYNC_FLUSH };
  return {
    gzip: () => createGunzip(soFar),
    'x-gzip': () => createGunzip(soFar),
    deflate: () => createInflate(soFar),
    br: () => createBrotliDecompress({ finishFlush: constants.BROTLI_OPERATION_FLUSH }),
    // A frame may ask for a window of its own size: never one beyond 8 MiB, which is what browsers give.
    zstd: () => createZstdDecompress({ finishFlush: constants.ZSTD_e_flush, params: { [constants.ZSTD_d_windowLogMax]: 23 } }),
  } as const;
};

type Encoding = keyof Awaited<ReturnType<typeof decoders>>;
const isKnown = (value: string): value is Encoding => ['gzip', 'x-gzip', 'deflate', 'br', 'zstd'].includes(value);

/** More than these nobody sends; each takes memory. */
const mostEncodings = 3;

/** In the order in which they were applied, from all headers of the name; none where one of them is not known. */
const encodingsOf = (reader: ResponseReader): readonly Encoding[] => {
  const values = reader.headers
    .filter(([name]) => name === 'content-encoding')
    .flatMap(([, value]) => value.toLowerCase().split(','))
    .map((value) => value.trim())
    .filter((value) => value !== '' && value !== 'identity');
  const known = values.filter(isKnown);
  return known.length === values.length && known.length <= mostEncodings ? known : [];
};

type Inflated = { readonly bytes: GrowingBytes; readonly isLonger: boolean };

/** What comes out of a decoder until the data end, cannot be read on, or `most` is passed. Its errors have a listener for as long as it lives. */
const inflated = (decoder: Transform, raw: Buffer, most: number): Promise<Inflated> =>
  new Promise((resolve) => {
    const bytes = new GrowingBytes(most);
    let isLonger = false;
    const finish = (): void => {
      decoder.destroy();
      resolve({ bytes, isLonger });
    };
    decoder.on('error', finish);
    decoder.once('end', finish);
    decoder.on('data', (part: Buffer) => {
      if (isLonger) return;
      isLonger = bytes.length + part.length > most;
      bytes.add(part);
      if (isLonger) finish();
    });
    decoder.end(raw);
  });

/** The last that was applied comes off first. */
const unpacked = async (raw: Buffer, encodings: readonly Encoding[], most: number): Promise<Inflated> => {
  const decoder = await decoders();
  let [packed, isLonger] = [raw, false];
  let bytes = new GrowingBytes(most);
  for (const encoding of encodings.toReversed()) {
    const one = await inflated(decoder[encoding](), packed, most);
    bytes.free();
    bytes = one.bytes;
    isLonger ||= one.isLonger;
    packed = Buffer.from(bytes.bytes);
  }
  return { bytes, isLonger };
};

/** `free` gives back its memory: nothing of the body is looked at any more. */
export type Decoded = { readonly body: Uint8Array; readonly truncated: boolean; readonly free: () => void };

/** So many are unpacked at a time: what that takes beside the body is up to 16 MiB each. */
const atATime = pLimit(2);

/** The body as people read it, never more than `most` bytes of it: a bomb stops growing there. What cannot be unpacked at all stays as it came. */
export const decoded = async (reader: ResponseReader, most: number): Promise<Decoded> => {
  const raw = reader.body;
  const encodings = encodingsOf(reader);
  const asItCame = { body: raw, truncated: reader.truncated, free: () => reader.kept.free() };
  if (encodings.length === 0 || raw.length === 0) return asItCame;
  const { bytes, isLonger } = await atATime(() => unpacked(raw, encodings, most));
  if (bytes.length === 0) return asItCame;
  // A thread may go on reading what was broken off: that is left to the collector.
  if (!isLonger) reader.kept.free();
  return { body: bytes.bytes, truncated: reader.truncated || isLonger, free: () => bytes.free() };
};
