import type { Resolver } from '../../../shared/checks/dns/config.ts';

/** What reaching a server showed, for every kind of check that connects to one. */

/** Our own codes, beside those of the system. */
export const ownCodes = {
  deadline: 'DEADLINE',
  notPublic: 'NOT_PUBLIC',
  noFamily: 'NO_FAMILY',
  /** An address that had not answered when another one did, or when the time was over. */
  unanswered: 'UNANSWERED',
  /** The probe's own resolver answers for no name. */
  resolver: 'OWN_RESOLVER',
  /** Not public either, but other probes that check this target may reach it. */
  ownLimit: 'OWN_LIMIT',
  closed: 'CLOSED',
  /** The probe could not get memory for the body in time. */
  memory: 'OWN_MEMORY',
  malformed: 'MALFORMED',
  /** The handshake agreed on no protocol, or on one that we do not speak. */
  otherProtocol: 'OTHER_PROTOCOL',
  /** The server speaks the protocol and refuses. */
  refused: 'REFUSED',
  framingTooLarge: 'FRAMING_TOO_LARGE',
  headersTooLarge: 'HEADERS_TOO_LARGE',
  incomplete: 'INCOMPLETE',
  /** The certificate was judged bad; `tls` says why. */
  certificate: 'CERTIFICATE',
  /**
   * The server showed its certificate and refused us because we have none. TLS 1.2 has no alert for
   * that.
   */
  clientCertificate: 'CLIENT_CERTIFICATE',
} as const;

/**
 * What the system says when this machine has no socket, port or permission for a connection:
 * nothing left it.
 */
const ownSocketCodes: readonly string[] = ['EMFILE', 'ENFILE', 'ENOBUFS', 'EADDRNOTAVAIL', 'EPERM'];

/** Begins what a proxy of checks did in place of connecting: its status, or why it was not asked. */
export const ofProxy = 'PROXY_';

/** By these statuses a proxy says that it could not reach the target. */
const targetOfProxy: readonly string[] = ['PROXY_502', 'PROXY_503', 'PROXY_504'];

/** Whether nothing was sent to the target, because of this machine or of its proxy. */
export function isOwnSocketCode(code: string): boolean {
  return (
    ownSocketCodes.includes(code) || (code.startsWith(ofProxy) && !targetOfProxy.includes(code))
  );
}

export type CertificateSeen = {
  readonly subject: string;
  readonly issuer: string;
  readonly names: readonly string[];
  readonly from: string;
  readonly to: string;
  readonly serial: string;
  readonly fingerprint: string;
  /** For example `rsa 2048` or `ec prime256v1`. */
  readonly key: string;
  /** How its issuer signed it, for example `sha256WithRSAEncryption`. */
  readonly signature: string;
};

export type TlsSeen = {
  readonly protocol: string;
  readonly cipher: string;
  /** OpenSSL's complaint about the chain; null when the chain is valid. */
  readonly fault: string | null;
  readonly host_matches: boolean;
  /** Of the leaf, in milliseconds; null when the server showed no readable certificate. */
  readonly valid_from: number | null;
  readonly valid_to: number | null;
  /** How many certificates the server sent; read only when the chain has a fault. */
  readonly sent: number;
  /** The chain as evidence; read only where evidence is wanted. */
  readonly chain: () => readonly CertificateSeen[];
  /**
   * When the certificates of the trusted path expire, leaf first; empty when the path is not
   * trusted. Read only where needed.
   */
  readonly path: () => readonly number[];
};

/**
 * The resolver that answered, the answer's lifetime in seconds, and the aliases on the way to the
 * addresses.
 */
export type AnsweredBy = {
  readonly resolver: Resolver;
  readonly ttl: number | null;
  readonly aliases: readonly string[];
};

export type AttemptSeen = {
  readonly address: string;
  /** null where it connected. */
  readonly code: string | null;
  readonly ms: number;
};

/** How the server was found and reached, or not. */
export type ReachSeen = {
  readonly addresses: readonly string[];
  /**
   * The resolver that gave the addresses, or said that there are none; null without a query or an
   * answer.
   */
  readonly by: AnsweredBy | null;
  /** The queried family that stayed without an answer while the other got one. */
  readonly unanswered: 'A' | 'AAAA' | null;
  readonly attempts: readonly AttemptSeen[];
  /**
   * The address on our side of the connection, as the target saw it if nothing translates it; null
   * without a connection, or through a proxy.
   */
  readonly outgoing: string | null;
};

/**
 * Where it failed, and the code of the system, OpenSSL, the resolver, or one of ours (above).
 */
export type Failure<Phase extends string = string> = {
  readonly phase: Phase;
  readonly code: string;
};
