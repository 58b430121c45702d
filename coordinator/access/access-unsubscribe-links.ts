import { timingSafeEqual } from 'node:crypto';
import type { AccountSecrets } from './access-account-secrets.ts';

const signatureLength = 16;

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
