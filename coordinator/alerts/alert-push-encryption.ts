import { createCipheriv, createPrivateKey, type ECDH, hkdfSync, sign } from 'node:crypto';

/**
 * Web Push: a message that only the browser can read (RFC 8291, aes128gcm of RFC 8188), and the word of who sends it (VAPID, RFC 8292). Some
 * sixty lines over node:crypto; the library for it was last kept in 2024.
 */

/** Who we are to the push services of browsers; the same for all coordinators and for good, or no browser hears of us any more. */
export type VapidKeys = {
  /** An https: or mailto: address at which a push service reaches whoever runs this installation. */
  readonly subject: string;
  /** P-256, base64url: the public key uncompressed (65 bytes), the private one 32 bytes. */
  readonly public_key: string;
  readonly private_key: string;
};

const bytesOf = (text: string): Buffer => Buffer.from(text, 'base64url');

/** New with every message; given, so that the same message can be made twice (and held against the RFC's own). */
export type Chance = { readonly salt: Buffer; readonly own: ECDH };

const derive = (secret: Uint8Array, salt: Uint8Array, info: Uint8Array | string, length: number): Buffer =>
  Buffer.from(hkdfSync('sha256', secret, salt, info, length));

/** One record: the whole message and its end mark. @throws when the browser's key is no point of the curve. */
export const encryptPush = (
  payload: string,
  browser: { readonly p256dh: string; readonly auth: string },
  { salt, own }: Chance,
): Buffer => {
  const theirs = bytesOf(browser.p256dh);
  const ours = own.getPublicKey();
  const info = Buffer.concat([Buffer.from('WebPush: info\0'), theirs, ours]);
  const input = derive(own.computeSecret(theirs), bytesOf(browser.auth), info, 32);
  const key = derive(input, salt, 'Content-Encoding: aes128gcm\0', 16);
  const nonce = derive(input, salt, 'Content-Encoding: nonce\0', 12);
  const cipher = createCipheriv('aes-128-gcm', key, nonce);
  const encrypted = Buffer.concat([cipher.update(payload), cipher.update(Buffer.from([2])), cipher.final(), cipher.getAuthTag()]);
  const recordSize = Buffer.alloc(4);
  recordSize.writeUInt32BE(4_096);
  return Buffer.concat([salt, recordSize, Buffer.from([ours.length]), ours, encrypted]);
};

const hours12 = 12 * 3_600;
const json = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

/** The Authorization header for one push service. @param now in ms. */
export const vapidAuthorization = (keys: VapidKeys, endpoint: string, now: number): string => {
  const point = bytesOf(keys.public_key);
  const key = createPrivateKey({
    format: 'jwk',
    key: {
      kty: 'EC',
      crv: 'P-256',
      d: keys.private_key,
      x: point.subarray(1, 33).toString('base64url'),
      y: point.subarray(33, 65).toString('base64url'),
    },
  });
  const claims = { aud: new URL(endpoint).origin, exp: Math.floor(now / 1_000) + hours12, sub: keys.subject };
  const signed = `${json({ typ: 'JWT', alg: 'ES256' })}.${json(claims)}`;
  const signature = sign('sha256', Buffer.from(signed), { key, dsaEncoding: 'ieee-p1363' }).toString('base64url');
  return `vapid t=${signed}.${signature}, k=${keys.public_key}`;
};
