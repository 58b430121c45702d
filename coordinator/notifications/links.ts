import { createECDH, createHmac, timingSafeEqual } from 'node:crypto';
import type { Queryable } from '../database/connect.ts';
import type { AccountSecrets } from '../people/secrets.ts';
import { createKeptKey, type MasterKeys } from '../secrets/keys.ts';
import { messageOfKey } from './queries.ts';

/**
 * What the links of a message may do, each signed and good for what that message tells alone: whoever has the message may acknowledge its
 * incidents, and end what comes to its mailbox. Nothing of them is stored.
 */
export type AlertLinkFor = 'acknowledge' | 'unsubscribe';

export type AlertLinks = {
  readonly sign: (what: AlertLinkFor, message: string) => Promise<string>;
  /** The same as one that acknowledges, in few characters: the running number of the message, and 96 bits of signature. */
  readonly signShort: (message: { readonly id: string; readonly key: number }) => Promise<string>;
  /** The message that it is good for; undefined when we did not sign it. */
  readonly read: (what: AlertLinkFor, text: string) => Promise<string | undefined>;
};

const signatureLength = 16;
const shortLength = 12;

/** Under a key that outlives SECRET_KEY, or replacing that would break the links in every mailbox. */
export const createAlertLinks = (sql: Queryable, keys: MasterKeys): AlertLinks => {
  const key = createKeptKey(sql, keys, 'alert links');
  const signature = async (what: AlertLinkFor | 'acknowledge short', message: string, length = signatureLength): Promise<Buffer> =>
    createHmac('sha256', await key())
      .update(`${what} ${message}`)
      .digest()
      .subarray(0, length);
  const readShort = async (number: string, signed: string): Promise<string | undefined> => {
    const id = await messageOfKey(sql, Number.parseInt(number, 36));
    if (id === undefined) return undefined;
    return timingSafeEqual(Buffer.from(signed, 'base64url'), await signature('acknowledge short', id, shortLength)) ? id : undefined;
  };
  return {
    sign: async (what, message) => `${message}.${(await signature(what, message)).toString('base64url')}`,
    signShort: async ({ id, key: number }) =>
      `${number.toString(36)}${(await signature('acknowledge short', id, shortLength)).toString('base64url')}`,
    read: async (what, text) => {
      const [, number, short] = /^([0-9a-z]{1,10})([A-Za-z0-9_-]{16})$/.exec(text) ?? [];
      if (what === 'acknowledge' && number !== undefined && short !== undefined) return readShort(number, short);
      const [, message, signed] = /^([0-9a-f-]{36})\.([A-Za-z0-9_-]{22})$/.exec(text) ?? [];
      if (message === undefined || signed === undefined) return undefined;
      const given = Buffer.from(signed, 'base64url');
      return given.length === signatureLength && timingSafeEqual(given, await signature(what, message)) ? message : undefined;
    },
  };
};

const signatureOf = async (secrets: AccountSecrets, subscriber: string): Promise<Buffer> =>
  (await secrets.fingerprint('page leaving', subscriber)).subarray(0, signatureLength);

/** What ends the mails of a status page to a subscriber; nothing of it is stored. */
export const leavingLink = async (secrets: AccountSecrets, subscriber: string): Promise<string> =>
  `${subscriber}.${(await signatureOf(secrets, subscriber)).toString('base64url')}`;

/** The subscriber whom it is good for; undefined when we did not sign it. */
export const leaverOf = async (secrets: AccountSecrets, link: string): Promise<string | undefined> => {
  const [, subscriber, signed] = /^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.([A-Za-z0-9_-]{22})$/.exec(link) ?? [];
  if (subscriber === undefined || signed === undefined) return undefined;
  const given = Buffer.from(signed, 'base64url');
  return given.length === signatureLength && timingSafeEqual(given, await signatureOf(secrets, subscriber)) ? subscriber : undefined;
};

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
