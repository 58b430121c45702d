import { createECDH, createHmac, timingSafeEqual } from 'node:crypto';
import type { Queryable } from '../database/connect.ts';
import type { AccountSecrets } from '../secrets/account-secrets.ts';
import { createKeptKey, type MasterKeys } from '../secrets/at-rest.ts';
import type { MessageLinks } from './message.ts';

/**
 * The links of a message. Each is signed, and valid only for what that message covers: anyone who
 * has the message may acknowledge its incidents, and unsubscribe its mailbox. Nothing about them is
 * stored.
 */
export type AlertLinkFor = 'acknowledge' | 'unsubscribe';

export type AlertLinks = {
  readonly signAcknowledge: (message: string) => Promise<string>;
  /** For the address that the mail goes to: valid while the channel has it. */
  readonly signUnsubscribe: (message: string, address: string) => Promise<string>;
  /** A shorter acknowledge link: the running number of the message, and 96 bits of signature. */
  readonly signShort: (message: { readonly id: string; readonly key: number }) => Promise<string>;
  /**
   * The message that a link is valid for; undefined when we did not sign it, or when the channel no
   * longer has the address that the mail went to.
   */
  readonly read: (what: AlertLinkFor, text: string) => Promise<string | undefined>;
};

const signedUuid = /^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.([A-Za-z0-9_-]{22})$/;
const signatureLength = 16;
const shortLength = 12;

/**
 * Uses a key that outlives SECRET_KEY; otherwise replacing SECRET_KEY would break the links in
 * every mailbox.
 */
export function createAlertLinks(sql: Queryable, keys: MasterKeys): AlertLinks {
  const key = createKeptKey(sql, keys, 'alert links');
  const signature = async (
    what: AlertLinkFor | 'acknowledge short',
    about: string,
    length = signatureLength,
  ): Promise<Buffer> =>
    createHmac('sha256', await key())
      .update(`${what} ${about}`)
      .digest()
      .subarray(0, length);
  const readShort = async (number: string, signed: string): Promise<string | undefined> => {
    const id = await messageOfKey(sql, Number.parseInt(number, 36));
    if (id === undefined) return undefined;
    return timingSafeEqual(
      Buffer.from(signed, 'base64url'),
      await signature('acknowledge short', id, shortLength),
    )
      ? id
      : undefined;
  };
  const toMailbox = (message: string, address: string): string =>
    `${message} ${address.toLowerCase()}`;
  /** What the link that unsubscribes may have signed, while the channel is as it is now. */
  const unsubscribable = async (message: string): Promise<readonly string[]> => {
    const mailbox = await mailboxOfMessage(sql, message);
    if (mailbox === undefined) return [];
    const { address, is_unmoved } = mailbox;
    // Older mails signed the message alone: their links hold where the address is surely the same.
    return is_unmoved ? [toMailbox(message, address), message] : [toMailbox(message, address)];
  };
  return {
    signAcknowledge: async (message) =>
      `${message}.${(await signature('acknowledge', message)).toString('base64url')}`,
    signUnsubscribe: async (message, address) =>
      `${message}.${(await signature('unsubscribe', toMailbox(message, address))).toString('base64url')}`,
    signShort: async ({ id, key: number }) =>
      `${number.toString(36)}${(await signature('acknowledge short', id, shortLength)).toString('base64url')}`,
    read: async (what, text) => {
      const [, number, short] = /^([0-9a-z]{1,10})([A-Za-z0-9_-]{16})$/.exec(text) ?? [];
      if (what === 'acknowledge' && number !== undefined && short !== undefined)
        return readShort(number, short);
      const [, message, signed] = signedUuid.exec(text) ?? [];
      if (message === undefined || signed === undefined) return undefined;
      const given = Buffer.from(signed, 'base64url');
      if (given.length !== signatureLength) return undefined;
      for (const about of what === 'acknowledge' ? [message] : await unsubscribable(message))
        if (timingSafeEqual(given, await signature(what, about))) return message;
      return undefined;
    },
  };
}

export type LinkedContent = {
  readonly id: string;
  /** Null where nothing is stored about it, as for a test. */
  readonly key: number | null;
  readonly channel: string | null;
  readonly incidents: readonly string[];
  readonly warned: readonly string[] | null;
  readonly mayAcknowledge: boolean;
  /** The address that can unsubscribe from it; null where it is no mail. */
  readonly mailbox: string | null;
};

/** The links that a message shows. */
export function createMessageLinks(
  links: AlertLinks,
  baseUrl: () => string,
): (message: LinkedContent) => Promise<MessageLinks> {
  return async (message) => {
    const { id, key, channel, incidents, warned, mayAcknowledge, mailbox } = message;
    const base = baseUrl();
    const [only, ...more] = warned ?? incidents;
    const [one, all] = warned === null ? ['incidents', 'incidents'] : ['monitors', '?warning=any'];
    return {
      incident:
        only !== undefined && more.length === 0 ? `${base}/${one}/${only}` : `${base}/${all}`,
      acknowledge: mayAcknowledge ? `${base}/acknowledge/${await links.signAcknowledge(id)}` : null,
      acknowledge_short:
        mayAcknowledge && key !== null ? `${base}/a/${await links.signShort({ id, key })}` : null,
      why: channel === null ? `${base}/alerts` : `${base}/alerts/${channel}/messages/${id}`,
      channel: channel === null ? `${base}/alerts` : `${base}/alerts/${channel}`,
      unsubscribe:
        mailbox !== null && channel !== null
          ? `${base}/unsubscribe/${await links.signUnsubscribe(id, mailbox)}`
          : null,
    };
  };
}

type Leaving = 'page leaving' | 'report leaving';

/** The link that unsubscribes from mails of a status page, or a report. Nothing about it is stored. */
export async function leavingLink(
  secrets: AccountSecrets,
  subscriber: string,
  from: Leaving = 'page leaving',
): Promise<string> {
  return `${subscriber}.${(await signatureOf(secrets, subscriber, from)).toString('base64url')}`;
}

async function signatureOf(
  secrets: AccountSecrets,
  subscriber: string,
  from: Leaving,
): Promise<Buffer> {
  return (await secrets.fingerprint(from, subscriber)).subarray(0, signatureLength);
}

/** The subscriber that the link is valid for; undefined when we did not sign it. */
export async function subscriberOf(
  secrets: AccountSecrets,
  link: string,
  from: Leaving = 'page leaving',
): Promise<string | undefined> {
  const [, subscriber, signed] = signedUuid.exec(link) ?? [];
  if (subscriber === undefined || signed === undefined) return undefined;
  const given = Buffer.from(signed, 'base64url');
  return given.length === signatureLength &&
    timingSafeEqual(given, await signatureOf(secrets, subscriber, from))
    ? subscriber
    : undefined;
}

type VapidPair = { readonly public_key: string; readonly private_key: string };

/**
 * Our identity at the push services of browsers: the same for all coordinators, permanently, from a
 * key that outlives SECRET_KEY.
 */
export function createVapidPair(sql: Queryable, keys: MasterKeys): () => Promise<VapidPair> {
  const key = createKeptKey(sql, keys, 'alert links');
  return async () => {
    const ecdh = createECDH('prime256v1');
    const secret = createHmac('sha256', await key())
      .update('vapid private key')
      .digest();
    // One in four billion values is not a private key of this curve; clearing the highest bit makes
    // every value one.
    secret.writeUInt8(secret.readUInt8(0) & 0x7f, 0);
    ecdh.setPrivateKey(secret);
    return {
      public_key: ecdh.getPublicKey('base64url'),
      private_key: secret.toString('base64url'),
    };
  };
}

export type LinkedMessage = {
  readonly organisation_id: string;
  readonly organisation: string;
  readonly channel: string;
  readonly address: string | null;
  readonly sentence: string;
  readonly incidents: readonly string[];
  readonly open: number;
  readonly acknowledged_as: readonly string[];
};

/** The message with this running number. */
async function messageOfKey(sql: Queryable, key: number): Promise<string | undefined> {
  const [row] = await sql<{ id: string }[]>`select id from deliveries
    where key = ${key} and kind = 'alert'`;
  return row?.id;
}

/**
 * The mailbox of the channel that a message went to; `is_unmoved`: it was confirmed before the
 * message was written, and every change of its address confirms it again or asks again.
 */
async function mailboxOfMessage(
  sql: Queryable,
  id: string,
): Promise<{ address: string; is_unmoved: boolean } | undefined> {
  const [row] = await sql<{ address: string; is_unmoved: boolean }[]>`
    select c.config ->> 'address' as address,
      coalesce(c.verified_at <= m.created_at, false) as is_unmoved
    from deliveries m join channels c on c.id = m.channel_id
    where m.id = ${id} and c.kind = 'email' and c.deleted_at is null`;
  return row;
}

/** The message that a signed link belongs to. */
export async function messageOfLink(
  sql: Queryable,
  id: string,
): Promise<LinkedMessage | undefined> {
  const [row] = await sql<LinkedMessage[]>`
    select o.id as organisation_id, o.name as organisation, c.name as channel,
      c.config ->> 'address' as address, m.told ->> 'sentence' as sentence,
      array(select value ->> 'incident'
        from jsonb_array_elements(m.told -> 'monitors')) as incidents,
      (select count(*) from incidents i where i.resolved_at is null and i.acknowledged_at is null
        and i.organisation_id = m.organisation_id and i.id in (
        select nullif(value ->> 'incident', '')::uuid
        from jsonb_array_elements(m.told -> 'monitors'))) as open,
      array(select distinct i.acknowledged_as from incidents i where i.acknowledged_as is not null
        and i.organisation_id = m.organisation_id and i.id in (
        select nullif(value ->> 'incident', '')::uuid
        from jsonb_array_elements(m.told -> 'monitors'))) as acknowledged_as
    from deliveries m join channels c on c.id = m.channel_id join organisations o
      on o.id = c.organisation_id
    where m.id = ${id} and c.deleted_at is null`;
  return row;
}
