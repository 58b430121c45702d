import { type KeyObject, X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import {
  createSecureContext,
  DEFAULT_CIPHERS,
  getCACertificates,
  type SecureContext,
  type TLSSocket,
} from 'node:tls';
import { createRecentCache } from '../../../shared/base/async.ts';
import type { ClientCertificate } from '../../../shared/checks/connection/client-certificate.ts';
import type { CertificateSeen, TlsSeen } from './observation.ts';

/**
 * One context for each trust setting, shared by all checks: making one costs as much as half a
 * check.
 */
export type Trust = {
  /**
   * `isHybrid`: also offer post-quantum groups, for servers that accept no other. `client`: what to
   * show to servers that want it; such a context is for this certificate alone.
   */
  readonly context: (
    verify: boolean,
    isHybrid: boolean,
    client?: ClientCertificate | null,
  ) => SecureContext;
  /** The trusted authorities, by their subject. */
  readonly known: (subject: string) => readonly X509Certificate[];
};

/**
 * Only the first group gets a key share. ML-KEM is not among the default groups, not even last:
 * servers with OpenSSL 3.5 would then ask for it with a second hello. That costs a round trip, 15 %
 * more CPU and 24 KB for as long as the connection lives.
 */
const groups = 'X25519:P-256:P-384:P-521';
const hybridGroups = `X25519MLKEM768:SecP256r1MLKEM768:${groups}`;
const ciphers = `TLS_AES_128_GCM_SHA256:${DEFAULT_CIPHERS}`;

/**
 * A context holds its private key for as long as it is kept, so that of the many that a probe may
 * check with, only the latest are.
 */
const maxWithClient = 32;

/** `authorities` are trusted besides the well-known ones. */
export function createTrust(authorities: readonly string[] = []): Trust {
  const ca = authorities.length > 0 ? { ca: [...getCACertificates(), ...authorities] } : {};
  const strict = (ecdhCurve: string) =>
    ({ minVersion: 'TLSv1.2', ecdhCurve, ciphers, ...ca }) as const;
  const lax = (ecdhCurve: string) =>
    ({ minVersion: 'TLSv1', ecdhCurve, ciphers: `${ciphers}:@SECLEVEL=0`, ...ca }) as const;
  const make = (ecdhCurve: string) => ({
    strict: createSecureContext(strict(ecdhCurve)),
    lax: createSecureContext(lax(ecdhCurve)),
  });
  const withClient = createRecentCache<string, SecureContext>(maxWithClient);
  const made = new Map<string, ReturnType<typeof make>>();
  // Made for the first check: a probe without https checks does not need the memory of the
  // well-known authorities.
  const contexts = (ecdhCurve: string): ReturnType<typeof make> => {
    const known = made.get(ecdhCurve) ?? make(ecdhCurve);
    made.set(ecdhCurve, known);
    return known;
  };
  // Few monitors need more than OpenSSL's result. For those, the authorities are read once.
  let bySubject: ReadonlyMap<string, readonly X509Certificate[]> | undefined;
  return {
    known: (subject) => {
      bySubject ??= Map.groupBy(
        [...authorities, ...getCACertificates()].map((one) => new X509Certificate(one)),
        (one) => one.subject,
      );
      return bySubject.get(subject) ?? [];
    },
    context: (verify, isHybrid, client = null) => {
      const curves = isHybrid ? hybridGroups : groups;
      if (client === null) return contexts(curves)[verify ? 'strict' : 'lax'];
      const name = `${client.id} ${verify} ${isHybrid}`;
      const known = withClient.find(name);
      if (known) return known;
      const { certificates: cert, key } = client;
      const own = createSecureContext({ ...(verify ? strict : lax)(curves), cert, key });
      withClient.keep(name, own);
      return own;
    },
  };
}

/**
 * Keeps node from reading the chain in its costly form. Our own name check, below, does not depend
 * on it.
 */
export function readCertificateLazily(socket: TLSSocket): void {
  Object.defineProperty(socket, 'getPeerCertificate', { value: noLegacyCertificate });
}

/**
 * Node builds an object of the whole chain for its own name check. Ours reads the leaf once, so
 * node's gets nothing.
 */
function noLegacyCertificate() {
  return {};
}

/**
 * What is wrong with the certificate of a server that then refused the handshake: Node has OpenSSL
 * judge it only after handshakes that succeed. By OpenSSL's names, and by the machine's clock, as it
 * does.
 */
export function faultBeforeRefusal(leaf: X509Certificate, { known }: Pick<Trust, 'known'>) {
  const path = verifiedPath(leaf, known);
  const top = path.at(-1) ?? leaf;
  const now = Date.now();
  const isKnown = known(top.subject).some((one) => one.fingerprint256 === top.fingerprint256);
  if (!isKnown && top.subject === top.issuer)
    return top === leaf ? 'DEPTH_ZERO_SELF_SIGNED_CERT' : 'SELF_SIGNED_CERT_IN_CHAIN';
  if (!isKnown || path.slice(1).some((one) => !one.ca)) return 'UNABLE_TO_VERIFY_LEAF_SIGNATURE';
  if (path.some((one) => !(one.validToDate.getTime() > now))) return 'CERT_HAS_EXPIRED';
  return path.some((one) => one.validFromDate.getTime() > now) ? 'CERT_NOT_YET_VALID' : null;
}

const maxPath = 10;

/**
 * The path by which OpenSSL trusts a leaf, from the sent and the known certificates. Of several
 * issuers it takes a known one first, so an old cross-signature does not count. Empty where there
 * is no path.
 */
function verifiedPath(
  leaf: X509Certificate,
  known: (issuer: string) => readonly X509Certificate[],
): X509Certificate[] {
  const sent = sentChain(leaf);
  const path: X509Certificate[] = [];
  for (let next: X509Certificate | undefined = leaf; next && path.length < maxPath; ) {
    const certificate: X509Certificate = next;
    path.push(certificate);
    if (certificate.subject === certificate.issuer) return path;
    next = [...known(certificate.issuer), ...sent].find(
      (issuer) => issuer !== certificate && isSignedBy(certificate, issuer),
    );
  }
  return path;
}

const maxCertificates = 6;

/** The certificates that the server sent, leaf first, in the order of the chain. */
function sentChain(leaf: X509Certificate): X509Certificate[] {
  const chain: X509Certificate[] = [];
  for (
    let next: X509Certificate | undefined = leaf;
    next && chain.length < maxCertificates;
    next = next.issuerCertificate
  ) {
    if (chain.at(-1)?.fingerprint256 === next.fingerprint256) break;
    chain.push(next);
  }
  return chain;
}

/**
 * Whether one certificate signed the other. Compares names first, because verifying a signature
 * costs a hundred times as much.
 */
function isSignedBy(certificate: X509Certificate, issuer: X509Certificate): boolean {
  const key = certificate.checkIssued(issuer) ? publicKeyOf(issuer) : undefined;
  return key !== undefined && certificate.verify(key);
}

/** Undefined for kinds of keys that OpenSSL does not know, on which it throws. */
function publicKeyOf(certificate: X509Certificate): KeyObject | undefined {
  try {
    return certificate.publicKey;
  } catch {
    return undefined; // A certificate that nothing can verify says so by its chain.
  }
}

/**
 * What the handshake showed. Anything unreadable counts against the server: `host_matches` is true
 * only for a certificate that says so.
 */
export function tlsSeen(
  socket: TLSSocket,
  host: string,
  trust: Pick<Trust, 'known'>,
  fault = socket.authorized ? null : String(socket.authorizationError || 'UNVERIFIED'),
): TlsSeen {
  const leaf = socket.getPeerX509Certificate();
  return {
    protocol: socket.getProtocol() ?? 'unknown',
    cipher: socket.getCipher()?.name ?? 'unknown',
    fault,
    host_matches: leaf !== undefined && isFor(leaf, host),
    valid_from: leaf ? timeOf(leaf.validFromDate) : null,
    valid_to: leaf ? timeOf(leaf.validToDate) : null,
    sent: leaf && fault !== null ? sentChain(leaf).length : leaf ? 1 : 0,
    chain: () => (leaf ? sentChain(leaf).map(certificateSeen) : []),
    path: () =>
      leaf && fault === null
        ? verifiedPath(leaf, trust.known).flatMap((one) => timeOf(one.validToDate) ?? [])
        : [],
  };
}

/**
 * Whether a certificate is for this host. As in every browser, common names and partial wildcards
 * do not count.
 */
function isFor(certificate: X509Certificate, host: string): boolean {
  if (isIP(host) !== 0) return certificate.checkIP(host) !== undefined;
  if (certificate.checkHost(host, { subject: 'never', partialWildcards: false }) !== undefined)
    return true;
  return host.includes('_') && isForUnderscored(certificate, host);
}

/**
 * OpenSSL does not match an underscore with a wildcard, nor next to one. Names in use have
 * underscores, and every client accepts them.
 */
function isForUnderscored(certificate: X509Certificate, host: string): boolean {
  const name = host.toLowerCase();
  const above = name.slice(name.indexOf('.') + 1);
  return dnsNames(certificate).some(
    (one) => one === name || (above.includes('.') && one === `*.${above}`),
  );
}

/**
 * Names of a certificate, except those that only an attacker would write (node puts them in
 * quotes).
 */
function dnsNames(certificate: X509Certificate): string[] {
  return (certificate.subjectAltName ?? '')
    .split(', ')
    .flatMap((name) => (/^DNS:[^"]+$/.test(name) ? name.slice(4).toLowerCase() : []));
}

/** null for a date that cannot be read: a server may show any bytes. */
function timeOf(date: Date): number | null {
  return Number.isNaN(date.getTime()) ? null : date.getTime();
}

const maxNames = 20;

function certificateSeen(certificate: X509Certificate): CertificateSeen {
  return {
    subject: oneLine(certificate.subject),
    issuer: oneLine(certificate.issuer),
    names: (certificate.subjectAltName ?? '').split(', ', maxNames).filter((name) => name !== ''),
    from: dateText(certificate.validFromDate, certificate.validFrom),
    to: dateText(certificate.validToDate, certificate.validTo),
    serial: certificate.serialNumber,
    fingerprint: certificate.fingerprint256,
    key: keyOf(certificate),
    signature: certificate.signatureAlgorithm ?? certificate.signatureAlgorithmOid ?? 'unknown',
  };
}

function oneLine(text: string | undefined): string {
  return (text ?? '').replaceAll('\n', ', ');
}

function dateText(date: Date, raw: string): string {
  return timeOf(date) === null ? raw : date.toISOString();
}

/** The kind of a key with its size or curve. */
function keyOf(certificate: X509Certificate): string {
  const key = publicKeyOf(certificate);
  const { modulusLength, namedCurve } = key?.asymmetricKeyDetails ?? {};
  return [key?.asymmetricKeyType ?? 'unknown', namedCurve ?? modulusLength]
    .filter((part) => part !== undefined)
    .join(' ');
}
