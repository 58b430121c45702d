import { createSecureContext, getCACertificates, type SecureContext } from 'node:tls';

const made = new Map<string | undefined, SecureContext>();

/**
 * Whose signatures count for the parts of the service itself: the well-known authorities, those that were added to this machine, and `own`, as PEM. Node by
 * itself takes the first alone. Made once, because reading some hundred certificates takes as long as a handshake. Targets are judged apart from this.
 */
export const trustHere = (own?: string): SecureContext => {
  const known = made.get(own);
  if (known) return known;
  const all = new Set([...getCACertificates('default'), ...getCACertificates('system'), ...(own === undefined ? [] : [own])]);
  const context = createSecureContext({ ca: [...all] });
  made.set(own, context);
  return context;
};

const unknownCodes = new Set([
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
]);

/** Whether it failed because nobody here knows who signed the certificate. */
export const isUnknownAuthority = (error: unknown): boolean =>
  error instanceof Error && (('code' in error && unknownCodes.has(String(error.code))) || isUnknownAuthority(error.cause));
