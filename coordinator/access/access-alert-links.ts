import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Queryable } from '../store/store-database.ts';
import { messageOfKey } from '../store/store-messages-read.ts';
import { createKeptKey, type MasterKeys } from './access-master-keys.ts';

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
