import type { Phases } from '../../shared/checks/result.ts';

/** What performing an https check saw, for the pure verdict to judge. */

/** Where a hop failed. */
export type HttpsPhase = 'dns' | 'tcp' | 'tls' | 'first_byte' | 'body';

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
  malformed: 'MALFORMED',
  headersTooLarge: 'HEADERS_TOO_LARGE',
  incomplete: 'INCOMPLETE',
  /** The certificate was judged and is not good enough; why stands in `tls`. */
  certificate: 'CERTIFICATE',
} as const;

export type CertificateSeen = {
  readonly subject: string;
  readonly issuer: string;
  readonly names: readonly string[];
  readonly from: string;
  readonly to: string;
  readonly serial: string;
  readonly fingerprint: string;
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

export type AttemptSeen = { readonly address: string; readonly code: string | null; readonly ms: number };

export type HopSeen = {
  readonly url: string;
  readonly addresses: readonly string[];
  readonly attempts: readonly AttemptSeen[];
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
