import {
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign,
} from 'node:crypto';
import { isIPv4, isIPv6 } from 'node:net';
import ip from 'ipaddr.js';

/** As much of DER (X.690) as a certificate needs. */

const lengthOf = (size: number): Buffer => {
  if (size < 0x80) return Buffer.from([size]);
  const bytes: number[] = [];
  for (let left = size; left > 0; left >>>= 8) bytes.unshift(left & 0xff);
  return Buffer.from([0x80 | bytes.length, ...bytes]);
};

const tagged = (tag: number, ...parts: readonly Uint8Array[]): Buffer => {
  const content = Buffer.concat(parts);
  return Buffer.concat([Buffer.from([tag]), lengthOf(content.length), content]);
};

const sequence = (...parts: readonly Uint8Array[]): Buffer => tagged(0x30, ...parts);
const set = (...parts: readonly Uint8Array[]): Buffer => tagged(0x31, ...parts);
const octets = (content: Uint8Array): Buffer => tagged(0x04, content);
const bits = (content: Uint8Array, unused = 0): Buffer =>
  tagged(0x03, Buffer.from([unused]), content);
const text = (content: string): Buffer => tagged(0x0c, Buffer.from(content, 'utf8'));
const yes = (): Buffer => tagged(0x01, Buffer.from([0xff]));

/**
 * Of a number that is not negative: as few bytes as will do, or one in 512 random numbers would be
 * no DER.
 */
export const integer = (content: Uint8Array): Buffer => {
  const zeros = content.findIndex((byte) => byte !== 0);
  const digits = zeros === -1 ? Buffer.from([0]) : content.subarray(zeros);
  const first = digits[0] ?? 0;
  return tagged(0x02, first >= 0x80 ? Buffer.concat([Buffer.from([0]), digits]) : digits);
};

const oid = (dotted: string): Buffer => {
  const [a = 0, b = 0, ...rest] = dotted.split('.').map(Number);
  const bytes = [a * 40 + b];
  for (const part of rest) {
    const groups = [part & 0x7f];
    for (let left = part >>> 7; left > 0; left >>>= 7) groups.unshift((left & 0x7f) | 0x80);
    bytes.push(...groups);
  }
  return tagged(0x06, Buffer.from(bytes));
};

/** Years before 2050 as UTCTime, later ones as GeneralizedTime, as RFC 5280 wants it. */
const time = (at: Date): Buffer => {
  const digits = at.toISOString().replaceAll(/[-:T]|\.\d+/g, '');
  return at.getUTCFullYear() < 2050
    ? tagged(0x17, Buffer.from(digits.slice(2)))
    : tagged(0x18, Buffer.from(digits));
};

/** A certificate with its key, made for a test; `chain` is what a server shows, the leaf first. */
export type Minted = {
  readonly certificate: string;
  readonly key: string;
  readonly chain: string;
  readonly name: string;
  readonly root: boolean;
};

type Wanted = {
  /** DNS names and addresses; none makes a certificate without alternative names. */
  readonly names?: readonly string[];
  readonly commonName?: string;
  readonly from?: Date;
  readonly to?: Date;
  /** Who signs; left out, the certificate signs itself. */
  readonly issuer?: Minted;
  readonly authority?: boolean;
  readonly key?: 'ec' | 'rsa';
};

const day = 86_400_000;
const algorithms = { ec: '1.2.840.10045.4.3.2', rsa: '1.2.840.113549.1.1.11' } as const;

const nameOf = (commonName: string): Buffer =>
  sequence(set(sequence(oid('2.5.4.3'), text(commonName))));
const pem = (label: string, der: Uint8Array): string =>
  `-----BEGIN ${label}-----\n${Buffer.from(der).toString('base64').replaceAll(/.{64}/g, '$&\n').trimEnd()}\n-----END ${label}-----\n`;

const alternative = (name: string): Buffer =>
  isIPv4(name) || isIPv6(name)
    ? tagged(0x87, Buffer.from(ip.parse(name).toByteArray()))
    : tagged(0x82, Buffer.from(name, 'ascii'));

const extension = (id: string, critical: boolean, content: Uint8Array): Buffer =>
  sequence(oid(id), ...(critical ? [yes()] : []), octets(content));

const keyPair = (kind: 'ec' | 'rsa'): { publicKey: KeyObject; privateKey: KeyObject } =>
  kind === 'ec'
    ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
    : generateKeyPairSync('rsa', { modulusLength: 2048 });

const kindOf = (key: KeyObject | string): 'ec' | 'rsa' =>
  createPublicKey(key).asymmetricKeyType === 'rsa' ? 'rsa' : 'ec';

/** Makes an X.509 certificate without any tool, so that tests run on a machine that has none. */
export const mint = (wanted: Wanted = {}): Minted => {
  const { names = [], commonName = names[0] ?? 'test', issuer, authority = false } = wanted;
  const from = wanted.from ?? new Date(Date.now() - day);
  const to = wanted.to ?? new Date(Date.now() + 365 * day);
  const { publicKey, privateKey } = keyPair(wanted.key ?? 'ec');
  const key = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  const signer = issuer?.key ?? key;
  const algorithm = sequence(
    oid(algorithms[kindOf(signer)]),
    ...(kindOf(signer) === 'rsa' ? [Buffer.from([5, 0])] : []),
  );
  const extensions = [
    extension('2.5.29.19', true, authority ? sequence(yes()) : sequence()),
    extension('2.5.29.15', true, bits(Buffer.from([authority ? 0x06 : 0x80]), authority ? 1 : 7)),
    ...(names.length > 0
      ? [extension('2.5.29.17', false, sequence(...names.map(alternative)))]
      : []),
  ];
  const body = sequence(
    tagged(0xa0, integer(Buffer.from([2]))),
    integer(randomBytes(12)),
    algorithm,
    nameOf(issuer?.name ?? commonName),
    sequence(time(from), time(to)),
    nameOf(commonName),
    publicKey.export({ type: 'spki', format: 'der' }),
    tagged(0xa3, sequence(...extensions)),
  );
  const certificate = pem(
    'CERTIFICATE',
    sequence(body, algorithm, bits(sign('sha256', body, signer))),
  );
  // A root is known to whoever trusts it, so servers show all but the root.
  const above = issuer && !issuer.root ? issuer.chain : '';
  return {
    certificate,
    key,
    chain: `${certificate}${above}`,
    name: commonName,
    root: authority && !issuer,
  };
};

/** An authority below another: its chain is itself and those between it and the root. */
export const mintAuthority = (commonName: string, issuer?: Minted): Minted =>
  mint({ commonName, authority: true, ...(issuer ? { issuer } : {}) });
