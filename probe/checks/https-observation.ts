import type { Phases } from '../../shared/checks/checks-result.ts';
import type { Resolver } from '../../shared/checks/dns/checks-dns-config.ts';

/** What performing an https check saw, for the pure verdict to judge. */

/** Where a hop failed. */
export type HttpsPhase = 'dns' | 'tcp' | 'tls' | 'first_byte' | 'head' | 'body';

/** A failed hop: the phase, and the code of the system, of OpenSSL, of the resolver, or one of ours (below). */
export type HopFailure = { readonly phase: HttpsPhase; readonly code: string };

/** Our own codes, beside those of the system. */
export const ownCodes = {
  deadline: 'DEADLINE',
  notPublic: 'NOT_PUBLIC',
  noFamily: 'NO_FAMILY',
  /** The probe's own resolver answers nobody. */
  resolver: 'OWN_RESOLVER',
  /** Not public either, but others that check this are allowed to reach it. */
  ownLimit: 'OWN_LIMIT',
  closed: 'CLOSED',
  /** The probe had no memory for the body in time. */
  memory: 'OWN_MEMORY',
  malformed: 'MALFORMED',
  framingTooLarge: 'FRAMING_TOO_LARGE',
  headersTooLarge: 'HEADERS_TOO_LARGE',
  incomplete: 'INCOMPLETE',
  /** The certificate was judged and is not good enough; why stands in `tls`. */
  certificate: 'CERTIFICATE',
  /** The server showed its certificate and refused us for want of one of ours, which TLS 1.2 has no word for. */
  clientCertificate: 'CLIENT_CERTIFICATE',
} as const;

export type CertificateSeen = {
  readonly subject: string;
  readonly issuer: string;
  readonly names: readonly string[];
  readonly from: string;
  readonly to: string;
  readonly serial: string;
  readonly fingerprint: string;
  /** Such as `rsa 2048` or `ec prime256v1`. */
  readonly key: string;
  /** How its issuer signed it, such as `sha256WithRSAEncryption`. */
  readonly signature: string;
};

export type TlsSeen = {
  readonly protocol: string;
  readonly cipher: string;
  /** OpenSSL's word against the chain, null when it holds. */
  readonly fault: string | null;
  readonly host_matches: boolean;
  /** Of the leaf, in milliseconds; null when it showed no certificate that can be read. */
  readonly valid_from: number | null;
  readonly valid_to: number | null;
  /** How many certificates the server sent; read only when the chain has a fault. */
  readonly sent: number;
  /** The chain as evidence, read only where evidence is wanted. */
  readonly chain: () => readonly CertificateSeen[];
  /** When the certificates of the path end by which it is trusted, the leaf first; empty when it is not. Read only where it is wanted. */
  readonly path: () => readonly number[];
};

export type ResponseSeen = {
  readonly status: number;
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** The body as far as it was kept, without transfer encoding and, where we can, without content encoding. */
  readonly body: Uint8Array;
  /** How many bytes of body were read, kept or not. */
  readonly read: number;
  /** Whether there was more than is ever read. */
  readonly truncated: boolean;
};

/** The resolver that answered, for how many seconds that holds, and the aliases on the way to the addresses. */
export type AnsweredBy = { readonly resolver: Resolver; readonly ttl: number | null; readonly aliases: readonly string[] };

export type AttemptSeen = { readonly address: string; readonly code: string | null; readonly ms: number };

export type HopSeen = {
  readonly url: string;
  readonly addresses: readonly string[];
  /** Who gave the addresses, or said that there are none; null where nobody was asked or answered. */
  readonly by: AnsweredBy | null;
  /** The family of addresses that was asked for beside the one that was answered, and was not answered. */
  readonly unanswered: 'A' | 'AAAA' | null;
  readonly attempts: readonly AttemptSeen[];
  /** The address on our side of the connection, as the target saw it if nothing stands between; null without a connection. */
  readonly outgoing: string | null;
  readonly phases: Phases;
  /** What came where a head of HTTP should have been, as far as it came. */
  readonly beginning: Uint8Array;
  readonly tls: TlsSeen | null;
  readonly response: ResponseSeen | null;
  readonly failure: HopFailure | null;
};

/** How following redirects ended; `done` when the last hop's response (or failure) is the one to judge. */
export type RedirectEnd = 'done' | 'limit' | 'loop' | 'without_location' | 'invalid';

export type HttpsObservation = {
  /** The corrected time at which certificates are judged. */
  readonly at: number;
  readonly limit_ms: number;
  readonly hops: readonly HopSeen[];
  readonly redirects: RedirectEnd;
  /** Sums over the hops; `total` is the whole check. */
  readonly phases: Phases;
};
