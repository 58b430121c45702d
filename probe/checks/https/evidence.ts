import type { HttpsSettings } from '../../../shared/checks/https/config.ts';
import type { Evidence, Json, Phases } from '../../../shared/checks/result.ts';
import {
  reachEvidence,
  roundedPhases,
  type Scrub,
  scrubber,
  tlsEvidence,
  usedAddress,
} from '../connection/evidence.ts';
import type { Failure, ReachSeen, TlsSeen } from '../connection/observation.ts';

/** What performing an https check observed, for the pure verdict to judge. */

export type HttpsPhase = 'dns' | 'tcp' | 'tls' | 'first_byte' | 'head' | 'body';

export type HopFailure = Failure<HttpsPhase>;

export type ResponseSeen = {
  readonly status: number;
  /** Whether it came over HTTP/2, where the server takes nothing else. */
  readonly isHttp2?: boolean;
  readonly headers: readonly (readonly [name: string, value: string])[];
  /**
   * The kept part of the body, without transfer encoding and, where we can decode it, without
   * content encoding.
   */
  readonly body: Uint8Array;
  /** How many bytes of body were read, kept or not. */
  readonly read: number;
  /** Whether the body was longer than our limit. */
  readonly truncated: boolean;
};

export type HopSeen = ReachSeen & {
  readonly url: string;
  readonly phases: Phases;
  /** What came instead of an HTTP head, as far as it came. */
  readonly beginning: Uint8Array;
  readonly tls: TlsSeen | null;
  readonly response: ResponseSeen | null;
  readonly failure: HopFailure | null;
};

/**
 * How following redirects ended; `done` when the last hop's response (or failure) is to be judged.
 */
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

/** Headers that say who answered and from where; the rest is left out. */
const chosenHeaders = [
  'age',
  'cache-control',
  'cf-cache-status',
  'cf-mitigated',
  'cf-ray',
  'content-encoding',
  'content-length',
  'content-type',
  'date',
  'location',
  'retry-after',
  'sec-websocket-extensions',
  'sec-websocket-protocol',
  'sec-websocket-version',
  'server',
  'upgrade',
  'via',
  'www-authenticate',
  'x-amz-cf-id',
  'x-amzn-waf-action',
  'x-azure-ref',
  'x-cache',
  'x-request-id',
  'x-served-by',
];
const maxHeader = 300;
const maxHeaders = 30;
const maxUrl = 500;
const maxBody = 1_024;

const maxFirstBytes = 100;

/** What headers say of who answered. */
export function headersEvidence(headers: ResponseSeen['headers'], scrub: Scrub): Json {
  return headers
    .filter(([name]) => chosenHeaders.includes(name))
    .slice(0, maxHeaders)
    .map(([name, value]) => [name, scrub(value, maxHeader)]);
}

/** What a failed assertion found: a value, or a text within the body. */
export type FoundValue = { readonly value: Json } | { readonly inBody: string };

/**
 * What the check observed (rule 15), from the very attempt that is judged. `body` is the text of
 * the last response.
 */
export function httpsEvidence(
  settings: HttpsSettings,
  seen: HttpsObservation,
  body: string,
  saw?: FoundValue,
): Evidence {
  const scrub = scrubber(settings.secrets);
  const last = seen.hops.at(-1);
  const evidence: Record<string, Json> = {
    url: scrub(last?.url ?? '', maxUrl),
    ...(last ? reachEvidence(last, last.failure, scrub) : { addresses: [] }),
  };
  if (last && last.beginning.length > 0)
    evidence.first_bytes = scrub.bytes(last.beginning, maxFirstBytes);
  const shown = saw && foundText(saw, body, scrub);
  if (shown !== undefined) evidence.saw = shown;
  if (last?.tls) evidence.tls = tlsEvidence(last.tls, scrub);
  if (seen.hops.length > 1 || seen.redirects !== 'done')
    evidence.redirects = seen.hops.map((hop) => redirectOf(hop, scrub));
  if (last?.response) {
    const { status, isHttp2, headers, read, truncated } = last.response;
    evidence.status = status;
    if (isHttp2) evidence.protocol = 'HTTP/2';
    evidence.headers = headersEvidence(headers, scrub);
    evidence.body = scrub(body.slice(0, scrub.enough(maxBody)), maxBody);
    evidence.body_bytes = read;
    evidence.body_truncated = truncated;
  }
  return evidence;
}

const maxSaw = 400;

/** How many characters of a body are shown before the match. */
const beforeMatch = 100;

function foundText(saw: FoundValue, body: string, scrub: Scrub): string | undefined {
  if ('value' in saw) return scrub.value(saw.value, maxSaw);
  const whole = scrub(body, body.length);
  const at = whole.indexOf(saw.inBody);
  return at < 0
    ? undefined
    : whole.slice(Math.max(0, at - beforeMatch), at + maxSaw - beforeMatch).toWellFormed();
}

function redirectOf(hop: HopSeen, scrub: Scrub): Json {
  return {
    url: scrub(hop.url, maxUrl),
    status: hop.response?.status ?? null,
    location: scrub(hop.response?.headers.find(([name]) => name === 'location')?.[1] ?? '', maxUrl),
    address: usedAddress(hop, hop.failure),
    phases: { ...roundedPhases(hop.phases) },
  };
}
