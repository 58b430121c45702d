import { randomBytes } from 'node:crypto';
import { decrypt, encrypt } from '../../shared/base/encryption.ts';
import { newId } from '../../shared/base/ids.ts';
import type { Queryable, Sql } from '../store/database.ts';
import {
  currentKey,
  deleteOlderKeys,
  insertKey,
  type Kept,
  keptUnderOlderKeys,
  keyById,
  lockOlderKeys,
  rewriteKept,
  type WrappedKey,
} from '../store/secret-keys.ts';
import { derivedKey } from './derived-key.ts';

/** Secrets at rest: AES-256-GCM under keys of the database, which are themselves wrapped by one derived from SECRET_KEY. */
export type SecretsAtRest = {
  /** Within the transaction that stores the box. `about` (what it belongs to) is bound in: a box does not open for anything else. */
  readonly seal: (sql: Queryable, text: string, about: string) => Promise<Buffer>;
  readonly open: (sql: Queryable, box: Uint8Array, about: string) => Promise<string>;
  /** A new key, and everything that is stored encrypted under it; others may go on working meanwhile. */
  readonly rotate: (sql: Sql) => Promise<{ readonly id: string; readonly rewritten: number }>;
};

/** What boxes are bound to; used by whoever seals and whoever opens. */
export const secretsOf = (monitor: string): string => `monitor ${monitor}`;
export const beatTokenOf = (monitor: string): string => `beat ${monitor}`;

const idLength = 16;
const batch = 200;

const idBytes = (id: string): Buffer => Buffer.from(id.replaceAll('-', ''), 'hex');

const idOf = (box: Uint8Array): string =>
  Buffer.from(box)
    .subarray(0, idLength)
    .toString('hex')
    .replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');

export const createSecretsAtRest = (secretKey: string): SecretsAtRest => {
  const wrapping = derivedKey(secretKey, 'keys of secrets');
  const known = new Map<string, Buffer>();

  const unwrap = ({ id, wrapped }: WrappedKey): Buffer => {
    const have = known.get(id);
    if (have) return have;
    let key: Buffer;
    try {
      key = decrypt(wrapping, wrapped, id);
    } catch (error) {
      throw new Error('secrets in the database cannot be read: SECRET_KEY is not the one that they were stored with', { cause: error });
    }
    known.set(id, key);
    return key;
  };

  const create = async (sql: Queryable): Promise<WrappedKey> => {
    const id = newId();
    const made = { id, wrapped: encrypt(wrapping, randomBytes(32), id) };
    await insertKey(sql, made);
    return made;
  };

  const current = async (sql: Queryable): Promise<WrappedKey> =>
    // Asked twice, because a rotation can take a key away between finding and locking its row.
    (await currentKey(sql)) ?? (await currentKey(sql)) ?? (await create(sql));

  const sealWith = (key: WrappedKey, text: string, about: string): Buffer =>
    Buffer.concat([idBytes(key.id), encrypt(unwrap(key), Buffer.from(text), about)]);

  const open = async (sql: Queryable, box: Uint8Array, about: string): Promise<string> => {
    const id = idOf(box);
    const key = known.get(id) ?? (await keyById(sql, id).then((found) => found && unwrap(found)));
    if (!key) throw new Error(`secrets in the database are under the key ${id}, which is not there`);
    return decrypt(key, Buffer.from(box).subarray(idLength), about).toString();
  };

  const reseal = async (sql: Queryable, key: WrappedKey, kept: Kept): Promise<void> => {
    const about = kept.place === 'monitor' ? secretsOf(kept.about) : beatTokenOf(kept.about);
    await rewriteKept(sql, { ...kept, box: sealWith(key, await open(sql, kept.box, about), about) });
  };

  /** Rewrites a bite of what is under older keys; how many that were. */
  const rewriteSome = async (sql: Queryable, key: WrappedKey): Promise<number> => {
    const found = await keptUnderOlderKeys(sql, key.id, batch);
    for (const kept of found) await reseal(sql, key, kept);
    return found.length;
  };

  return {
    seal: async (sql, text, about) => sealWith(await current(sql), text, about),
    open,
    rotate: async (sql) => {
      const key = await create(sql);
      let rewritten = 0;
      for (let some = batch; some > 0; ) {
        some = await sql.begin((transaction) => rewriteSome(transaction, key));
        rewritten += some;
      }
      await sql.begin(async (transaction) => {
        await lockOlderKeys(transaction, key.id);
        // What was written with an older key between the last bite and the lock.
        for (let some = batch; some > 0; ) {
          some = await rewriteSome(transaction, key);
          rewritten += some;
        }
        await deleteOlderKeys(transaction, key.id);
      });
      return { id: key.id, rewritten };
    },
  };
};
