import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Queryable } from '../store/store-database.ts';
import { createKeptKey, type MasterKeys } from './access-master-keys.ts';

/**
 * What the links of a message may do, each signed and good for what that message tells alone: whoever has the message may acknowledge its
 * incidents, and end what comes to its mailbox. Nothing of them is stored.
 */
export type AlertLinkFor = 'acknowledge' | 'unsubscribe';

export type AlertLinks = {
  readonly sign: (what: AlertLinkFor, message: string) => Promise<string>;
  /** The message that it is good for; undefined when we did not sign it. */
  readonly read: (what: AlertLinkFor, text: string) => Promise<string | undefined>;
};

const signatureLength = 16;

/** Under a key that outlives SECRET_KEY, or replacing that would break the links in every mailbox. */
export const createAlertLinks = (sql: Queryable, keys: MasterKeys): AlertLinks => {
  const key = createKeptKey(sql, keys, 'alert links');
  const signature = async (what: AlertLinkFor, message: string): Promise<Buffer> =>
    createHmac('sha256', await key())
      .update(`${what} ${message}`)
      .digest()
      .subarray(0, signatureLength);
  return {
    sign: async (what, message) => `${message}.${(await signature(what, message)).toString('base64url')}`,
    read: async (what, text) => {
      const [, message, signed] = /^([0-9a-f-]{36})\.([A-Za-z0-9_-]{22})$/.exec(text) ?? [];
      if (message === undefined || signed === undefined) return undefined;
      const given = Buffer.from(signed, 'base64url');
      return given.length === signatureLength && timingSafeEqual(given, await signature(what, message)) ? message : undefined;
    },
  };
};
