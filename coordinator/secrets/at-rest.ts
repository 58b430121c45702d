import { randomBytes } from 'node:crypto';
import { decrypt, encrypt, newId } from '../../shared/base/crypto.ts';
import { ConfigurationFault } from '../../shared/base/env.ts';
import { Refusal } from '../../shared/base/errors.ts';
import type { Queryable, Sql } from '../database/connect.ts';
import { addressesWithoutKey } from '../database/connect.ts';
import { inTransaction, takeAdvisoryLock } from '../database/sql.ts';
import {
  currentKey,
  deleteOlderKeys,
  growEverySealEpoch,
  inForce,
  insertKey,
  keptUnderOlderKeys,
  keyById,
  lockOlderKeys,
  type MasterKeys,
  markOf,
  rewrapKept,
  rewriteKept,
  type StoredSecret,
  unwrap,
  type WrappedKey,
  wrap,
} from './keys.ts';

/**
 * Secrets at rest: AES-256-GCM under keys of the database. A key derived from SECRET_KEY wraps
 * those.
 */
export type SecretsAtRest = {
  /**
   * Must run in the transaction that stores the box. `about` (what the secret belongs to) is bound
   * in: a box opens for nothing else.
   */
  readonly seal: (sql: Queryable, text: string, about: string) => Promise<Buffer>;
  /** For many boxes of one transaction: reads the key once. */
  readonly sealer: (sql: Queryable) => Promise<(text: string, about: string) => Buffer>;
  readonly open: (sql: Queryable, box: Uint8Array, about: string) => Promise<string>;
  /**
   * Makes a new key and encrypts everything stored under it; others may go on working meanwhile.
   */
  readonly rotate: (sql: Sql) => Promise<Rotated>;
  /**
   * Moves everything from the previous SECRET_KEY to the present one. If it is killed at any point,
   * run it again; once complete it does nothing. The network's keys change with its first
   * transaction. @throws Refusal while a running coordinator does not know SECRET_KEY.
   */
  readonly replaceSecretKey: (
    sql: Sql,
    progress?: (what: string, rows: number) => void,
  ) => Promise<Rotated>;
  /**
   * Checks at the start whether stored secrets can be read. @throws ConfigurationFault when they
   * cannot.
   */
  readonly check: (sql: Sql) => Promise<void>;
};

export type Rotated = { readonly id: string; readonly rewritten: number };

/** What boxes are bound to, for sealing and opening. */
export function secretsOf(monitor: string): string {
  return `monitor ${monitor}`;
}

export function pingTokenOf(monitor: string): string {
  return `beat ${monitor}`;
}

export function channelSecretsOf(channel: string): string {
  return `channel ${channel}`;
}

export function pageWebhookOf(subscriber: string): string {
  return `page webhook ${subscriber}`;
}

export function webhookOf(webhook: string): string {
  return `webhook ${webhook}`;
}

export function importOf(id: string): string {
  return `import ${id}`;
}

export function codeSecretOf(user: string): string {
  return `second factor ${user}`;
}

/** Of an organisation and the fingerprint of a call, separated by a space. */
export function idempotencyRecordOf(call: string): string {
  return `answer ${call}`;
}

const boundTo = {
  monitor: secretsOf,
  beat: pingTokenOf,
  'deleted monitor': secretsOf,
  'deleted beat': pingTokenOf,
  channel: channelSecretsOf,
  answer: idempotencyRecordOf,
  'page webhook': pageWebhookOf,
  webhook: webhookOf,
  import: importOf,
  'second factor': codeSecretOf,
} as const satisfies Record<StoredSecret['place'], (about: string) => string>;

const idLength = 16;
const batch = 200;

export function createSecretsAtRest(secretKey: string, previousKey?: string): SecretsAtRest {
  const keys: MasterKeys = { secretKey, previousKey };
  const existing = new Map<string, Buffer>();

  const unwrapped = ({ id, wrapped }: WrappedKey): Buffer => {
    const key = existing.get(id) ?? unwrap(keys, wrapped, id).bytes;
    existing.set(id, key);
    return key;
  };

  const createUnder = async (sql: Queryable, master: string): Promise<WrappedKey> => {
    const id = newId();
    const made = { id, wrapped: wrap(master, randomBytes(32), id) };
    await insertKey(sql, made);
    return made;
  };

  const current = async (sql: Queryable): Promise<WrappedKey> =>
    // Read twice, because a rotation can delete a key between finding and locking its row.
    (await currentKey(sql)) ??
    (await currentKey(sql)) ??
    (await createUnder(sql, inForce(keys, undefined)));

  const sealWith = (key: WrappedKey, text: string, about: string): Buffer =>
    Buffer.concat([idBytes(key.id), encrypt(unwrapped(key), Buffer.from(text), about)]);

  const open = async (sql: Queryable, box: Uint8Array, about: string): Promise<string> => {
    const id = idOf(box);
    const key =
      existing.get(id) ?? (await keyById(sql, id).then((found) => found && unwrapped(found)));
    if (!key)
      throw new Error(`secrets in the database are under the key ${id}, which does not exist`);
    return decrypt(key, Buffer.from(box).subarray(idLength), about).toString();
  };

  const reseal = async (sql: Queryable, key: WrappedKey, kept: StoredSecret): Promise<void> => {
    const about = boundTo[kept.place](kept.about);
    await rewriteKept(sql, {
      ...kept,
      box: sealWith(key, await open(sql, kept.box, about), about),
    });
  };

  /** Encrypts a batch of the boxes under older keys again; returns how many. */
  const rewriteSome = async (sql: Queryable, key: WrappedKey): Promise<number> => {
    const found = await keptUnderOlderKeys(sql, key.id, batch);
    for (const kept of found) await reseal(sql, key, kept);
    return found.length;
  };

  /**
   * Encrypts everything under this key and deletes the older ones; others may go on writing with
   * them meanwhile.
   */
  const rewriteAll = async (
    sql: Sql,
    key: WrappedKey,
    progress: (rows: number) => void,
  ): Promise<Rotated> => {
    let rewritten = 0;
    for (let some = batch; some > 0; ) {
      some = await inTransaction(sql, (transaction) => rewriteSome(transaction, key));
      rewritten += some;
      if (some > 0) progress(rewritten);
    }
    const late = await inTransaction(sql, async (transaction) => {
      await lockOlderKeys(transaction, key.id);
      // Boxes written with an older key between the last batch and the lock.
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
    rotate: async (sql) =>
      rewriteAll(
        sql,
        await createUnder(sql, inForce(keys, await currentKey(sql))),
        () => undefined,
      ),
    replaceSecretKey: async (sql, progress = () => undefined) => {
      const key = await inTransaction(sql, async (transaction) => {
        await takeAdvisoryLock(transaction, 'secretKey');
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
          'is not the one that the secrets in the database were stored with; during a rotation, SECRET_KEY_PREVIOUS must be';
        throw Object.assign(new ConfigurationFault([`SECRET_KEY: ${fault} the one before it`]), {
          cause: error,
        });
      }
    },
  };
}

function idBytes(id: string): Buffer {
  return Buffer.from(id.replaceAll('-', ''), 'hex');
}

function idOf(box: Uint8Array): string {
  return Buffer.from(box)
    .subarray(0, idLength)
    .toString('hex')
    .replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

/** A coordinator that knows only the previous key could read nothing after the replacement. */
async function refuseLeavingBehind(sql: Queryable, secretKey: string): Promise<void> {
  const addresses = await addressesWithoutKey(sql, markOf(secretKey));
  if (addresses.length === 0) return;
  const remedy =
    'restart each with it, and with the one before as SECRET_KEY_PREVIOUS, then run this again.';
  throw new Refusal(
    'secret_key_unknown',
    `Coordinators at ${addresses.join(', ')} do not know this SECRET_KEY: ${remedy}`,
  );
}
