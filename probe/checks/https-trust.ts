import type { X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import { createSecureContext, DEFAULT_CIPHERS, getCACertificates, type SecureContext, type TLSSocket } from 'node:tls';
import type { CertificateSeen, TlsSeen } from './https-observation.ts';

/** One context for each trust setting, shared by all checks: making one costs as much as half a check. */
export type Trust = {
  /** `isHybrid`: with post-quantum groups too, for servers that take no other. */
  readonly context: (verify: boolean, isHybrid: boolean) => SecureContext;
};

/**
 * Only the first group gets a key share. ML-KEM is not among the usual ones, not even last: servers with OpenSSL 3.5 then ask for it with a second
 * hello, which costs a round trip, 15 % more CPU and 24 KB for as long as the connection lives.
 */
const groups = 'X25519:P-256:P-384:P-521';
const hybridGroups = `X25519MLKEM768:SecP256r1MLKEM768:${groups}`;
const ciphers = `TLS_AES_128_GCM_SHA256:${DEFAULT_CIPHERS}`;

/** `authorities` are trusted besides the well-known ones. */
export const createTrust = (authorities: readonly string[] = []): Trust => {
  const ca = authorities.length > 0 ? { ca: [...getCACertificates(), ...authorities] } : {};
  const make = (ecdhCurve: string) => ({
    strict: createSecureContext({ minVersion: 'TLSv1.2', ecdhCurve, ciphers, ...ca }),
    lax: createSecureContext({ minVersion: 'TLSv1', ecdhCurve, ciphers: `${ciphers}:@SECLEVEL=0` }),
  });
  const made = new Map<string, ReturnType<typeof make>>();
  // Not before the first check: the well-known authorities take memory that a probe without https checks has no use for.
  const contexts = (ecdhCurve: string): ReturnType<typeof make> => {
    const known = made.get(ecdhCurve) ?? make(ecdhCurve);
    made.set(ecdhCurve, known);
    return known;
  };
  return {
    context: (verify, isHybrid) => contexts(isHybrid ? hybridGroups : groups)[verify ? 'strict' : 'lax'],
  };
};

const mostCertificates = 6;
const mostNames = 20;

/** Node builds an object of the whole chain for its own check of the name; ours reads the leaf once, so it is given nothing. */
const noLegacyCertificate = () => ({});

/** Keeps node from reading the chain in its costly form. Our own check of the name, below, does not depend on it. */
export const readCertificateLazily = (socket: TLSSocket): void => {
  Object.defineProperty(socket, 'getPeerCertificate', { value: noLegacyCertificate });
};

/** Whether a certificate is for this host. Common names do not count (as in every browser), nor do partial wildcards. */
const isFor = (certificate: X509Certificate, host: string): boolean =>
  isIP(host) === 0
    ? certificate.checkHost(host, { subject: 'never', partialWildcards: false }) !== undefined
    : certificate.checkIP(host) !== undefined;

const lines = (text: string | undefined): string => (text ?? '').replaceAll('\n', ', ').slice(0, 300);

const certificateSeen = (certificate: X509Certificate): CertificateSeen => ({
  subject: lines(certificate.subject),
  issuer: lines(certificate.issuer),
  names: (certificate.subjectAltName ?? '').split(', ', mostNames).filter((name) => name !== ''),
  from: certificate.validFromDate.toISOString(),
  to: certificate.validToDate.toISOString(),
  serial: certificate.serialNumber,
  fingerprint: certificate.fingerprint256,
});

/** The certificates that the server sent, the leaf first, as the chain links them. */
const sentChain = (leaf: X509Certificate): X509Certificate[] => {
  const chain: X509Certificate[] = [];
  for (let next: X509Certificate | undefined = leaf; next && chain.length < mostCertificates; next = next.issuerCertificate) {
    if (chain.at(-1)?.fingerprint256 === next.fingerprint256) break;
    chain.push(next);
  }
  return chain;
};

/** What the handshake showed. Whatever cannot be read counts against the server: `host_matches` is true only for a certificate that says so. */
export const tlsSeen = (socket: TLSSocket, host: string): TlsSeen => {
  const leaf = socket.getPeerX509Certificate();
  const fault = socket.authorized ? null : String(socket.authorizationError || 'UNVERIFIED');
  return {
    protocol: socket.getProtocol() ?? 'unknown',
    cipher: socket.getCipher()?.name ?? 'unknown',
    fault,
    host_matches: leaf !== undefined && isFor(leaf, host),
    valid_from: leaf ? leaf.validFromDate.getTime() : null,
    valid_to: leaf ? leaf.validToDate.getTime() : null,
    sent: leaf && fault !== null ? sentChain(leaf).length : leaf ? 1 : 0,
    chain: () => (leaf ? sentChain(leaf).map(certificateSeen) : []),
  };
};
