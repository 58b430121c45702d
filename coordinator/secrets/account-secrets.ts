import { createHmac, randomBytes } from 'node:crypto';
import type { Sql } from '../database/connect.ts';
import { createKeptKey, type MasterKeys } from './at-rest.ts';

/**
 * Temporary secrets of users: the text in a cookie or a link. Only its fingerprint is stored, and
 * it is valid for its kind only.
 */
export type SecretKind =
  | 'session'
  | 'sign-in link'
  | 'second step'
  | 'sign-up'
  | 'invitation'
  | 'e-mail'
  | 'e-mail kept'
  | 'channel'
  | 'password reset'
  | 'recovery code'
  | 'passkey challenge'
  | 'provider sign-in'
  | 'provider state'
  | 'provider nonce'
  | 'provider verifier'
  | 'logout token'
  | 'SCIM token'
  | 'page entry'
  | 'page opt-in'
  | 'page leaving'
  | 'report leaving'
  | 'page webhook'
  | 'page row'
  | 'join token'
  | 'attempt'
  | 'call';

export type AccountSecrets = {
  /** 256 random bits, shown to one person once. */
  readonly mint: (
    kind: SecretKind,
  ) => Promise<{ readonly text: string; readonly fingerprint: Buffer }>;
  readonly fingerprint: (kind: SecretKind, text: string) => Promise<Buffer>;
};

/** Uses a key that outlives SECRET_KEY; otherwise replacing SECRET_KEY would sign everyone out. */
export function createAccountSecrets(sql: Sql, keys: MasterKeys): AccountSecrets {
  const key = createKeptKey(sql, keys, 'account secrets');
  const fingerprint: AccountSecrets['fingerprint'] = async (kind, text) =>
    createHmac('sha256', await key())
      .update(`${kind} ${text}`)
      .digest();
  return {
    mint: async (kind) => {
      const text = randomBytes(32).toString('base64url');
      return { text, fingerprint: await fingerprint(kind, text) };
    },
    fingerprint,
  };
}
