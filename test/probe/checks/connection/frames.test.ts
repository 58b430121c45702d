import { describe, expect, test } from 'vitest';
import { isHttp2, maxHeaderBytes } from '../../../../probe/checks/connection/frames.ts';
import fc from '../../../support/random.ts';
import {
  continuation,
  data,
  endHeaders,
  endStream,
  frame,
  goAway,
  headers,
  padded,
  ping,
  reset,
  settings,
  statusOf,
  windowUpdate,
} from '../../support/frames.ts';
import { framesInPieces, watched } from '../../support/fuzzed-frames.ts';

const times = (count: number, one: Buffer): Buffer => Buffer.concat(Array(count).fill(one));
const ok = headers(statusOf(200));
const begun = Buffer.concat([settings, ok]);

describe('the frames of a server', () => {
  test.each([
    ['headers alone', [settings, headers(statusOf(200), endHeaders | endStream)]],
    ['a body', [begun, data('x', endStream)]],
    ['trailers', [begun, data('x'), headers(statusOf(200), endHeaders | endStream)]],
    [
      'headers in pieces',
      [settings, headers(statusOf(200), endStream), continuation(Buffer.alloc(0), endHeaders)],
    ],
  ])('are passed on until our stream is complete: %s', (_what, parts) => {
    const whole = Buffer.concat(parts);
    for (const size of [1, 7, whole.length])
      expect(watched(Buffer.concat([whole, goAway(2), ping]), size)).toEqual({
        fault: null,
        ending: null,
        isAnswered: true,
        beginning: '',
        passed: whole.length,
      });
  });

  test('of other streams do not complete ours', () => {
    const other = frame(0, endStream, 3, Buffer.from('x'));
    expect(watched(Buffer.concat([begun, other])).isAnswered).toBe(false);
  });

  test.each([
    ['HTTP/1.1 400 Bad Request\r\n\r\n', 'HTTP/1.1 400 Bad Request\r\n\r\n'],
    ['SSH-2.0-OpenSSH', 'SSH-2.0-OpenSSH'],
    [ping, ping.toString('latin1')],
    [frame(4, 1, 0), frame(4, 1, 0).toString('latin1')],
  ])('begin with its settings, or are shown as they came: %j', (words, beginning) => {
    const bytes = typeof words === 'string' ? Buffer.from(words) : words;
    for (const size of [1, bytes.length]) {
      const seen = watched(bytes, size);
      expect(seen).toMatchObject({ fault: 'MALFORMED', isAnswered: false });
      expect(beginning.startsWith(seen.beginning)).toBe(true);
    }
    expect(isHttp2(bytes)).toBe(false);
    expect(isHttp2(settings)).toBe(true);
  });

  test.each([
    [reset(2), 'RST_STREAM INTERNAL_ERROR'],
    [reset(0), 'RST_STREAM NO_ERROR'],
    [goAway(11), 'GOAWAY ENHANCE_YOUR_CALM'],
    [goAway(0xff_ff), 'GOAWAY 0xffff'],
    [Buffer.concat([reset(7), goAway(1)]), 'RST_STREAM REFUSED_STREAM'],
    [Buffer.concat([goAway(0), reset(13)]), 'RST_STREAM HTTP_1_1_REQUIRED'],
    [Buffer.concat([goAway(0), goAway(11)]), 'GOAWAY ENHANCE_YOUR_CALM'],
    [frame(3, 0, 3, Buffer.alloc(4)), null],
    [frame(7, 0, 0, Buffer.alloc(3)), null],
  ])('end a stream or a connection with a code', (end, ending) => {
    for (const size of [1, 500])
      expect(watched(Buffer.concat([settings, end]), size).ending).toBe(ending);
  });

  test.each([
    ['PING', ping],
    ['SETTINGS', settings],
    ['WINDOW_UPDATE', windowUpdate],
    ['empty DATA', data('')],
    ['filled DATA', data(Buffer.from([200, ...Array<number>(200).fill(0)]), padded)],
    ['PRIORITY', frame(2, 0, 1, Buffer.alloc(5))],
    ['RST_STREAM of streams that are not ours', frame(3, 0, 3, Buffer.alloc(4))],
    ['frames of an unknown type', frame(77, 0, 0, Buffer.alloc(100))],
  ])('may not outweigh the body: %s', (_what, one) => {
    const seen = watched(Buffer.concat([begun, times(4_000, one)]));
    expect(seen).toMatchObject({ fault: 'FRAMING_TOO_LARGE', passed: 0 });
    expect(watched(Buffer.concat([begun, times(100, one)])).fault).toBeNull();
  });

  test('of a body in small pieces are no flood', () => {
    expect(watched(Buffer.concat([begun, times(4_000, data('ten bytes.'))])).fault).toBeNull();
  });

  test.each([
    ['CONTINUATION', (part: Buffer) => continuation(part)],
    ['interim responses', (part: Buffer) => headers(part)],
    ['promises of pushes', (part: Buffer) => frame(5, endHeaders, 1, part)],
  ])('have bounded headers: %s', (_what, of) => {
    const many = (bytes: number) => times(Math.ceil(bytes / 1_000), of(Buffer.alloc(1_000)));
    expect(watched(Buffer.concat([begun, many(maxHeaderBytes + 1_000)])).fault).toBe(
      'HEADERS_TOO_LARGE',
    );
    expect(watched(Buffer.concat([begun, many(maxHeaderBytes / 2)])).fault).toBeNull();
  });

  test('are as large as we allow', () => {
    const claimed = Buffer.from([0, 0x40, 1, 0, 0, 0, 0, 0, 1]);
    expect(watched(Buffer.concat([begun, claimed]))).toMatchObject({
      fault: 'MALFORMED',
      beginning: '',
    });
    expect(watched(Buffer.concat([begun, data(Buffer.alloc(16_384))])).fault).toBeNull();
  });

  test('of any bytes are judged the same in any pieces', () => {
    fc.assert(framesInPieces, { numRuns: 300 });
  });
});
