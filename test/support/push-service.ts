/** For test files: a browser's side of Web Push, and the service that carries it. */
import { createDecipheriv, createECDH, type ECDH, hkdfSync } from 'node:crypto';

export const newPushKeys = (): ECDH => {
  const pair = createECDH('prime256v1');
  pair.generateKeys();
  return pair;
};

/** What a browser does with a message (RFC 8188 and 8291), from its private key. @throws when it is not meant for it. */
export const readPush = (message: Buffer, browser: { readonly privateKey: Buffer; readonly auth: Buffer }): string => {
  const salt = message.subarray(0, 16);
  if (message.readUInt32BE(16) < message.length - 86) throw new Error('the record is longer than it says');
  const theirs = message.subarray(21, 21 + message.readUInt8(20));
  const own = createECDH('prime256v1');
  own.setPrivateKey(browser.privateKey);
  const info = Buffer.concat([Buffer.from('WebPush: info\0'), own.getPublicKey(), theirs]);
  const input = Buffer.from(hkdfSync('sha256', own.computeSecret(theirs), browser.auth, info, 32));
  const key = Buffer.from(hkdfSync('sha256', input, salt, 'Content-Encoding: aes128gcm\0', 16));
  const nonce = Buffer.from(hkdfSync('sha256', input, salt, 'Content-Encoding: nonce\0', 12));
  const sealed = message.subarray(21 + theirs.length);
  const decipher = createDecipheriv('aes-128-gcm', key, nonce);
  decipher.setAuthTag(sealed.subarray(-16));
  const padded = Buffer.concat([decipher.update(sealed.subarray(0, -16)), decipher.final()]);
  if (padded.at(-1) !== 2) throw new Error('it has no end mark');
  return padded.subarray(0, -1).toString();
};
