import { createECDH, createHmac } from 'node:crypto';
import type { Clock } from '../../shared/base/time.ts';
import type { Sql } from '../store/store-database.ts';
import { consumeRecord, deleteRecord, endConnection, readRecord, writeRecord } from '../store/store-oauth-records.ts';
import { recordFingerprint } from './access-assistant-connections.ts';

type Payload = Readonly<Record<string, unknown>>;

/** What the signing-in of assistants remembers, in the database, so that several coordinators are one. No id that lets somebody in is stored. */
export type OauthRecords = {
  /** False when the connection that it belongs to has ended. */
  readonly write: (model: string, id: string, payload: Payload, expiresIn: number | undefined) => Promise<boolean>;
  readonly read: (model: string, id: string) => Promise<Payload | undefined>;
  /** True for whoever was the first. */
  readonly consume: (model: string, id: string) => Promise<boolean>;
  readonly remove: (model: string, id: string) => Promise<void>;
  /** A connection is also the grant, under the same id. */
  readonly end: (connection: string) => Promise<void>;
};

/** Two processes of one client may refresh with one token at once: so long after its first use it still counts as unused. */
const graceMs = 45_000;

export const createOauthRecords = (sql: Sql, clock: Clock, key: () => Promise<Buffer>): OauthRecords => {
  const keyOf = async (model: string, id: string) => ({ model, fingerprint: recordFingerprint(await key(), model, id) });
  return {
    write: async (model, id, { jti: _, ...payload }, expiresIn) => {
      const at = clock.now();
      const connection = model === 'Grant' ? id : payload.grantId;
      return writeRecord(sql, {
        ...(await keyOf(model, id)),
        ...{ payload, at: new Date(at), connection: typeof connection === 'string' ? connection : null },
        expires_at: expiresIn === undefined ? null : new Date(at + expiresIn * 1_000),
      });
    },
    read: async (model, id) => {
      const now = clock.now();
      const found = await readRecord(sql, await keyOf(model, id), new Date(now));
      if (!found) return undefined;
      const { payload, consumed_at } = found;
      const isUsed = consumed_at !== null && (model !== 'RefreshToken' || consumed_at.getTime() + graceMs <= now);
      return {
        ...payload,
        ...(model === 'Client' ? {} : { jti: id }),
        ...(isUsed ? { consumed: Math.floor(consumed_at.getTime() / 1_000) } : {}),
      };
    },
    consume: async (model, id) => consumeRecord(sql, await keyOf(model, id), new Date(clock.now())),
    remove: async (model, id) => deleteRecord(sql, await keyOf(model, id)),
    end: (connection) => endConnection(sql, connection),
  };
};

/** What the signing-in of assistants signs with, made from the installation's key: the same for all coordinators, and stored nowhere. */
export const createAssistantSecrets = (key: () => Promise<Buffer>) => {
  const made = async (purpose: string): Promise<Buffer> =>
    createHmac('sha256', await key())
      .update(purpose)
      .digest();
  return {
    cookieKey: async (): Promise<string> => (await made('cookies')).toString('base64url'),
    /** The one refresh token that follows another. */
    successors: async (): Promise<(token: string) => string> => {
      const secret = await made('successors of refresh tokens');
      return (token) => createHmac('sha256', secret).update(token).digest('base64url');
    },
    /** A private key of P-256, as JWK. */
    signingKey: async () => {
      const secret = await made('signing key');
      // One in four billion is no private key of this curve; clearing the highest bit makes every one of them one.
      secret.writeUInt8(secret.readUInt8(0) & 0x7f, 0);
      const ecdh = createECDH('prime256v1');
      ecdh.setPrivateKey(secret);
      const point = ecdh.getPublicKey();
      const [x, y] = [point.subarray(1, 33).toString('base64url'), point.subarray(33).toString('base64url')];
      return { kty: 'EC', crv: 'P-256', alg: 'ES256', use: 'sig', kid: x.slice(0, 16), d: secret.toString('base64url'), x, y };
    },
  };
};
