import {
  createHash,
  createPrivateKey,
  createPublicKey,
  diffieHellman,
  generateKeyPairSync,
  hkdfSync,
  type KeyObject,
} from 'node:crypto';
import { decrypt, encrypt } from '../base/crypto.ts';

/**
 * Secrets of monitors on their way to the probes. A secret is in a box (AES-256-GCM) under the
 * network key of the place that may open it; the network keys themselves reach a probe sealed to
 * its own X25519 key. So neither the bus nor a probe's disk holds a secret in plain form.
 */
export type NetworkKey = {
  /** Eight hexadecimal characters, derived from the key: a box names its key by them. */
  readonly id: string;
  readonly bytes: Buffer;
};

const keyLength = 32;
const idLength = 4;

/**
 * The key of a place (a continent, or one private probe) in an epoch, derived from the
 * coordinator's own secret: nothing has to be stored.
 */
export function deriveNetworkKey(
  secret: Uint8Array | string,
  place: string,
  epoch: number,
): NetworkKey {
  return networkKeyFrom(
    Buffer.from(
      hkdfSync('sha256', secret, '', `antipode network key ${epoch} ${place}`, keyLength),
    ),
  );
}

function networkKeyFrom(bytes: Buffer): NetworkKey {
  if (bytes.length !== keyLength)
    throw new Error(`a network key has ${keyLength} bytes, not ${bytes.length}`);
  return {
    id: createHash('sha256')
      .update('antipode key id')
      .update(bytes)
      .digest()
      .subarray(0, idLength)
      .toString('hex'),
    bytes,
  };
}

/**
 * Base64 of key id, nonce, ciphertext and tag. `about` (the monitor's id) is authenticated: a box
 * does not open for another monitor.
 */
export function sealBox(key: NetworkKey, text: string, about: string): string {
  return Buffer.concat([
    Buffer.from(key.id, 'hex'),
    encrypt(key.bytes, Buffer.from(text), about),
  ]).toString('base64');
}

/** The id of the key that opens a box. */
export function keyIdOf(box: string): string {
  return Buffer.from(box.slice(0, 8), 'base64').subarray(0, idLength).toString('hex');
}

/** @throws when the key is missing, or when box, key and `about` do not belong together. */
export function openBox(keys: ReadonlyMap<string, NetworkKey>, box: string, about: string): string {
  const key = keys.get(keyIdOf(box));
  if (!key) throw new Error(`the key ${keyIdOf(box)} of a sealed text is not known here`);
  return decrypt(key.bytes, Buffer.from(box, 'base64').subarray(idLength), about).toString();
}

const privateHeader = Buffer.from('302e020100300506032b656e04220420', 'hex');

export type SealPair = {
  /** Raw public key, base64: others seal to it. */
  readonly open: string;
  /** Raw private key, base64: restores the pair. */
  readonly secret: string;
};

export function createSealPair(): SealPair {
  const { publicKey, privateKey } = generateKeyPairSync('x25519');
  const secret = privateKey.export({ format: 'der', type: 'pkcs8' }).subarray(privateHeader.length);
  return { open: rawPublic(publicKey).toString('base64'), secret: secret.toString('base64') };
}

/** The fixed prefix of a raw X25519 key in the forms that node:crypto imports. */
const publicHeader = Buffer.from('302a300506032b656e032100', 'hex');

function rawPublic(key: KeyObject): Buffer {
  return key.export({ format: 'der', type: 'spki' }).subarray(publicHeader.length);
}

/** @throws when the text is no private key. */
export function sealPairFrom(secret: string): SealPair {
  return {
    open: rawPublic(createPublicKey(readPrivate(secret))).toString('base64'),
    secret,
  };
}

function readPrivate(secret: string): KeyObject {
  return createPrivateKey({
    key: Buffer.concat([privateHeader, Buffer.from(secret, 'base64')]),
    format: 'der',
    type: 'pkcs8',
  });
}

/**
 * Base64 of a single-use public key, and the network key sealed with the secret that it shares with
 * the receiver's key.
 */
export function sealKeyTo(receiver: string, key: NetworkKey): string {
  const to = Buffer.from(receiver, 'base64');
  const once = generateKeyPairSync('x25519');
  const sender = rawPublic(once.publicKey);
  const wrapped = encrypt(
    sharedKey(once.privateKey, readPublic(to), sender, to),
    key.bytes,
    key.id,
  );
  return Buffer.concat([sender, wrapped]).toString('base64');
}

/**
 * The derivation includes both public keys: a sealed key proves that it is meant for this receiver.
 */
function sharedKey(mine: KeyObject, theirs: KeyObject, sender: Buffer, receiver: Buffer): Buffer {
  return Buffer.from(
    hkdfSync(
      'sha256',
      diffieHellman({ privateKey: mine, publicKey: theirs }),
      Buffer.concat([sender, receiver]),
      'antipode sealed key',
      keyLength,
    ),
  );
}

function readPublic(raw: Buffer): KeyObject {
  return createPublicKey({ key: Buffer.concat([publicHeader, raw]), format: 'der', type: 'spki' });
}

/** @throws when it was not sealed to this pair, or is not the key of this id. */
export function openKey(pair: SealPair, id: string, sealed: string): NetworkKey {
  const bytes = Buffer.from(sealed, 'base64');
  const sender = bytes.subarray(0, keyLength);
  const key = sharedKey(
    readPrivate(pair.secret),
    readPublic(sender),
    sender,
    Buffer.from(pair.open, 'base64'),
  );
  const opened = networkKeyFrom(decrypt(key, bytes.subarray(keyLength), id));
  if (opened.id !== id) throw new Error(`the sealed key ${id} turned out to be ${opened.id}`);
  return opened;
}
