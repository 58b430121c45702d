import { Readable } from 'node:stream';
import { codeOf } from '../../shared/base/error-code.ts';
import type { ResponseReader } from './https-reader.ts';

/** Compressions that a server may use although none was asked for. Few do: node's zlib is loaded for the first. */
const decoders = async () => {
  const { constants, createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } = await import('node:zlib');
  return {
    gzip: createGunzip,
    'x-gzip': createGunzip,
    deflate: createInflate,
    br: createBrotliDecompress,
    // A frame may ask for a window of its own size: never one beyond 8 MiB, which is what browsers give.
    zstd: () => createZstdDecompress({ params: { [constants.ZSTD_d_windowLogMax]: 23 } }),
  } as const;
};

const encodingOf = (reader: ResponseReader): keyof Awaited<ReturnType<typeof decoders>> | undefined => {
  const value = reader.headers.find(([name]) => name === 'content-encoding')?.[1].toLowerCase();
  return value === 'gzip' || value === 'x-gzip' || value === 'deflate' || value === 'br' || value === 'zstd' ? value : undefined;
};

/** The body as people read it, never more than `most` bytes of it: a bomb stops growing there. What cannot be unpacked stays as it came. */
export const decoded = async (reader: ResponseReader, most: number): Promise<{ body: Uint8Array; truncated: boolean }> => {
  const raw = reader.body;
  const encoding = encodingOf(reader);
  if (encoding === undefined || raw.length === 0) return { body: raw, truncated: reader.truncated };
  const decoder = (await decoders())[encoding]();
  const parts: Buffer[] = [];
  let size = 0;
  try {
    // Ends by itself at the limit; a kept beginning of a longer body ends with an error after all that it holds.
    for await (const part of Readable.from([raw]).compose(decoder)) {
      if (!Buffer.isBuffer(part)) continue;
      parts.push(part);
      size += part.length;
      if (size > most) break;
    }
  } catch (error) {
    if (parts.length === 0 && codeOf(error) !== 'Z_BUF_ERROR') return { body: raw, truncated: reader.truncated };
  } finally {
    decoder.destroy();
  }
  return { body: Buffer.concat(parts).subarray(0, most), truncated: reader.truncated || size > most };
};
