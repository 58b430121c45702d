import { type ConfigKeys, everyKindKeys } from '../config-key.ts';
import { connectionKeys, payloadWords } from '../connection/keys.ts';

/** Whose greeting a check can read, and what it takes for a healthy one. */
export const banners = ['smtp', 'imap', 'ssh', 'redis', 'postgres', 'mysql'] as const;
export type Banner = (typeof banners)[number];

/** Protocols in which a connection turns to TLS midway. */
export const upgrades = ['smtp', 'imap', 'pop3', 'ftp', 'postgres', 'ldap'] as const;
export type Upgrade = (typeof upgrades)[number];

export const tlsModes = ['none', 'implicit', ...upgrades] as const;

export const tcpKeys = {
  ...everyKindKeys,
  banner: {
    meaning:
      'What a healthy server of this protocol says first. SMTP 421 and 554, IMAP BYE, a Redis that ' +
      'is loading, a Postgres that is starting and an error of MySQL fail; a Redis or Postgres ' +
      'that wants a password is alive.',
    allowed: `one of ${banners.join(', ')}`,
    otherwise: 'an open port is enough',
    example: 'smtp',
    choices: banners,
  },
  send: {
    meaning: 'Bytes to send once connected; stored encrypted, and shown as `***`.',
    allowed: `${payloadWords}; not on ports 25, 465, 587 and 2525, where mail is delivered`,
    otherwise: 'nothing',
    example: 'PING\\r\\n',
  },
  expect: {
    meaning:
      'What must come back, anywhere in the first 64 KiB; case-sensitive. Without it nothing that ' +
      'comes is read.',
    allowed: payloadWords,
    otherwise: 'nothing',
    example: '+PONG',
  },
  encoding: connectionKeys.encoding,
  tls: {
    meaning:
      'Whether the connection is encrypted: from the start ("implicit"), or after STARTTLS of the ' +
      'named protocol.',
    allowed: `one of ${tlsModes.join(', ')}`,
    initial: 'none',
    example: 'implicit',
    choices: tlsModes,
  },
  server_name: connectionKeys.server_name,
  verify_tls: connectionKeys.verify_tls,
  tls_expires_within_days: connectionKeys.tls_expires_within_days,
  ip_family: connectionKeys.ip_family,
  max_response_ms: connectionKeys.max_response_ms,
  warn: connectionKeys.warn,
  fail_on: connectionKeys.fail_on,
} as const satisfies ConfigKeys;
