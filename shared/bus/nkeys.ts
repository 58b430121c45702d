/**
 * Identities on the bus: nkeys (Ed25519 keys in NATS' own encoding), the JWTs of operator, account
 * and user, and credentials files. Pure: the time is an argument, nothing is read or sent.
 *
 * The same keys sign batches of results: a batch proves its sender without trust in its subject.
 */
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  sign as signBytes,
  verify as verifyBytes,
} from 'node:crypto';
import { z } from 'zod';
import { createRecentCache } from '../base/async.ts';

type KeyKind = 'operator' | 'account' | 'user';

export type Key = {
  readonly kind: KeyKind;
  /** The public key in NATS' encoding: O…, A… or U…. */
  readonly id: string;
  /** The secret from which the key can be restored: SO…, SA… or SU…. */
  readonly seed: string;
  readonly sign: (bytes: Uint8Array) => Uint8Array;
};

const prefixes = { operator: 14 << 3, account: 0, user: 20 << 3 } as const satisfies Record<
  KeyKind,
  number
>;
const seedPrefix = 18 << 3;
const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

/** The fixed prefix of a raw Ed25519 key in the only two forms that node:crypto imports. */
const privateHeader = Buffer.from('302e020100300506032b657004220420', 'hex');
const publicHeader = Buffer.from('302a300506032b6570032100', 'hex');

/** The key derived from these 32 bytes. */
export function keyFromBytes(kind: KeyKind, raw: Uint8Array): Key {
  return keyFromRaw(kind, Buffer.from(raw));
}

function keyFromRaw(kind: KeyKind, raw: Buffer): Key {
  const secret = createPrivateKey({
    key: Buffer.concat([privateHeader, raw]),
    format: 'der',
    type: 'pkcs8',
  });
  const open = createPublicKey(secret)
    .export({ format: 'der', type: 'spki' })
    .subarray(publicHeader.length);
  const prefix = prefixes[kind];
  return Object.freeze({
    kind,
    id: encode([prefix], open),
    seed: encode([seedPrefix | (prefix >>> 5), (prefix & 31) << 3], raw),
    sign: (bytes: Uint8Array) => signBytes(null, bytes, secret),
  });
}

function encode(head: readonly number[], raw: Uint8Array): string {
  const body = Buffer.concat([Buffer.from(head), raw]);
  const crc = crc16(body);
  return toBase32(Buffer.concat([body, Buffer.from([crc & 255, crc >>> 8])]));
}

function crc16(bytes: Uint8Array): number {
  let crc = 0;
  for (const byte of bytes) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit++)
      crc = (crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1) & 0xffff;
  }
  return crc;
}

function toBase32(bytes: Uint8Array): string {
  let text = '';
  let bits = 0;
  let value = 0;
  for (const byte of bytes) {
    value = ((value << 8) | byte) & 0xffff;
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      text += alphabet.charAt((value >>> bits) & 31);
    }
  }
  return bits > 0 ? text + alphabet.charAt((value << (5 - bits)) & 31) : text;
}

export function createKey(kind: KeyKind): Key {
  const made = generateKeyPairSync('ed25519').privateKey.export({ format: 'der', type: 'pkcs8' });
  return keyFromRaw(kind, made.subarray(privateHeader.length));
}

/**
 * @throws when the seed is malformed, has a wrong checksum, or is of another kind than expected.
 */
export function keyFromSeed(seed: string, expected?: KeyKind): Key {
  const { head, raw } = decode(seed.trim(), 2);
  const [first = 0, second = 0] = head;
  if ((first & 0xf8) !== seedPrefix) throw new Error('not an nkey seed');
  const kind = kindOf(((first & 7) << 5) | (second >>> 3));
  if (expected !== undefined && kind !== expected)
    throw new Error(`the seed is of kind ${kind}, ${expected} is needed`);
  return keyFromRaw(kind, raw);
}

function decode(text: string, headLength: number): { head: Buffer; raw: Buffer } {
  const bytes = fromBase32(text);
  if (bytes.length !== headLength + 34) throw new Error('not an nkey: wrong length');
  const body = bytes.subarray(0, -2);
  if (crc16(body) !== bytes.readUInt16LE(bytes.length - 2))
    throw new Error('not an nkey: the checksum does not fit');
  return { head: body.subarray(0, headLength), raw: body.subarray(headLength) };
}

function fromBase32(text: string): Buffer {
  const bytes: number[] = [];
  let bits = 0;
  let value = 0;
  for (const letter of text) {
    const digit = alphabet.indexOf(letter);
    if (digit < 0) throw new Error('not an nkey: a character outside base32');
    value = ((value << 5) | digit) & 0xffff;
    bits += 5;
    if (bits >= 8) {
      bits -= 8;
      bytes.push((value >>> bits) & 255);
    }
  }
  return Buffer.from(bytes);
}

function kindOf(prefix: number): KeyKind {
  for (const kind of ['operator', 'account', 'user'] as const)
    if (prefixes[kind] === prefix) return kind;
  throw new Error('not an nkey of an operator, account or user');
}

/**
 * A verifier meets the same few senders; the limit only keeps made-up senders from filling the
 * memory.
 */
const openKeys = createRecentCache<string, ReturnType<typeof createPublicKey>>(4_096);

/** Whether `id` is a well-formed public nkey, of the given kind if one is given. */
export function isKeyId(id: string, kind?: KeyKind): boolean {
  try {
    const found = kindOf(decode(id, 1).head[0] ?? -1);
    return kind === undefined || found === kind;
  } catch {
    return false; // Malformed is a valid answer here, not a failure.
  }
}

/** Whether the holder of the key `id` signed exactly these bytes; false for a malformed id. */
export function verify(id: string, signature: Uint8Array, bytes: Uint8Array): boolean {
  return (
    isKeyId(id) && signature.length === 64 && verifyBytes(null, bytes, publicKeyOf(id), signature)
  );
}

function publicKeyOf(id: string): ReturnType<typeof createPublicKey> {
  const known = openKeys.find(id);
  if (known !== undefined) return known;
  const { head, raw } = decode(id, 1);
  kindOf(head[0] ?? -1);
  const made = createPublicKey({
    key: Buffer.concat([publicHeader, raw]),
    format: 'der',
    type: 'spki',
  });
  openKeys.keep(id, made);
  return made;
}

// JWTs

export function mintOperator(
  of: { name: string; operator: Key; systemAccount: string },
  now: number,
): string {
  return mint(
    of.operator,
    {
      name: of.name,
      sub: of.operator.id,
      nats: { system_account: of.systemAccount, type: 'operator', version: 2 },
    },
    now,
  );
}

type Claims = { readonly [claim: string]: unknown };

function mint(
  issuer: Key,
  claims: { name: string; sub: string; exp?: number; nats: Claims },
  now: number,
): string {
  const body = { ...claims, iat: seconds(now), iss: issuer.id };
  const jti = toBase32(createHash('sha512-256').update(JSON.stringify(body)).digest());
  const unsigned = `${part({ typ: 'JWT', alg: 'ed25519-nkey' })}.${part({ ...body, jti })}`;
  return `${unsigned}.${Buffer.from(issuer.sign(Buffer.from(unsigned))).toString('base64url')}`;
}

function seconds(ms: number): number {
  return Math.floor(ms / 1000);
}

function part(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

/**
 * User id → the second up to which its credentials are void; NATS refuses every JWT of that user
 * that is not younger.
 */
type Revocations = { readonly [userId: string]: number };

type AccountOf = {
  name: string;
  account: string;
  operator: Key;
  jetstream: boolean;
  revocations?: Revocations;
};

export function mintAccount(of: AccountOf, now: number): string {
  const storage = of.jetstream
    ? { mem_storage: -1, disk_storage: -1, streams: -1, consumer: -1 }
    : {};
  const free = {
    subs: -1,
    data: -1,
    payload: -1,
    imports: -1,
    exports: -1,
    wildcards: true,
    conn: -1,
    leaf: -1,
    ...storage,
  };
  const nats = {
    limits: free,
    default_permissions: { pub: {}, sub: {} },
    type: 'account',
    version: 2,
  };
  const revocations = of.revocations === undefined ? {} : { revocations: of.revocations };
  return mint(
    of.operator,
    { name: of.name, sub: of.account, nats: { ...nats, ...revocations } },
    now,
  );
}

export type Permissions = {
  publish: { allow?: readonly string[]; deny?: readonly string[] };
  subscribe: { allow?: readonly string[]; deny?: readonly string[] };
  /**
   * May answer requests that it received, on any reply subject they carry: this many messages, for
   * this long.
   */
  responses?: { max: number; ttlMs: number };
};

/**
 * How many subscriptions a user may hold, and how large one message may be; without them, no limit.
 */
export type UserLimits = { readonly subscriptions: number; readonly payloadBytes: number };

type UserOf = {
  name: string;
  user: string;
  account: Key;
  permissions?: Permissions;
  limits?: UserLimits;
  expiresAt?: number;
};

export function mintUser(of: UserOf, now: number): string {
  const limits = {
    subs: of.limits?.subscriptions ?? -1,
    data: -1,
    payload: of.limits?.payloadBytes ?? -1,
  };
  const may = of.permissions;
  const answers =
    may?.responses === undefined
      ? {}
      : { resp: { max: may.responses.max, ttl: may.responses.ttlMs * 1_000_000 } };
  const nats = {
    pub: may?.publish ?? {},
    sub: may?.subscribe ?? {},
    ...answers,
    ...limits,
    type: 'user',
    version: 2,
  };
  const end = of.expiresAt === undefined ? {} : { exp: seconds(of.expiresAt) };
  return mint(of.account, { name: of.name, sub: of.user, ...end, nats }, now);
}

const claimsShape = z.object({
  name: z.string(),
  sub: z.string(),
  iss: z.string(),
  iat: z.number(),
  exp: z.number().optional(),
  nats: z.looseObject({
    type: z.enum(['operator', 'account', 'user']),
    revocations: z.record(z.string(), z.number()).optional(),
  }),
});

type NatsClaims = z.infer<typeof claimsShape>;

/**
 * @throws when it is no NATS JWT, or its issuer did not sign it. The caller decides whether to
 * trust that issuer.
 */
export function readJwt(jwt: string): NatsClaims {
  const [head = '', body = '', signature = ''] = jwt.trim().split('.');
  const claims = claimsShape.parse(JSON.parse(Buffer.from(body, 'base64url').toString()));
  if (!verify(claims.iss, Buffer.from(signature, 'base64url'), Buffer.from(`${head}.${body}`)))
    throw new Error('the JWT was not signed by its issuer');
  return claims;
}

/**
 * The same account with these revocations instead of its old ones, signed again; everything else
 * stays.
 */
export function withRevocations(
  accountJwt: string,
  revocations: Revocations,
  operator: Key,
  now: number,
): string {
  const { name, sub, nats } = readJwt(accountJwt);
  if (nats.type !== 'account')
    throw new Error(`the JWT is of kind ${nats.type}, account is needed`);
  return mint(operator, { name, sub, nats: { ...nats, revocations } }, now);
}

// Credentials files

type Credentials = { readonly jwt: string; readonly seed: string };

/** The text of a credentials file as every NATS client reads it. */
export function formatCredentials(of: Credentials): string {
  return `${block('NATS USER JWT', of.jwt)}\n${block('USER NKEY SEED', of.seed)}`;
}

function block(title: string, text: string): string {
  return `-----BEGIN ${title}-----\n${text}\n------END ${title}------\n`;
}

/** @throws when one of the two blocks is missing. */
export function parseCredentials(text: string): Credentials {
  const inside = (title: string): string => {
    const found = new RegExp(`-----BEGIN ${title}-----\\s*(\\S+)\\s*-----+END ${title}-----`).exec(
      text,
    )?.[1];
    if (found === undefined)
      throw new Error(`not a NATS credentials file: the block ${title} is missing`);
    return found;
  };
  return { jwt: inside('NATS USER JWT'), seed: inside('USER NKEY SEED') };
}

/** A new user with its key, as a credentials file. */
export function issueCredentials(
  of: Omit<UserOf, 'user'>,
  now: number,
): { id: string; seed: string; credentials: string } {
  const user = createKey('user');
  const jwt = mintUser({ ...of, user: user.id }, now);
  return { id: user.id, seed: user.seed, credentials: formatCredentials({ jwt, seed: user.seed }) };
}
