import { describe, expect, test } from 'vitest';
import { healthRequest, maxAnswer, readHealth } from '../../../../probe/checks/grpc/message.ts';
import fc from '../../../support/random.ts';
import { readsAnyHealth } from '../../support/grpc.ts';

const framed = (hex: string, flag = 0): Buffer => {
  const message = Buffer.from(hex.replaceAll(' ', ''), 'hex');
  const head = Buffer.from([flag, 0, 0, 0, 0]);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
};

describe('a health request', () => {
  test.each([
    ['', '0000000000'],
    ['shop', '00 00000006 0a 04 73686f70'],
    ['ü', '00 00000004 0a 02 c3bc'],
  ])('%j', (service, hex) => {
    expect(healthRequest(service).toString('hex')).toBe(hex.replaceAll(' ', ''));
  });

  test('of a long name has a length of two bytes', () => {
    const bytes = healthRequest('x'.repeat(255));
    expect(bytes.subarray(0, 8).toString('hex')).toBe('00000001020aff01');
    expect(bytes.length).toBe(5 + 3 + 255);
  });
});

describe('a health answer', () => {
  test.each([
    ['SERVING', '08 01', 1],
    ['NOT_SERVING', '08 02', 2],
    ['nothing, which is UNKNOWN', '', 0],
    ['a number in more bytes than it needs', '08 81 00', 1],
    ['the last of several', '08 02 08 01', 1],
    ['a new status', '08 07', 7],
    ['a negative one', '08 ff ff ff ff ff ff ff ff ff 01', 2 ** 32 - 1],
    ['fields that we do not know', '12 02 6869 08 01 1d 01020304 21 0102030405060708 28 96 01', 1],
  ])('%s', (_what, hex, status) => {
    expect(readHealth(framed(hex))).toBe(status);
  });

  test.each([
    ['none', Buffer.alloc(0)],
    ['incomplete', Buffer.from([0, 0, 0, 0])],
    ['incomplete', framed('08 01').subarray(0, 6)],
    ['compressed', framed('08 01', 1)],
    ['malformed', framed('08 01', 2)],
    ['malformed', Buffer.concat([framed('08 01'), framed('08 01')])],
    ['malformed', framed('08')],
    ['malformed', framed('08 80')],
    ['malformed', framed('08 ff ff ff ff ff ff ff ff ff ff 01')],
    ['malformed', framed('00 01')],
    ['malformed', framed('0b 08 01 0c')],
    ['malformed', framed('12 05 68')],
    ['malformed', framed('1d 01')],
    ['malformed', framed('12 ff ff ff ff 0f 01')],
    ['too_long', Buffer.from([0, 0xff, 0xff, 0xff, 0xff, 8, 1])],
    ['too_long', Buffer.concat([Buffer.from([0, 0, 0, 16, 0]), Buffer.alloc(maxAnswer)])],
  ])('that is %s is refused: %o', (_is, bytes) => {
    expect(readHealth(bytes)).toBeUndefined();
  });

  test('of any bytes is read, or refused', () => {
    fc.assert(readsAnyHealth, { numRuns: 1_000 });
  });
});
