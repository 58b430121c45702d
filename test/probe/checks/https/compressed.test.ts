import { randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { afterAll, describe, expect, test } from 'vitest';
import { type RawTarget, startRawTarget } from '../../../support/targets.ts';
import { httpsChecker } from '../../support/checkers.ts';

/** Compressed answers that nobody asked for and that are not whole. An error that nobody catches ends a probe, and here the run. */

const targets: RawTarget[] = [];
afterAll(() => Promise.all(targets.map(({ close }) => close())));

const check = httpsChecker();
const page = `the beginning ${randomBytes(300_000).toString('base64')} the end`;
const ways = { gzip: gzipSync, deflate: deflateSync, br: brotliCompressSync, zstd: zstdCompressSync } as const;
const encodings = ['gzip', 'deflate', 'br', 'zstd'] as const;

/** What is announced, what of it comes, and whether the connection then stays open. */
type Sent = { readonly encoding: string; readonly length: number | null; readonly bytes: Buffer; readonly hangs?: boolean };

const served = async ({ encoding, length, bytes, hangs = false }: Sent): Promise<string> => {
  const target = await startRawTarget((socket: Socket) => {
    socket.once('data', () => {
      const framing = length === null ? '' : `Content-Length: ${length}\r\n`;
      socket.write(`HTTP/1.1 200 OK\r\nContent-Encoding: ${encoding}\r\n${framing}Connection: close\r\n\r\n`);
      socket.write(bytes);
      if (!hangs) socket.end();
    });
  });
  targets.push(target);
  return target.url();
};

describe('a compressed answer', () => {
  test.each(encodings)('in %s that is cut is judged by what came of it', async (encoding) => {
    const whole = ways[encoding](page);
    const cut = whole.subarray(0, Math.floor(whole.length * 0.7));
    const url = await served({ encoding, length: null, bytes: cut });
    const { outcome, sentence, evidence } = await check(url, { body_contains: 'the beginning' });
    expect({ outcome, sentence }).toEqual({ outcome: 'ok', sentence: null });
    expect(evidence.body).toMatch(/^the beginning/);
    expect((await check(url, { body_contains: 'the end' })).sentence).toMatch(/^Body does not contain "the end"/);
  });

  // What zstd packs comes out by blocks of 128 KiB, and so much is not kept.
  test.each(['gzip', 'deflate', 'br'] as const)('in %s of which only the first bytes are kept shows its beginning', async (encoding) => {
    const words = `the beginning ${randomBytes(40_000).toString('base64')}`;
    const { outcome, evidence } = await check(await served({ encoding, length: null, bytes: ways[encoding](words) }));
    expect(outcome).toBe('ok');
    expect(evidence.body).toMatch(/^the beginning/);
  });

  test.each(encodings)('in %s that hangs is told as a time limit', async (encoding) => {
    const whole = ways[encoding](page);
    const url = await served({ encoding, length: whole.length, bytes: whole.subarray(0, whole.length - 20), hangs: true });
    const { sentence } = await check(url, { body_contains: 'the end' }, { timeout_ms: 500 });
    expect(sentence).toBe('No complete answer within 500 ms (while reading the body)');
  });

  test.each(encodings)('in %s that hardly compresses is read to the limit and no further', async (encoding) => {
    const noise = Buffer.concat([Buffer.from('the beginning '), randomBytes(3 * 1_048_576)]);
    const url = await served({ encoding, length: null, bytes: ways[encoding](noise) });
    const { outcome, sentence, evidence } = await check(url, { body_contains: 'the end' });
    expect({ outcome, sentence }).toEqual({
      outcome: 'fail',
      sentence: 'Body does not contain "the end" in the first 1 MiB, more was not read',
    });
    expect(evidence.body).toMatch(/^the beginning/);
  });

  test.each(encodings)('in %s that is nonsense stays as it came', async (encoding) => {
    const { outcome, evidence } = await check(await served({ encoding, length: null, bytes: Buffer.from('plain words') }));
    expect(outcome).toBe('ok');
    expect(evidence.body).toBe('plain words');
  });

  test.each([
    ['identity, gzip', [gzipSync]],
    ['IDENTITY\r\nContent-Encoding: gzip', [gzipSync]],
    ['br\r\nContent-Encoding: gzip', [brotliCompressSync, gzipSync]],
    ['gzip, gzip', [gzipSync, gzipSync]],
  ] as const)('in %j is unpacked in turn', async (encoding, packed) => {
    const bytes = packed.reduce((inside, pack) => pack(inside), Buffer.from('plain words'));
    const { outcome, evidence } = await check(await served({ encoding, length: bytes.length, bytes }), { body_contains: 'plain words' });
    expect({ outcome, body: evidence.body }).toEqual({ outcome: 'ok', body: 'plain words' });
  });

  test('in more encodings than anybody uses, or one that is not known, stays as it came', async () => {
    const bytes = gzipSync('plain words');
    for (const encoding of ['gzip, gzip, gzip, gzip', 'gzip, compress'])
      expect((await check(await served({ encoding, length: bytes.length, bytes }))).evidence.body).not.toContain('plain words');
  });
});
