import { randomBytes, scrypt } from 'node:crypto';
import { promisify } from 'node:util';
import { decrypt, encrypt } from './encryption.ts';

/** A text under a passphrase, as a file that people keep: its first line says what it is, the rest is base64. */
const derive = promisify<string, Buffer, number, object, Buffer>(scrypt);

const title = 'antipode keys 1';
const saltLength = 16;
/** 64 MiB and some tenths of a second for each guess. */
const cost = { N: 65_536, r: 8, p: 1, maxmem: 128 * 1024 * 1024 };

export const shortestPassphrase = 12;

export const lock = async (passphrase: string, text: string): Promise<string> => {
  const salt = randomBytes(saltLength);
  const box = encrypt(await derive(passphrase, salt, 32, cost), Buffer.from(text), title);
  const lines = Buffer.concat([salt, box])
    .toString('base64')
    .replaceAll(/.{1,76}/g, '$&\n');
  return `${title}\n${lines}`;
};

/** Undefined where the file is none, was changed, or lies under another passphrase: nobody can tell these apart. */
export const unlock = async (passphrase: string, file: string): Promise<string | undefined> => {
  const [first = '', ...rest] = file.split('\n');
  const bytes = Buffer.from(rest.join(''), 'base64');
  if (first.trim() !== title || bytes.length <= saltLength) return undefined;
  const key = await derive(passphrase, bytes.subarray(0, saltLength), 32, cost);
  try {
    return decrypt(key, bytes.subarray(saltLength), title).toString();
  } catch {
    return undefined; // What it is that does not fit stands above.
  }
};
