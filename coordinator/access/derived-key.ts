import { hkdfSync } from 'node:crypto';

/** A key for one purpose from the installation's SECRET_KEY, so that no two parts ever use the same bytes. */
export const derivedKey = (secretKey: string, purpose: string): Buffer =>
  Buffer.from(hkdfSync('sha256', secretKey, '', `antipode ${purpose}`, 32));
