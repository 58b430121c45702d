import { describe, expect, test } from 'vitest';
import { ResponseReader, readerLimits } from '../../../../probe/checks/https/reader.ts';
import fc from '../../../support/random.ts';

type Fed = {
  status: number;
  headers: readonly (readonly [string, string])[];
  body: string;
  read: number;
  truncated: boolean;
  fault: string | null;
};

/** Feeds a response in pieces cut at the given places, and then the end of the connection. */
const feed = (
  raw: string | Buffer,
  options: { method?: string; cuts?: readonly number[]; body?: number; keep?: number } = {},
): Fed => {
  const bytes = Buffer.isBuffer(raw) ? raw : Buffer.from(raw, 'latin1');
  const reader = new ResponseReader(options.method ?? 'GET', {
    ...readerLimits,
    body: options.body ?? readerLimits.body,
    keep: options.keep ?? readerLimits.body,
  });
  const places = [
    ...new Set([0, ...(options.cuts ?? []).map((cut) => cut % (bytes.length + 1)), bytes.length]),
  ].toSorted((a, b) => a - b);
  for (let i = 1; i < places.length; i += 1)
    if (reader.take(bytes.subarray(places[i - 1], places[i]))) break;
  reader.end();
  const { status, headers, read, truncated, fault } = reader;
  return { status, headers, body: reader.body.toString('latin1'), read, truncated, fault };
};

const head = (...lines: readonly string[]): string => `${lines.join('\r\n')}\r\n\r\n`;

describe('a response is read', () => {
  test.each<[string, string, Partial<Fed>]>([
    [
      'with a length',
      `${head('HTTP/1.1 200 OK', 'Content-Length: 5')}hello and more`,
      { status: 200, body: 'hello' },
    ],
    [
      'with two equal lengths',
      `${head('HTTP/1.1 200 OK', 'Content-Length: 5', 'Content-Length: 5')}hello`,
      { body: 'hello', fault: null },
    ],
    [
      'in chunks',
      `${head('HTTP/1.1 200 OK', 'Transfer-Encoding: chunked')}5\r\nhello\r\n6;x=y\r\n world\r\n0\r\nTrailer: t\r\n\r\n`,
      { body: 'hello world', fault: null },
    ],
    [
      'in chunks although a length is given',
      `${head('HTTP/1.1 200 OK', 'Content-Length: 3', 'Transfer-Encoding: gzip, chunked')}5\r\nhello\r\n0\r\n\r\n`,
      { body: 'hello', fault: null },
    ],
    [
      'until the connection closes',
      `${head('HTTP/1.0 200 OK')}hello`,
      { body: 'hello', fault: null },
    ],
    ['without a reason', `${head('HTTP/1.1 204')}`, { status: 204, body: '', fault: null }],
    [
      'after interim ones',
      `${head('HTTP/1.1 103 Early Hints', 'Link: x')}${head('HTTP/1.1 100 Continue')}${head('HTTP/1.1 200 OK', 'Content-Length: 2')}ok`,
      { status: 200, body: 'ok' },
    ],
    [
      'with bare line feeds',
      'HTTP/1.1 200 OK\nContent-Length: 2\n\nok',
      { status: 200, body: 'ok', fault: null },
    ],
    [
      'that has no body by its status',
      `${head('HTTP/1.1 304 Not Modified', 'Content-Length: 5')}`,
      { status: 304, body: '', fault: null },
    ],
    [
      "with a status of nobody's class",
      `${head('HTTP/1.1 999 Request denied', 'Content-Length: 2')}no`,
      { status: 999, body: 'no', fault: null },
    ],
    [
      'with a status just beyond those that are known',
      head('HTTP/1.1 600 Odd', 'Content-Length: 0'),
      { status: 600, fault: null },
    ],
    [
      'with an empty body',
      `${head('HTTP/1.1 200 OK', 'Content-Length: 0')}`,
      { body: '', fault: null },
    ],
  ])('%s', (_how, raw, expected) => {
    expect(feed(raw)).toMatchObject(expected);
  });

  test('to HEAD, which has no body whatever it says', () => {
    expect(feed(head('HTTP/1.1 200 OK', 'Content-Length: 5'), { method: 'HEAD' })).toMatchObject({
      status: 200,
      body: '',
      fault: null,
    });
  });

  test('with headers in lower case, folded lines joined, and invalid lines skipped', () => {
    expect(
      feed(
        head(
          'HTTP/1.1 204 No',
          'X-One:  a ',
          ' b',
          'no header',
          ': empty',
          'Bad Name: x',
          'X-Two:c:d',
        ),
      ).headers,
    ).toEqual([
      ['x-one', 'a b'],
      ['x-two', 'c:d'],
    ]);
  });
});

describe('a response is refused', () => {
  test.each<[string, string, string]>([
    ['that is no HTTP', 'SSH-2.0-OpenSSH_9.2\r\n', 'MALFORMED'],
    ['that is HTTP/2', 'HTTP/2 200\r\n\r\n', 'MALFORMED'],
    ['with a status out of range', head('HTTP/1.1 099 Odd'), 'MALFORMED'],
    ['with a status that is no number', head('HTTP/1.1 2x0 Odd'), 'MALFORMED'],
    [
      'with two different lengths',
      `${head('HTTP/1.1 200 OK', 'Content-Length: 5', 'Content-Length: 6')}hello`,
      'MALFORMED',
    ],
    [
      'with a negative length',
      `${head('HTTP/1.1 200 OK', 'Content-Length: -5')}hello`,
      'MALFORMED',
    ],
    [
      'with a chunk size that is none',
      `${head('HTTP/1.1 200 OK', 'Transfer-Encoding: chunked')}xyz\r\n`,
      'MALFORMED',
    ],
    [
      'with a chunk size without end',
      `${head('HTTP/1.1 200 OK', 'Transfer-Encoding: chunked')}${'0'.repeat(10_000)}`,
      'MALFORMED',
    ],
    [
      'with one huge header',
      head('HTTP/1.1 200 OK', `X: ${'a'.repeat(140_000)}`),
      'HEADERS_TOO_LARGE',
    ],
    [
      'with a header that never ends',
      `HTTP/1.1 200 OK\r\nX: ${'a'.repeat(140_000)}`,
      'HEADERS_TOO_LARGE',
    ],
    [
      'with a flood of headers',
      head('HTTP/1.1 200 OK', ...Array.from({ length: 1_100 }, (_, i) => `X-${i}: a`)),
      'HEADERS_TOO_LARGE',
    ],
    [
      'with interim responses without end',
      head('HTTP/1.1 100 Continue').repeat(8_000),
      'HEADERS_TOO_LARGE',
    ],
    [
      'with trailers without end',
      `${head('HTTP/1.1 200 OK', 'Transfer-Encoding: chunked')}0\r\n${'X: y\r\n'.repeat(10_000)}`,
      'FRAMING_TOO_LARGE',
    ],
    [
      'with framing that outweighs its body',
      `${head('HTTP/1.1 200 OK', 'Transfer-Encoding: chunked')}${'1\r\nx\r\n'.repeat(50_000)}0\r\n\r\n`,
      'FRAMING_TOO_LARGE',
    ],
    [
      'with chunk extensions that outweigh its body',
      `${head('HTTP/1.1 200 OK', 'Transfer-Encoding: chunked')}${`1;${'x'.repeat(1_000)}\r\nx\r\n`.repeat(100)}0\r\n\r\n`,
      'FRAMING_TOO_LARGE',
    ],
    ['that never began', '', 'CLOSED'],
    ['that ends in its head', 'HTTP/1.1 200 OK\r\nX: y', 'INCOMPLETE'],
    ['that ends in its body', `${head('HTTP/1.1 200 OK', 'Content-Length: 5')}hel`, 'INCOMPLETE'],
    [
      'that ends in a chunk',
      `${head('HTTP/1.1 200 OK', 'Transfer-Encoding: chunked')}5\r\nhel`,
      'INCOMPLETE',
    ],
    [
      'that ends before its last chunk',
      `${head('HTTP/1.1 200 OK', 'Transfer-Encoding: chunked')}5\r\nhello\r\n`,
      'INCOMPLETE',
    ],
  ])('%s', (_what, raw, fault) => {
    expect(feed(raw).fault).toBe(fault);
    expect(feed(raw, { cuts: Array.from({ length: 100 }, (_, i) => i) }).fault).toBe(fault);
  });
});

describe('a body', () => {
  const long = `${head('HTTP/1.1 200 OK')}${'0123456789'.repeat(100)}`;

  test('is read to its limit and no further', () => {
    expect(feed(long, { body: 25 })).toMatchObject({
      read: 25,
      truncated: true,
      body: '0123456789012345678901234',
      fault: null,
    });
    expect(feed(long, { body: 1_000 })).toMatchObject({ read: 1_000, truncated: false });
    expect(
      feed(`${head('HTTP/1.1 200 OK', 'Content-Length: 999999999999')}abcdef`, { body: 4 }),
    ).toMatchObject({
      read: 4,
      truncated: true,
    });
  });

  test('may trickle out in small pieces', () => {
    const pieces = `${head('HTTP/1.1 200 OK', 'Transfer-Encoding: chunked')}${'1\r\nx\r\n'.repeat(5_000)}${'8\r\nabcdefgh\r\n'.repeat(20_000)}0\r\n\r\n`;
    expect(feed(pieces)).toMatchObject({ read: 165_000, fault: null });
  });

  test('is kept in one buffer of at most twice its size', () => {
    const reader = new ResponseReader('GET', { ...readerLimits, keep: readerLimits.body });
    reader.take(Buffer.from(head('HTTP/1.1 200 OK', 'Connection: close')));
    for (let i = 0; i < 100_000; i += 1) reader.take(Buffer.from('x'));
    expect(reader.body).toHaveLength(100_000);
    expect(reader.body.buffer.byteLength).toBeLessThanOrEqual(200_000);
  });

  test('is counted beyond what is kept', () => {
    expect(feed(long, { keep: 12 })).toMatchObject({
      read: 1_000,
      truncated: false,
      body: '012345678901',
    });
  });
});

test('wherever the network cuts a response, it reads the same', () => {
  const bodies = fc.array(fc.string({ minLength: 1, maxLength: 40, unit: 'binary-ascii' }), {
    maxLength: 5,
  });
  fc.assert(
    fc.property(
      bodies,
      fc.constantFrom('length', 'chunked', 'close'),
      fc.array(fc.nat(), { maxLength: 30 }),
      (parts, framing, cuts) => {
        const body = parts.join('');
        const framed =
          framing === 'length'
            ? `${head('HTTP/1.1 200 OK', `Content-Length: ${body.length}`)}${body}`
            : framing === 'close'
              ? `${head('HTTP/1.1 200 OK', 'X: y')}${body}`
              : `${head('HTTP/1.1 200 OK', 'Transfer-Encoding: chunked')}${parts.map((part) => `${part.length.toString(16)}\r\n${part}\r\n`).join('')}0\r\n\r\n`;
        expect(feed(framed, { cuts })).toMatchObject({
          status: 200,
          body,
          read: body.length,
          fault: null,
        });
        expect(feed(framed, { cuts })).toEqual(feed(framed));
      },
    ),
  );
});

test('whatever bytes come, reading ends without an exception', () => {
  fc.assert(
    fc.property(
      fc.uint8Array({ maxLength: 400 }),
      fc.boolean(),
      fc.array(fc.nat(), { maxLength: 10 }),
      (noise, started, cuts) => {
        const bytes = Buffer.concat([
          Buffer.from(started ? 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n' : ''),
          noise,
        ]);
        const fed = feed(bytes, { cuts });
        expect(fed.status === 0 ? fed.fault : 'read').not.toBeNull();
      },
    ),
  );
});
