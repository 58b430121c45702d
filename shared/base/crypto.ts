import { createCipheriv, createDecipheriv, randomBytes, randomUUIDv7, scrypt } from 'node:crypto';
import { promisify } from 'node:util';

/**
 * Encryption by AES-256-GCM: nonce, ciphertext and tag in one. `about` is authenticated: what was
 * encrypted for one thing does not open for another.
 */
const nonceLength = 12;
const tagLength = 16;

export function encrypt(key: Buffer, bytes: Uint8Array, about: string): Buffer {
  const nonce = randomBytes(nonceLength);
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(about));
  return Buffer.concat([nonce, cipher.update(bytes), cipher.final(), cipher.getAuthTag()]);
}

/** @throws when it was encrypted with another key or for another `about`, or was changed since. */
export function decrypt(key: Buffer, encrypted: Uint8Array, about: string): Buffer {
  if (encrypted.length < nonceLength + tagLength)
    throw new Error('an encrypted value is too short');
  const decipher = createDecipheriv('aes-256-gcm', key, encrypted.subarray(0, nonceLength)).setAAD(
    Buffer.from(about),
  );
  decipher.setAuthTag(encrypted.subarray(-tagLength));
  return Buffer.concat([
    decipher.update(encrypted.subarray(nonceLength, -tagLength)),
    decipher.final(),
  ]);
}

const text = Buffer.alloc(36);

/**
 * A new id. Every public id is a UUID, of version 7 to fill index pages in order. It is copied into
 * a flat string, because node returns a tree of thirteen concatenations, 470 bytes for as long as
 * it is held.
 */
export function newId(): string {
  return text.toString('latin1', 0, text.write(randomUUIDv7(), 'latin1'));
}

const shape = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Whether a text is a UUID in the one form that we store and compare: lower case, with dashes. */
export function isId(text: string): boolean {
  return shape.test(text);
}

/**
 * A text encrypted with a passphrase, as a file that users keep: its first line names the format,
 * the rest is base64.
 */
const derive = promisify<string, Buffer, number, object, Buffer>(scrypt);

const title = 'antipode keys 1';
const saltLength = 16;
/** 64 MiB and some tenths of a second for each guess. */
const cost = { N: 65_536, r: 8, p: 1, maxmem: 128 * 1024 * 1024 };

export const shortestPassphrase = 12;

export async function lock(passphrase: string, text: string): Promise<string> {
  const salt = randomBytes(saltLength);
  const box = encrypt(await derive(passphrase, salt, 32, cost), Buffer.from(text), title);
  const lines = Buffer.concat([salt, box])
    .toString('base64')
    .replaceAll(/.{1,76}/g, '$&\n');
  return `${title}\n${lines}`;
}

/**
 * Undefined where the file is invalid, was changed, or has another passphrase: these cannot be
 * distinguished.
 */
export async function unlock(passphrase: string, file: string): Promise<string | undefined> {
  const [first = '', ...rest] = file.split('\n');
  const bytes = Buffer.from(rest.join(''), 'base64');
  if (first.trim() !== title || bytes.length <= saltLength) return undefined;
  const key = await derive(passphrase, bytes.subarray(0, saltLength), 32, cost);
  try {
    return decrypt(key, bytes.subarray(saltLength), title).toString();
  } catch {
    return undefined; // The reason does not matter; see above.
  }
}
