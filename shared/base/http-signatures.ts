import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  hash,
  type KeyObject,
  sign as signBytes,
  verify as verifyBytes,
} from 'node:crypto';

/**
 * HTTP Message Signatures (RFC 9421) with Ed25519, in the profile of Web Bot Auth: how a public
 * probe proves to a target who asks, and how the directory of its key is signed. Pure: the time is
 * an argument.
 *
 * A key of its own, and not the probe's nkey: the profile forbids a key that serves two purposes.
 * What is signed for the one could else pass for the other, and a key that firewalls have learned
 * could not be replaced without a new place on the bus.
 */
export type RequestKey = {
  /** The thumbprint by which signatures name the key (RFC 8037, appendix A.3). */
  readonly id: string;
  /** The raw public key, base64url: `x` of its JWK. */
  readonly x: string;
  /** Restores the key; base64url. */
  readonly secret: string;
  readonly sign: (bytes: Uint8Array) => Buffer;
};

/** The fixed prefix of a raw Ed25519 key in the only forms that node:crypto imports. */
const privateHeader = Buffer.from('302e020100300506032b657004220420', 'hex');
const publicHeader = Buffer.from('302a300506032b6570032100', 'hex');

/** The members that the thumbprint covers, in its order. */
export function thumbprintOf(x: string): string {
  return hash('sha256', `{"crv":"Ed25519","kty":"OKP","x":"${x}"}`, 'base64url');
}

export function createRequestKey(): RequestKey {
  return keyOf(generateKeyPairSync('ed25519').privateKey);
}

function keyOf(secret: KeyObject): RequestKey {
  const raw = secret.export({ format: 'der', type: 'pkcs8' }).subarray(privateHeader.length);
  const open = createPublicKey(secret).export({ format: 'der', type: 'spki' });
  const x = open.subarray(publicHeader.length).toString('base64url');
  return {
    id: thumbprintOf(x),
    x,
    secret: raw.toString('base64url'),
    sign: (bytes) => signBytes(null, bytes, secret),
  };
}

/** @throws when the text is no private key. */
export function requestKeyFrom(secret: string): RequestKey {
  return keyOf(
    createPrivateKey({
      key: Buffer.concat([privateHeader, Buffer.from(secret, 'base64url')]),
      format: 'der',
      type: 'pkcs8',
    }),
  );
}

/** How long the signature of a request holds; no verifier that we know wants a shorter life. */
export const requestLifetimeS = 300;

export type SignedRequest = {
  /** The origin whose directory has the key. */
  readonly agent: string;
  readonly authority: string;
  readonly method: string;
  readonly isSecure: boolean;
};

/**
 * The headers that sign a request, as lines in wire format.
 *
 * `Signature-Agent` is the bare string of the drafts up to architecture-03, and no dictionary as in
 * the newest: Cloudflare verifies no other form yet, and the newest lets verifiers accept it. Over
 * plain HTTP the scheme is covered too, because anyone on the way could else take the signature and
 * pass for a probe over https.
 */
export function signRequest(
  key: RequestKey,
  { agent, authority, method, isSecure }: SignedRequest,
  created: number,
): string {
  const { input, base } = baseOf({
    components: [
      ['"@authority"', authority],
      ['"@method"', method],
      ...(isSecure ? [] : [['"@scheme"', 'http'] as const]),
      ['"signature-agent"', `"${agent}"`],
    ],
    keyId: key.id,
    created,
    expires: created + requestLifetimeS,
    tag: 'web-bot-auth',
  });
  const signature = key.sign(base).toString('base64');
  return `Signature-Agent: "${agent}"\r\nSignature-Input: sig1=${input}\r\nSignature: sig1=:${signature}:\r\n`;
}

type Signing = {
  /** What is covered: the identifier of each component as it is written, and its value. */
  readonly components: readonly (readonly [identifier: string, value: string])[];
  readonly keyId: string;
  /** In seconds. */
  readonly created: number;
  readonly expires: number;
  readonly tag: string;
};

/** The value of `Signature-Input` for one label, and the bytes that are signed. */
function baseOf({ components, keyId, created, expires, tag }: Signing) {
  const covered = components.map(([identifier]) => identifier).join(' ');
  const input = `(${covered});created=${created};expires=${expires};keyid="${keyId}";alg="ed25519";tag="${tag}"`;
  const lines = components.map(([identifier, value]) => `${identifier}: ${value}`);
  return { input, base: Buffer.from([...lines, `"@signature-params": ${input}`].join('\n')) };
}

/** Where a directory of keys lies, below its origin. */
export const directoryPath = '/.well-known/http-message-signatures-directory';

/**
 * A key's own proof that it belongs in the directory of this authority, so that no one can show the
 * directory as their own. The probe gives it; the coordinator cannot.
 */
export type DirectoryProof = {
  readonly x: string;
  readonly authority: string;
  readonly created: number;
  readonly expires: number;
  /** Base64. */
  readonly signature: string;
};

/** A directory outlives an absence of its probes by this long. */
const proofLivesS = 7 * 86_400;
/** After this time a proof is made again. */
export const proofRenewedS = 86_400;

export function proveForDirectory(
  key: RequestKey,
  authority: string,
  created: number,
): DirectoryProof {
  const of = { x: key.x, authority, created, expires: created + proofLivesS };
  return { ...of, signature: key.sign(proofBase(of).base).toString('base64') };
}

function proofBase({ x, authority, created, expires }: Omit<DirectoryProof, 'signature'>) {
  return baseOf({
    components: [['"@authority";req', authority]],
    keyId: thumbprintOf(x),
    created,
    expires,
    tag: 'http-message-signatures-directory',
  });
}

export function isDirectoryProof(proof: DirectoryProof): boolean {
  const key = createPublicKey({
    key: Buffer.concat([publicHeader, Buffer.from(proof.x, 'base64url')]),
    format: 'der',
    type: 'spki',
  });
  return verifyBytes(null, proofBase(proof).base, key, Buffer.from(proof.signature, 'base64'));
}

/** The document of these keys, and the headers in which each of them signs it. */
export function directoryOf(proofs: readonly DirectoryProof[]): {
  readonly text: string;
  readonly headers: Readonly<Record<string, string>>;
} {
  const keys = proofs.map(({ x }) => ({
    kty: 'OKP',
    crv: 'Ed25519',
    kid: thumbprintOf(x),
    x,
    use: 'sig',
  }));
  const text = `${JSON.stringify({ keys })}\n`;
  if (proofs.length === 0) return { text, headers: {} };
  const each = (write: (proof: DirectoryProof) => string): string =>
    proofs.map((proof, nth) => `sig${nth + 1}=${write(proof)}`).join(', ');
  return {
    text,
    headers: {
      'signature-input': each((proof) => proofBase(proof).input),
      signature: each(({ signature }) => `:${signature}:`),
    },
  };
}
