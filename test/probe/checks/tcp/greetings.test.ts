import { describe, expect, test, vi } from 'vitest';
import { type Exchange, greetings } from '../../../../probe/checks/tcp/greetings.ts';
import type { Banner } from '../../../../shared/checks/tcp/keys.ts';
import fc from '../../../support/random.ts';
import { bytes, readingOf, readsAnything } from '../../support/fuzzed-greetings.ts';

const first = (banner: Banner): Exchange => {
  const [exchange] = greetings[banner].exchanges;
  if (!exchange) throw new Error('no exchange');
  return exchange;
};

const mysql = (body: string): Buffer =>
  Buffer.concat([Buffer.from([body.length, 0, 0, 0]), bytes(body)]);
const error = (state: string): Buffer => {
  const body = bytes(`SFATAL\0VFATAL\0C${state}\0Mno\0\0`);
  return Buffer.concat([Buffer.from([0x45, 0, 0, 0, body.length + 4]), body]);
};

describe('a greeting', () => {
  const right = 'right';
  const unexpected = 'unexpected';
  test.each([
    ['smtp', '220 mail.example ESMTP Postfix\r\n', right],
    ['smtp', '220-mail.example\r\n220-no spam\r\n220 go\r\n', right],
    ['smtp', '220\r\n', right],
    ['smtp', '421 4.3.2 busy\r\n', 421],
    ['smtp', '554-no\r\n554 service\r\n', 554],
    ['smtp', '220-mail.example\r\n', undefined],
    ['smtp', '22', undefined],
    ['smtp', 'SSH-2.0-OpenSSH_9.2\r\n', unexpected],
    ['smtp', 'HTTP/1.1 400 Bad Request\r\n', unexpected],
    ['smtp', '2200 mail\r\n', unexpected],
    ['imap', '* OK [CAPABILITY IMAP4rev1] Dovecot ready.\r\n', right],
    ['imap', '* PREAUTH welcome\r\n', right],
    ['imap', '* BYE too many\r\n', 'BYE'],
    ['imap', '* OK', undefined],
    ['imap', '+OK POP3\r\n', unexpected],
    ['imap', '* OKAY\r\n', unexpected],
    ['ssh', 'SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n', right],
    ['ssh', 'SSH-1.99-Cisco-1.25\n', right],
    ['ssh', 'a word before\r\nanother\r\nSSH-2.0-x\r\n', right],
    ['ssh', 'SSH-1.5-old\r\n', unexpected],
    ['ssh', 'Exceeded MaxStartups\r\n', 'Exceeded MaxStartups'],
    ['ssh', 'Not allowed at this time\r\n', 'Not allowed at this time'],
    ['redis', '+PONG\r\n', right],
    ['redis', '-NOAUTH Authentication required.\r\n', right],
    ['redis', '-NOPERM no\r\n', right],
    ['redis', '-ERR operation not permitted\r\n', right],
    ['redis', '-LOADING Redis is loading the dataset in memory\r\n', 'LOADING'],
    ['redis', '-MASTERDOWN Link with MASTER is down\r\n', 'MASTERDOWN'],
    ['redis', '-DENIED Redis is running in protected mode\r\n', 'DENIED'],
    ['redis', '-ERR max number of clients reached\r\n', 'too many clients'],
    ['redis', 'ERROR\r\n', unexpected],
    ['redis', '$4\r\nPONG\r\n', unexpected],
    ['postgres', Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 5]), right],
    ['postgres', error('28P01'), right],
    ['postgres', error('28000'), right],
    ['postgres', error('57P03'), 'starting up or shutting down'],
    ['postgres', error('53300'), 'too many connections'],
    ['postgres', error('constructor'), right],
    ['postgres', 'HTTP/1.1 400 Bad Request\r\n', unexpected],
    ['postgres', Buffer.from([0x45, 0xff, 0xff, 0xff, 0xff]), unexpected],
    ['mysql', mysql('\x0a8.4.0\0abcdefgh'), right],
    ['mysql', mysql('\xff\x10\x04Too many connections'), 1_040],
    ['mysql', mysql('\xff\x69\x04Host is blocked'), 1_129],
    ['mysql', mysql("\xff\x6a\x04Host '192.0.2.1' is not allowed to connect"), right],
    ['mysql', Buffer.from([5, 0, 0, 0, 0x0b, 8, 5, 0x1a, 0]), unexpected],
    ['mysql', 'SSH-2.0-OpenSSH\r\n', unexpected],
    ['mysql', Buffer.alloc(4), unexpected],
  ] as const)('of %s: %j is %s', (banner, said, expected) => {
    for (const size of [1, 3, 1_000]) {
      const found = readingOf(first(banner), said, size);
      expect(found?.is === 'refused' ? found.code : found?.is).toBe(expected);
    }
  });
});

test('lines before the version of an SSH server are each read once', () => {
  const lines = Buffer.alloc(60_000, '\n');
  const search = vi.spyOn(Buffer.prototype, 'indexOf');
  const { read } = first('ssh');
  try {
    expect(read(lines, lines.length - 1)).toBeUndefined();
    expect(search.mock.calls.length).toBeLessThan(10);
  } finally {
    search.mockRestore();
  }
});

describe('a reader of any protocol', () => {
  test('throws at nothing, says the same however the bytes are cut, and uses no more than there are', () => {
    fc.assert(readsAnything, { numRuns: 300 });
  });
});
