import { createHmac, randomBytes } from 'node:crypto';
import type { Sql } from '../store/store-database.ts';
import { createKeptKey, type MasterKeys } from './access-master-keys.ts';

/** What people hold of us for a while: the text in a cookie or a link. Only its fingerprint is stored, and one of a kind is good for nothing else. */
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
  | 'page entry'
  | 'page opt-in'
  | 'page leaving'
  | 'page row'
  | 'join token'
  | 'attempt'
  | 'call';

export type AccountSecrets = {
  /** 256 random bits, to be shown to one person once. */
  readonly mint: (kind: SecretKind) => Promise<{ readonly text: string; readonly fingerprint: Buffer }>;
  readonly fingerprint: (kind: SecretKind, text: string) => Promise<Buffer>;
};

/** Under a key that outlives SECRET_KEY, or replacing that would sign everybody out. */
export const createAccountSecrets = (sql: Sql, keys: MasterKeys): AccountSecrets => {
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
};
