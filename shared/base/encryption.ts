import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

/** Encryption by AES-256-GCM: nonce, ciphertext and tag in one. `about` is bound in: what was encrypted about one thing opens for no other. */
const nonceLength = 12;
const tagLength = 16;

export const encrypt = (key: Buffer, bytes: Uint8Array, about: string): Buffer => {
  const nonce = randomBytes(nonceLength);
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(about));
  return Buffer.concat([nonce, cipher.update(bytes), cipher.final(), cipher.getAuthTag()]);
};

/** @throws when it was not encrypted with this key, about this, or was changed since. */
export const decrypt = (key: Buffer, encrypted: Uint8Array, about: string): Buffer => {
  if (encrypted.length < nonceLength + tagLength) throw new Error('an encrypted value is too short to be one');
  const decipher = createDecipheriv('aes-256-gcm', key, encrypted.subarray(0, nonceLength)).setAAD(Buffer.from(about));
  decipher.setAuthTag(encrypted.subarray(-tagLength));
  return Buffer.concat([decipher.update(encrypted.subarray(nonceLength, -tagLength)), decipher.final()]);
};
