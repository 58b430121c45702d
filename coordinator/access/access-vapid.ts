import { createECDH, createHmac } from 'node:crypto';
import type { Queryable } from '../store/store-database.ts';
import { createKeptKey, type MasterKeys } from './access-master-keys.ts';

export type VapidPair = { readonly public_key: string; readonly private_key: string };

/** Who we are to the push services of browsers: the same for all coordinators and for good, from a key that outlives SECRET_KEY. */
export const createVapidPair = (sql: Queryable, keys: MasterKeys): (() => Promise<VapidPair>) => {
  const key = createKeptKey(sql, keys, 'alert links');
  return async () => {
    const ecdh = createECDH('prime256v1');
    const secret = createHmac('sha256', await key())
      .update('vapid private key')
      .digest();
    // One in four billion is no private key of this curve; clearing the highest bit makes every one of them one.
    secret.writeUInt8(secret.readUInt8(0) & 0x7f, 0);
    ecdh.setPrivateKey(secret);
    return { public_key: ecdh.getPublicKey('base64url'), private_key: secret.toString('base64url') };
  };
};
