import { createHmac, randomInt } from 'node:crypto';
import { crc32 } from 'node:zlib';

/** `svc_` (what programs act by) or `svcj_` (what a host becomes a probe by), 34 random characters, 6 of a checksum: typing errors are told without asking the database, and scanners of leaks can be sure. */
const prefixes = { api: 'svc_', join: 'svcj_' } as const;
export type TokenKind = keyof typeof prefixes;

const randomLength = 34;
const checksumLength = 6;
const base62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

const checksumOf = (text: string): string => {
  let rest = crc32(text);
  let digits = '';
  for (let place = 0; place < checksumLength; place += 1) {
    digits = `${base62[rest % 62] ?? ''}${digits}`;
    rest = Math.floor(rest / 62);
  }
  return digits;
};

export const newTokenText = (kind: TokenKind = 'api'): string => {
  const prefix = prefixes[kind];
  const random = Array.from({ length: randomLength }, () => base62[randomInt(62)]).join('');
  return `${prefix}${random}${checksumOf(`${prefix}${random}`)}`;
};

export const looksLikeToken = (text: string): boolean => text.startsWith(prefixes.api);

/** Whether the text could have been given out by us. */
export const isTokenText = (text: string, kind: TokenKind = 'api'): boolean =>
  text.startsWith(prefixes[kind]) &&
  /^[0-9A-Za-z]{40}$/.test(text.slice(prefixes[kind].length)) &&
  checksumOf(text.slice(0, -checksumLength)) === text.slice(-checksumLength);

/** What people recognise a token by; far too little to guess the rest. */
export const shownPart = (token: string): string => token.slice(0, token.indexOf('_') + 5);

/** What is stored instead of a token. The key makes a stolen table useless for trying tokens. */
export const fingerprintOf = (token: string, key: Buffer): Buffer => createHmac('sha256', key).update(token).digest();
