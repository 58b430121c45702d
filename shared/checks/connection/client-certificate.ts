import { createPrivateKey, hash, type KeyObject, X509Certificate } from 'node:crypto';
import { mask } from '../config-secrets.ts';

/**
 * The certificate that a check shows to a server that wants one: PEM with the certificate itself,
 * the chain up to an authority that the server knows, and the private key.
 */
export type ClientCertificate = {
  /** Tells one from another without showing it. */
  readonly id: string;
  /** The leaf first. */
  readonly certificates: string;
  readonly key: string;
};

/** Room for a chain of RSA certificates beside the other keys of a config. */
export const maxClientCertificate = 12_288;
const maxCertificates = 10;
const leastRsaBits = 2_048;

/** Reads what `clientCertificateFault` accepted. */
export function readClientCertificate(pem: string): ClientCertificate {
  const { certificates, keys } = blocksOf(pem);
  return { id: hash('sha256', pem), certificates: certificates.join('\n'), key: keys.join('\n') };
}

type Blocks = { readonly certificates: readonly string[]; readonly keys: readonly string[] };

const block = /-----BEGIN ([A-Z0-9 ]{1,40})-----[^-]*-----END \1-----/g;

/** Other blocks, such as the parameters in front of an EC key, and text between them do nothing. */
function blocksOf(pem: string): Blocks {
  const all = [...pem.matchAll(block)].map(([text, label = '']) => ({ text, label }));
  return {
    certificates: all.filter(({ label }) => label === 'CERTIFICATE').map(({ text }) => text),
    keys: all.filter(({ label }) => label.endsWith('PRIVATE KEY')).map(({ text }) => text),
  };
}

/** What is wrong with it, and the remedy; undefined when nothing is. */
export function clientCertificateFault(pem: string): string | undefined {
  if (pem === mask) return undefined;
  // Its lines are no base64 alone, so it is no block.
  if (/^Proc-Type: 4,ENCRYPTED/m.test(pem)) return encrypted;
  const { certificates, keys } = blocksOf(pem);
  const [key, ...more] = keys;
  if (key === undefined && certificates.length === 0)
    return 'must be PEM text: the certificate, its chain and the private key, each from its BEGIN line to its END line';
  if (certificates.length === 0) return 'add the certificate of the private key, as PEM';
  if (key === undefined) return 'add the private key of the certificate, as PEM';
  if (more.length > 0) return 'must have one private key only';
  if (certificates.length > maxCertificates)
    return `must have at most ${maxCertificates} certificates: the key's own and its chain`;
  if (key.includes('ENCRYPTED')) return encrypted;
  const secret = parsed(() => createPrivateKey(key));
  if (!secret) return 'the private key cannot be read; copy it again, whole';
  const read = certificates.map((one) => parsed(() => new X509Certificate(one)));
  const broken = read.indexOf(undefined);
  if (broken >= 0)
    return `certificate ${broken + 1} of ${read.length} cannot be read; copy it again, whole`;
  const own = read.findIndex((one) => parsed(() => one?.checkPrivateKey(secret)));
  if (own < 0)
    return 'must have the certificate of its private key: the key belongs to none of these';
  if (own > 0) return 'put the certificate of the private key first, then its chain';
  return read.map((one) => parsed(() => one?.publicKey)).every((one) => one && isUsable(one))
    ? undefined
    : `use keys that TLS accepts, also in the chain: EC, Ed25519, or RSA of at least ${leastRsaBits.toLocaleString('en')} bits`;
}

function parsed<Value>(parse: () => Value): Value | undefined {
  try {
    return parse();
  } catch {
    return undefined; // OpenSSL's words could show a part of the key.
  }
}

const encrypted =
  'must have a private key without a passphrase (`openssl pkey -in key.pem` removes it); it is stored encrypted here';

function isUsable({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): boolean {
  return asymmetricKeyType === 'rsa' || asymmetricKeyType === 'rsa-pss'
    ? (asymmetricKeyDetails?.modulusLength ?? 0) >= leastRsaBits
    : ['ec', 'ed25519', 'ed448'].includes(asymmetricKeyType ?? '');
}
