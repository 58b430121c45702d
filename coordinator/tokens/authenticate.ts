import { createHmac, randomInt } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { Refusal } from '../../shared/base/errors.ts';
import type { Log } from '../../shared/base/log.ts';
import type { Clock } from '../../shared/base/time.ts';
import type { Sql } from '../database/connect.ts';
import type { Caller } from '../gate/caller.ts';
import { createGatheredLookup, createLastUses } from '../gate/lookups.ts';
import { createKeptKey, type MasterKeys } from '../secrets/at-rest.ts';
import { tokenHolders, writeLastUsed } from './queries.ts';

/**
 * `svc_` (for programs), `svcj_` (for a host to become a probe) or `svcs_` (for a provider to
 * provision people), 34 random characters, 6 of a checksum: typing errors are detected without the
 * database, and leak scanners can be certain.
 */
const prefixes = { api: 'svc_', join: 'svcj_', scim: 'svcs_' } as const;
type TokenKind = keyof typeof prefixes;

const randomLength = 34;
const checksumLength = 6;
const base62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

export function newTokenText(kind: TokenKind = 'api'): string {
  const prefix = prefixes[kind];
  const random = Array.from({ length: randomLength }, () => base62[randomInt(62)]).join('');
  return `${prefix}${random}${checksumOf(`${prefix}${random}`)}`;
}

function checksumOf(text: string): string {
  let rest = crc32(text);
  let digits = '';
  for (let place = 0; place < checksumLength; place += 1) {
    digits = `${base62[rest % 62] ?? ''}${digits}`;
    rest = Math.floor(rest / 62);
  }
  return digits;
}

function looksLikeToken(text: string): boolean {
  return text.startsWith(prefixes.api);
}

/** Whether we could have issued this text. */
export function isTokenText(text: string, kind: TokenKind = 'api'): boolean {
  return (
    text.startsWith(prefixes[kind]) &&
    /^[0-9A-Za-z]{40}$/.test(text.slice(prefixes[kind].length)) &&
    checksumOf(text.slice(0, -checksumLength)) === text.slice(-checksumLength)
  );
}

/** The part by which people recognise a token; far too little to guess the rest. */
export function shownPart(token: string): string {
  return token.slice(0, token.indexOf('_') + 5);
}

/** Stored instead of a token. The key makes a stolen table useless for testing tokens. */
export function fingerprintOf(token: string, key: Buffer): Buffer {
  return createHmac('sha256', key).update(token).digest();
}

export type MintedToken = {
  readonly token: string;
  readonly fingerprint: Buffer;
  readonly shown: string;
};

export type Tokens = {
  /** A new token; its text is shown once and not stored. */
  readonly mint: () => Promise<MintedToken>;
  /**
   * `address`: where the call comes from, for the audit log. @throws Refusal `token_missing` or
   * `token_invalid`.
   */
  readonly authenticate: (authorization: string | undefined, address?: string) => Promise<Caller>;
  /** Writes when tokens were last used. */
  readonly flush: () => Promise<void>;
  readonly close: () => Promise<void>;
};

type Dependencies = MasterKeys & {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly log: Pick<Log, 'warn'>;
};

export function createTokens({ sql, secretKey, previousKey, clock, log }: Dependencies): Tokens {
  const key = createKeptKey(sql, { secretKey, previousKey }, 'token fingerprint');
  const lookup = createGatheredLookup((fingerprints) => tokenHolders(sql, fingerprints));
  const uses = createLastUses<number>({
    write: (all) => writeLastUsed(sql, all),
    log,
    of: 'tokens',
    again: 'call',
  });

  return {
    mint: async () => {
      const token = newTokenText();
      return { token, fingerprint: fingerprintOf(token, await key()), shown: shownPart(token) };
    },
    authenticate: async (authorization, address) => {
      const [, text = ''] = /^bearer +(\S+) *$/i.exec(authorization ?? '') ?? [];
      if (!looksLikeToken(text)) throw missing();
      if (!isTokenText(text)) throw invalid();
      const holder = await lookup(fingerprintOf(text, await key()).toString('hex'));
      const now = clock.now();
      if (!holder || (holder.expires_at !== null && holder.expires_at <= now)) throw invalid();
      uses.note(holder.id, now);
      const { organisation_id, organisation, plan, time_zone, ends_at } = holder;
      return {
        is: 'token',
        organisation: { id: organisation_id, name: organisation, plan, time_zone, ends_at },
        user: holder.user_id,
        role: holder.role,
        scope: holder.scope,
        token: { id: holder.id, name: holder.name, managesMembers: holder.manage_members },
        address,
      };
    },
    flush: uses.flush,
    close: uses.flush,
  };
}

function missing(): Refusal {
  return new Refusal('token_missing', 'Send your API token as `Authorization: Bearer svc_…`.');
}

function invalid(): Refusal {
  return new Refusal(
    'token_invalid',
    'This token is unknown, or it was revoked, or has ended; make a new one.',
  );
}
