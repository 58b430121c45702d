import type { Banner, Upgrade } from '../../../shared/checks/tcp/keys.ts';

/**
 * What servers say first, and what they answer when they are asked for TLS. Pure: bytes in, what they
 * mean out. Never more than a number, or a word of our own, of what a server said.
 */

/** What the bytes of a server mean so far. */
export type Reading =
  /** As it should be; `used` of the bytes belong to it. */
  | { readonly is: 'right'; readonly used: number }
  /** The server wants another command before it goes on. */
  | { readonly is: 'reply'; readonly used: number; readonly send: Buffer }
  /** It speaks the protocol and refuses. */
  | { readonly is: 'refused'; readonly code?: string | number }
  /** It speaks something else. */
  | { readonly is: 'unexpected' };

/** `from`: how many of the bytes were there at the last call. undefined: needs more of them. */
export type Reader = (bytes: Buffer, from: number) => Reading | undefined;

const unexpected: Reading = { is: 'unexpected' };

/** The extensions of SMTP, of which STARTTLS must be one. */
const extensions = reply(250, (text) =>
  /^250[- ]STARTTLS\s*$/im.test(text) ? undefined : { is: 'refused' },
);

/**
 * A reply of SMTP or FTP, on one line or on several: the last one has the code of the first, and a
 * blank after it.
 */
function reply(wanted: number, judge?: (text: string) => Reading | undefined): Reader {
  return byLine(/^[0-9]{0,3}$|^[1-5][0-9]{2}(?:[- \r\n]|$)/, (first, bytes, used) => {
    const code = Number(first.slice(0, 3));
    let end = used;
    if (first[3] === '-') {
      const last = new RegExp(`^${code}(?: .*)?\\r?\\n`, 'm').exec(bytes.toString('latin1'));
      if (!last) return undefined;
      end = last.index + last[0].length;
    }
    if (code !== wanted) return { is: 'refused', code };
    return judge?.(bytes.toString('latin1', 0, end)) ?? right(end);
  });
}

/** Waits for a whole line, and looks at what begins like nothing of ours before it is whole. */
function byLine(
  beginning: RegExp,
  judge: (line: string, bytes: Buffer, used: number) => Reading | undefined,
): Reader {
  return (bytes, from) => {
    if (!beginning.test(bytes.toString('latin1', 0, 8))) return unexpected;
    if (bytes.indexOf(10, from) < 0) return undefined;
    const end = bytes.indexOf(10);
    return judge(bytes.toString('latin1', 0, end).trimEnd(), bytes, end + 1);
  };
}

function right(used: number): Reading {
  return { is: 'right', used };
}

const imapGreeting = byLine(/^(?:\*(?: (?:O|P|B|$)|$)|$)/i, (line, _, used) => {
  if (/^\* (?:OK|PREAUTH)\b/i.test(line)) return right(used);
  return /^\* BYE\b/i.test(line) ? { is: 'refused', code: 'BYE' } : unexpected;
});

/** The answer to our command, after any untagged lines. */
const imapAnswer: Reader = (bytes, from) => {
  if (bytes.indexOf(10, from) < 0) return undefined;
  const tagged = /^a (OK|NO|BAD)\b[^\n]*\n/im.exec(bytes.toString('latin1'));
  if (!tagged) return undefined;
  return tagged[1]?.toUpperCase() === 'OK'
    ? right(tagged.index + tagged[0].length)
    : { is: 'refused' };
};

const pop = byLine(/^(?:\+(?:O(?:K|$)|$)|-(?:E(?:R|$)|$)|$)/, (line, _, used) =>
  line.startsWith('+OK') ? right(used) : { is: 'refused' },
);

/** What OpenSSH says instead of its version when it accepts no one. */
const sshRefusals = ['Exceeded MaxStartups', 'Not allowed at this time'];

/** A server may write other lines before that of its version (RFC 4253). */
const ssh: Reader = (bytes, from) => {
  if (bytes.indexOf(10, from) < 0) return undefined;
  // Lines that ended before were judged already.
  for (let start = from === 0 ? 0 : bytes.lastIndexOf(10, from - 1) + 1; ; ) {
    const end = bytes.indexOf(10, start);
    if (end < 0) return undefined;
    const line = bytes.toString('latin1', start, end).trimEnd();
    if (line.startsWith('SSH-'))
      return /^SSH-(?:2\.0|1\.99)-/.test(line) ? right(end + 1) : unexpected;
    const code = sshRefusals.find((refusal) => line.startsWith(refusal));
    if (code !== undefined) return { is: 'refused', code };
    start = end + 1;
  }
};

/** With these a Redis says that it serves nobody now. Others, such as NOAUTH, say that it is up. */
const redisRefusals = ['LOADING', 'MASTERDOWN', 'CLUSTERDOWN', 'DENIED', 'BUSY', 'MISCONF'];

const redis = byLine(/^(?:\+(?:P(?:O|$)|$)|-(?:[A-Z]|$)|$)/, (line, _, used) => {
  if (line === '+PONG') return right(used);
  if (!line.startsWith('-')) return unexpected;
  if (line.startsWith('-ERR max number of clients'))
    return { is: 'refused', code: 'too many clients' };
  const code = redisRefusals.find((refusal) => line.startsWith(`-${refusal}`));
  return code === undefined ? right(used) : { is: 'refused', code };
});

/** With these a Postgres says that it serves nobody now. Others are about who asks. */
const postgresRefusals: Readonly<Record<string, string>> = {
  '57P01': 'shutting down',
  '57P02': 'shutting down after a crash',
  '57P03': 'starting up or shutting down',
  '53000': 'insufficient resources',
  '53100': 'disk full',
  '53200': 'out of memory',
  '53300': 'too many connections',
  '53400': 'configuration limit exceeded',
  '58000': 'system error',
  '58030': 'input or output error',
  XX000: 'internal error',
  XX001: 'data corrupted',
};

const postgres: Reader = (bytes) => {
  const [type] = bytes;
  if (type === undefined) return undefined;
  if (type !== 0x45 && type !== 0x52) return unexpected;
  if (bytes.length < 5) return undefined;
  const length = bytes.readUInt32BE(1);
  if (length < 4 || length > 8_192) return unexpected;
  if (bytes.length < 1 + length) return undefined;
  if (type === 0x52) return right(1 + length);
  const fields = bytes.toString('latin1', 5, 1 + length).split('\0');
  const state = fields.find((field) => field.startsWith('C'))?.slice(1) ?? '';
  return Object.hasOwn(postgresRefusals, state)
    ? { is: 'refused', code: postgresRefusals[state] ?? state }
    : right(1 + length);
};

const postgresTls: Reader = ([answer]) => {
  if (answer === undefined) return undefined;
  return answer === 0x53 ? right(1) : answer === 0x4e ? { is: 'refused' } : unexpected;
};

/** "Host is not allowed to connect": that is about who asks, and nothing about the server. */
const mysqlHostUnknown = 1_130;

const mysqlGreeting: Reader = (bytes) => {
  const one = packet(bytes);
  if (!one) return one === null ? unexpected : undefined;
  const { body, end } = one;
  if (body[0] === 0xff && body.length >= 3) {
    const code = body.readUInt16LE(1);
    return code === mysqlHostUnknown ? right(end) : { is: 'refused', code };
  }
  return body[0] === 9 || body[0] === 10 ? right(end) : unexpected;
};

/** One packet of MySQL, or undefined until it is whole; a length that none can have is unexpected. */
function packet(bytes: Buffer): { readonly body: Buffer; readonly end: number } | undefined | null {
  if (bytes.length < 4) return undefined;
  const end = 4 + bytes.readUIntLE(0, 3);
  if (end === 4 || end > 8_192) return null;
  return bytes.length < end ? undefined : { body: bytes.subarray(4, end), end };
}

/** Whatever it says to our login ends it; when it asks further, an empty answer is a wrong one. */
const mysqlFarewell: Reader = (bytes) => {
  const one = packet(bytes);
  if (!one) return one === null ? right(bytes.length) : undefined;
  const { body, end } = one;
  const asksFurther = body[0] === 0xfe || body[0] === 1;
  if (!asksFurther) return right(end);
  const sequence = (bytes.readUInt8(3) + 1) & 0xff;
  return { is: 'reply', used: end, send: Buffer.from([0, 0, 0, sequence]) };
};

const protocol41 = 0x200;
const secureConnection = 0x8000;
const pluginAuth = 0x80000;

/**
 * A login of nobody. A MySQL that is left after its greeting counts that as a broken handshake, and
 * after a hundred of them it blocks our address; a wrong login does not count.
 */
const login = Buffer.concat([
  u32(protocol41 | secureConnection | pluginAuth),
  u32(16_777_216),
  Buffer.from([8]),
  Buffer.alloc(23),
  Buffer.from('antipode\0', 'latin1'),
  Buffer.from([0]),
  Buffer.from('mysql_native_password\0', 'latin1'),
]);
const mysqlLogin = Buffer.concat([Buffer.from([login.length, 0, 0, 1]), login]);

function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

const ldap: Reader = (bytes) => {
  const message = element(bytes, 0, 0x30);
  if (!message) return message === null ? unexpected : undefined;
  const [start, end] = message;
  if (end > 8_192) return unexpected;
  if (bytes.length < end) return undefined;
  const id = element(bytes, start, 0x02);
  const response = id && element(bytes, id[1], 0x78);
  const result = response && element(bytes, response[0], 0x0a);
  if (!result || result[1] > end) return unexpected;
  const code = bytes[result[0]] ?? 0;
  return code === 0 ? right(end) : { is: 'refused', code };
};

/** The length and the content's place of one element of LDAP's encoding (BER). */
function element(
  bytes: Buffer,
  at: number,
  tag: number,
): readonly [start: number, end: number] | undefined | null {
  if (bytes.length < at + 2) return undefined;
  if (bytes[at] !== tag) return null;
  const first = bytes.readUInt8(at + 1);
  if (first < 0x80) return [at + 2, at + 2 + first];
  const count = first & 0x7f;
  if (count === 0 || count > 4) return null;
  if (bytes.length < at + 2 + count) return undefined;
  const start = at + 2 + count;
  return [start, start + bytes.readUIntBE(at + 2, count)];
}

/** One exchange: what we say, if anything, and what must come back. */
export type Exchange = {
  readonly send: Buffer | null;
  readonly read: Reader;
  /** The server may as well close the connection. */
  readonly mayClose?: true;
};

function text(line: string): Buffer {
  return Buffer.from(line, 'latin1');
}

/** Version 3.0. */
const startup = text('\0\u0003\0\0user\0antipode\0database\0postgres\0\0');
const postgresStartup = Buffer.concat([Buffer.from([0, 0, 0, 4 + startup.length]), startup]);

/** How a healthy server of each protocol is recognised, and how we close. */
export const greetings: Readonly<
  Record<Banner, { readonly exchanges: readonly Exchange[]; readonly farewell?: Buffer }>
> = {
  smtp: { exchanges: [{ send: null, read: reply(220) }], farewell: text('QUIT\r\n') },
  imap: { exchanges: [{ send: null, read: imapGreeting }], farewell: text('z LOGOUT\r\n') },
  ssh: { exchanges: [{ send: null, read: ssh }] },
  redis: { exchanges: [{ send: text('PING\r\n'), read: redis }] },
  postgres: { exchanges: [{ send: postgresStartup, read: postgres }] },
  mysql: {
    exchanges: [
      { send: null, read: mysqlGreeting },
      { send: mysqlLogin, read: mysqlFarewell, mayClose: true },
    ],
  },
};

/**
 * How each protocol turns to TLS: what is said in the clear before, the greeting first where there
 * is one. `name`: what we call ourselves.
 */
export function upgrading(
  protocol: Upgrade,
  name: string,
): { readonly greeting: readonly Exchange[]; readonly asking: readonly Exchange[] } {
  switch (protocol) {
    case 'smtp':
      return {
        greeting: greetings.smtp.exchanges,
        asking: [
          { send: text(`EHLO ${name}\r\n`), read: extensions },
          { send: text('STARTTLS\r\n'), read: reply(220) },
        ],
      };
    case 'imap':
      return {
        greeting: greetings.imap.exchanges,
        asking: [{ send: text('a STARTTLS\r\n'), read: imapAnswer }],
      };
    case 'pop3':
      return {
        greeting: [{ send: null, read: pop }],
        asking: [{ send: text('STLS\r\n'), read: pop }],
      };
    case 'ftp':
      return {
        greeting: [{ send: null, read: reply(220) }],
        asking: [{ send: text('AUTH TLS\r\n'), read: reply(234) }],
      };
    case 'postgres':
      return {
        greeting: [],
        asking: [{ send: Buffer.from([0, 0, 0, 8, 4, 0xd2, 0x16, 0x2f]), read: postgresTls }],
      };
    case 'ldap':
      return {
        greeting: [],
        asking: [
          {
            send: Buffer.concat([
              Buffer.from([0x30, 0x1d, 2, 1, 1, 0x77, 0x18, 0x80, 0x16]),
              text('1.3.6.1.4.1.1466.20037'),
            ]),
            read: ldap,
          },
        ],
      };
  }
}
