import { createPublicKey, verify } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import {
  type FieldOccurrence,
  type MessageDescriptor,
  type VerifiedSignature,
  verifySignature,
} from 'http-message-sig';

/**
 * For test files: signed messages, read by an implementation of RFC 9421 that is not ours, as the
 * firewall of a target would.
 */

type Verified = VerifiedSignature['parameters'];

/** `x` is the raw public key, base64url, as a directory of keys has it. */
const verifying = (
  message: MessageDescriptor,
  x: string,
  now: number,
  policy: {
    readonly components: Parameters<typeof verifySignature>[1]['policy']['requiredComponents'];
  },
  label?: string,
): Promise<Verified> => {
  const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
  return verifySignature(message, {
    ...(label === undefined ? {} : { label }),
    policy: {
      algorithms: ['ed25519'],
      requiredComponents: policy.components,
      requiredParameters: ['created', 'expires', 'keyid', 'tag'],
      now: Math.floor(now / 1_000),
    },
    resolveVerifier: () => ({
      algorithm: 'ed25519',
      verify: (data, signature) => verify(null, data, key, signature),
    }),
  }).then(({ parameters }) => parameters);
};

const fieldsOf = (raw: readonly string[]): FieldOccurrence[] =>
  Array.from({ length: raw.length / 2 }, (_, nth) => ({
    name: raw[2 * nth] ?? '',
    value: raw[2 * nth + 1] ?? '',
  }));

/** The parameters of the signature of a request that came to `origin`; rejects an invalid one. */
export const verifiedRequest = (
  request: Pick<IncomingMessage, 'method' | 'url' | 'rawHeaders'>,
  origin: string,
  x: string,
  now = Date.now(),
): Promise<Verified> =>
  verifying(
    {
      kind: 'request',
      method: request.method ?? '',
      targetUri: new URL(request.url ?? '/', origin).href,
      fields: fieldsOf(request.rawHeaders),
    },
    x,
    now,
    { components: ['@authority', 'signature-agent'] },
  );

/** The same of a directory of keys that was asked for at `url`, for one of its keys. */
export const verifiedDirectory = (
  headers: Headers,
  url: string,
  { x, label }: { readonly x: string; readonly label: string },
  now = Date.now(),
): Promise<Verified> =>
  verifying(
    {
      kind: 'response',
      status: 200,
      fields: [...headers].map(([name, value]) => ({ name, value })),
      request: { kind: 'request', method: 'GET', targetUri: url, fields: [] },
    },
    x,
    now,
    { components: [{ name: '@authority', parameters: { req: true } }] },
    label,
  );
