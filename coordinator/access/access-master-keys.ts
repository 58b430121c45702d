import { hkdfSync } from 'node:crypto';
import { decrypt, encrypt } from '../../shared/base/crypto.ts';
import type { Queryable } from '../store/store-database.ts';
import { keptKey, type WrappedKey, writeKeptKey } from '../store/store-secret-keys.ts';

/**
 * SECRET_KEY and, while it is being replaced, the one before it. Which of both is in force is not a matter of who was started when: it is the
 * one that wraps the newest key of secrets, and the replacement puts the new one there in one transaction.
 */
export type MasterKeys = { readonly secretKey: string; readonly previousKey?: string | undefined };

/** A key for one purpose from the installation's SECRET_KEY, so that no two parts ever use the same bytes. */
const derivedKey = (secretKey: string, purpose: string): Buffer =>
  Buffer.from(hkdfSync('sha256', secretKey, '', `antipode ${purpose}`, 32));

const wrappingOf = (secretKey: string): Buffer => derivedKey(secretKey, 'keys of secrets');

/** Tells master keys apart without telling them. */
export const markOf = (secretKey: string): string => derivedKey(secretKey, 'mark').toString('hex').slice(0, 12);

export const wrap = (secretKey: string, bytes: Uint8Array, about: string): Buffer => encrypt(wrappingOf(secretKey), bytes, about);

/** What was wrapped, and the master key that it lies under. @throws when it is neither of both. */
export const unwrap = (
  { secretKey, previousKey }: MasterKeys,
  wrapped: Uint8Array,
  about: string,
): { readonly bytes: Buffer; readonly under: string } => {
  const faults: unknown[] = [];
  for (const under of previousKey === undefined ? [secretKey] : [secretKey, previousKey])
    try {
      return { bytes: decrypt(wrappingOf(under), wrapped, about), under };
    } catch (error) {
      faults.push(error);
    }
  const which = previousKey === undefined ? 'SECRET_KEY is not the one' : 'neither SECRET_KEY nor SECRET_KEY_PREVIOUS is the one';
  throw new Error(`secrets in the database cannot be read: ${which} that they were stored with`, { cause: faults[0] });
};

/** The master key that all coordinators go by; before anything is wrapped, the older of both, as some may know no other. */
export const inForce = (keys: MasterKeys, newest: WrappedKey | undefined): string =>
  newest ? unwrap(keys, newest.wrapped, newest.id).under : (keys.previousKey ?? keys.secretKey);

/** What outlives SECRET_KEY. The secrecy of these keys protects little: what they make is no easier to guess for who knows them. */
const keptPurposes = ['token fingerprint', 'cursors', 'account secrets', 'alert links', 'assistants'] as const;
type Purpose = (typeof keptPurposes)[number];

const keptOrDerived = async (sql: Queryable, keys: MasterKeys, purpose: Purpose): Promise<Buffer> => {
  const wrapped = await keptKey(sql, purpose);
  return wrapped ? unwrap(keys, wrapped, purpose).bytes : derivedKey(keys.previousKey ?? keys.secretKey, purpose);
};

/** Read once: the key of a purpose never changes, only what it lies under. */
export const createKeptKey = (sql: Queryable, keys: MasterKeys, purpose: Purpose): (() => Promise<Buffer>) => {
  let key: Promise<Buffer> | undefined;
  return () => {
    key ??= keptOrDerived(sql, keys, purpose).catch((error: unknown) => {
      key = undefined;
      throw error;
    });
    return key;
  };
};

/** Wraps the kept keys under SECRET_KEY. */
export const rewrapKept = async (sql: Queryable, keys: MasterKeys): Promise<void> => {
  for (const purpose of keptPurposes)
    await writeKeptKey(sql, purpose, wrap(keys.secretKey, await keptOrDerived(sql, keys, purpose), purpose));
};
