import { randomBytes } from 'node:crypto';
import { decrypt, encrypt, newId } from '../../shared/base/crypto.ts';
import { ConfigurationFault } from '../../shared/base/env.ts';
import { Refusal } from '../../shared/base/errors.ts';
import type { Queryable, Sql } from '../database/connect.ts';
import { addressesWithoutKey } from '../database/connect.ts';
import { doAlone, inTransaction } from '../database/sql.ts';
import {
  currentKey,
  deleteOlderKeys,
  growEverySealEpoch,
  inForce,
  insertKey,
  type Kept,
  keptUnderOlderKeys,
  keyById,
  lockOlderKeys,
  type MasterKeys,
  markOf,
  rewrapKept,
  rewriteKept,
  unwrap,
  type WrappedKey,
  wrap,
} from './keys.ts';

/** Secrets at rest: AES-256-GCM under keys of the database, which are themselves wrapped by one derived from SECRET_KEY. */
export type SecretsAtRest = {
  /** Within the transaction that stores the box. `about` (what it belongs to) is bound in: a box does not open for anything else. */
  readonly seal: (sql: Queryable, text: string, about: string) => Promise<Buffer>;
  /** For many boxes of one transaction: the key is asked for once. */
  readonly sealer: (sql: Queryable) => Promise<(text: string, about: string) => Buffer>;
  readonly open: (sql: Queryable, box: Uint8Array, about: string) => Promise<string>;
  /** A new key, and everything that is stored encrypted under it; others may go on working meanwhile. */
  readonly rotate: (sql: Sql) => Promise<Rotated>;
  /**
   * Puts everything under SECRET_KEY that lies under the one before it. Killed at any point, it is done again; done, it does nothing. The keys of
   * the network are others from its first transaction on. @throws Refusal while a coordinator works that does not know SECRET_KEY.
   */
  readonly replaceSecretKey: (sql: Sql, progress?: (what: string, rows: number) => void) => Promise<Rotated>;
  /** Finds out at the start whether what is stored can be read. @throws ConfigurationFault when it cannot. */
  readonly check: (sql: Sql) => Promise<void>;
};

export type Rotated = { readonly id: string; readonly rewritten: number };

/** What boxes are bound to; used by whoever seals and whoever opens. */
export const secretsOf = (monitor: string): string => `monitor ${monitor}`;
export const pingTokenOf = (monitor: string): string => `beat ${monitor}`;
export const channelSecretsOf = (channel: string): string => `channel ${channel}`;
export const codeSecretOf = (user: string): string => `second factor ${user}`;
/** Of an organisation and the fingerprint of a call, with a blank between. */
export const idempotencyRecordOf = (call: string): string => `answer ${call}`;

const boundTo = {
  ...{ monitor: secretsOf, beat: pingTokenOf, channel: channelSecretsOf, answer: idempotencyRecordOf },
  'second factor': codeSecretOf,
} as const satisfies Record<Kept['place'], (about: string) => string>;

const idLength = 16;
const batch = 200;

const idBytes = (id: string): Buffer => Buffer.from(id.replaceAll('-', ''), 'hex');

const idOf = (box: Uint8Array): string =>
  Buffer.from(box)
    .subarray(0, idLength)
    .toString('hex')
    .replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');

/** A coordinator that knows only the key before could read nothing from the replacement on. */
const refuseLeavingBehind = async (sql: Queryable, secretKey: string): Promise<void> => {
  const addresses = await addressesWithoutKey(sql, markOf(secretKey));
  if (addresses.length === 0) return;
  const remedy = 'restart each with it, and with the one before as SECRET_KEY_PREVIOUS, then run this again.';
  throw new Refusal('secret_key_unknown', `Coordinators at ${addresses.join(', ')} do not know this SECRET_KEY: ${remedy}`);
};

export const createSecretsAtRest = (secretKey: string, previousKey?: string): SecretsAtRest => {
  const keys: MasterKeys = { secretKey, previousKey };
  const known = new Map<string, Buffer>();

  const unwrapped = ({ id, wrapped }: WrappedKey): Buffer => {
    const key = known.get(id) ?? unwrap(keys, wrapped, id).bytes;
    known.set(id, key);
    return key;
  };

  const createUnder = async (sql: Queryable, master: string): Promise<WrappedKey> => {
    const id = newId();
    const made = { id, wrapped: wrap(master, randomBytes(32), id) };
    await insertKey(sql, made);
    return made;
  };

  const current = async (sql: Queryable): Promise<WrappedKey> =>
    // Asked twice, because a rotation can take a key away between finding and locking its row.
    (await currentKey(sql)) ?? (await currentKey(sql)) ?? (await createUnder(sql, inForce(keys, undefined)));

  const sealWith = (key: WrappedKey, text: string, about: string): Buffer =>
    Buffer.concat([idBytes(key.id), encrypt(unwrapped(key), Buffer.from(text), about)]);

  const open = async (sql: Queryable, box: Uint8Array, about: string): Promise<string> => {
    const id = idOf(box);
    const key = known.get(id) ?? (await keyById(sql, id).then((found) => found && unwrapped(found)));
    if (!key) throw new Error(`secrets in the database are under the key ${id}, which is not there`);
    return decrypt(key, Buffer.from(box).subarray(idLength), about).toString();
  };

  const reseal = async (sql: Queryable, key: WrappedKey, kept: Kept): Promise<void> => {
    const about = boundTo[kept.place](kept.about);
    await rewriteKept(sql, { ...kept, box: sealWith(key, await open(sql, kept.box, about), about) });
  };

  /** Rewrites a bite of what is under older keys; how many that were. */
  const rewriteSome = async (sql: Queryable, key: WrappedKey): Promise<number> => {
    const found = await keptUnderOlderKeys(sql, key.id, batch);
    for (const kept of found) await reseal(sql, key, kept);
    return found.length;
  };

  /** Puts everything under this key and takes the older ones away; others may go on writing with them meanwhile. */
  const rewriteAll = async (sql: Sql, key: WrappedKey, progress: (rows: number) => void): Promise<Rotated> => {
    let rewritten = 0;
    for (let some = batch; some > 0; ) {
      some = await inTransaction(sql, (transaction) => rewriteSome(transaction, key));
      rewritten += some;
      if (some > 0) progress(rewritten);
    }
    const late = await inTransaction(sql, async (transaction) => {
      await lockOlderKeys(transaction, key.id);
      // What was written with an older key between the last bite and the lock.
      let count = 0;
      for (let some = batch; some > 0; count += some) some = await rewriteSome(transaction, key);
      await deleteOlderKeys(transaction, key.id);
      return count;
    });
    return { id: key.id, rewritten: rewritten + late };
  };

  return {
    seal: async (sql, text, about) => sealWith(await current(sql), text, about),
    sealer: async (sql) => {
      const key = await current(sql);
      return (text, about) => sealWith(key, text, about);
    },
    open,
    rotate: async (sql) => rewriteAll(sql, await createUnder(sql, inForce(keys, await currentKey(sql))), () => undefined),
    replaceSecretKey: async (sql, progress = () => undefined) => {
      const key = await inTransaction(sql, async (transaction) => {
        await doAlone(transaction, 'secretKey');
        const newest = await currentKey(transaction);
        const isDone = newest !== undefined && inForce(keys, newest) === secretKey;
        if (!isDone) await refuseLeavingBehind(transaction, secretKey);
        await rewrapKept(transaction, keys);
        if (isDone) return newest;
        await growEverySealEpoch(transaction);
        return createUnder(transaction, secretKey);
      });
      return rewriteAll(sql, key, (rows) => progress('secrets', rows));
    },
    check: async (sql) => {
      const key = await inTransaction(sql, current);
      try {
        unwrapped(key);
      } catch (error) {
        const fault =
          'is not the one that the secrets in the database were stored with; while it is being replaced, SECRET_KEY_PREVIOUS is';
        throw Object.assign(new ConfigurationFault([`SECRET_KEY: ${fault} the one before it`]), { cause: error });
      }
    },
  };
};
