import { mask } from '../../../shared/checks/config-secrets.ts';
import type { Resolver } from '../../../shared/checks/dns/config.ts';
import type { HttpsSettings } from '../../../shared/checks/https/config.ts';
import type { Evidence, Json, Phases } from '../../../shared/checks/result.ts';
import { mayReportOutgoing } from '../guard.ts';

/** What performing an https check observed, for the pure verdict to judge. */

export type HttpsPhase = 'dns' | 'tcp' | 'tls' | 'first_byte' | 'head' | 'body';

/**
 * A failed hop: the phase, and the code of the system, OpenSSL, the resolver, or one of ours
 * (below).
 */
export type HopFailure = { readonly phase: HttpsPhase; readonly code: string };

/** Our own codes, beside those of the system. */
export const ownCodes = {
  deadline: 'DEADLINE',
  notPublic: 'NOT_PUBLIC',
  noFamily: 'NO_FAMILY',
  /** The probe's own resolver answers for no name. */
  resolver: 'OWN_RESOLVER',
  /** Not public either, but other probes that check this target may reach it. */
  ownLimit: 'OWN_LIMIT',
  closed: 'CLOSED',
  /** The probe could not get memory for the body in time. */
  memory: 'OWN_MEMORY',
  malformed: 'MALFORMED',
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

export type ResponseSeen = {
  readonly status: number;
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
  readonly code: string | null;
  readonly ms: number;
};

export type HopSeen = {
  readonly url: string;
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
   * without a connection.
   */
  readonly outgoing: string | null;
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

/**
 * Text that a database and a page can hold: no control characters except line breaks and tabs, no
 * lone surrogates.
 */
export const clean = (text: string): string => text.toWellFormed().replaceAll(controls, '\ufffd');

// biome-ignore lint/suspicious/noControlCharactersInRegex: removes control characters.
const controls = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/g;

/**
 * A text that ends with this many characters of a secret's beginning does not do so by accident.
 */
const leastBegun = 4;

/**
 * Where a secret begins that the end of the text cuts off; the length of the text when there is
 * none.
 */
const begunAt = (text: string, secret: string): number => {
  const beginning = secret.slice(0, leastBegun);
  let at = text.indexOf(beginning, Math.max(0, text.length - secret.length));
  while (at >= 0 && !secret.startsWith(text.slice(at))) at = text.indexOf(beginning, at + 1);
  return at < 0 ? text.length : at;
};

/** Makes a target's texts safe for evidence: removes secrets first, and only then cuts. */
type Scrub = {
  (text: string, limit: number): string;
  /**
   * How much of a text is enough to show `most` of it, although removing secrets makes it shorter.
   */
  readonly enough: (limit: number) => number;
  /** Any value as one text. */
  readonly value: (json: Json, limit: number) => string;
  /** Bytes that are no known text, with a sign for each that cannot be shown. */
  readonly bytes: (bytes: Uint8Array, limit: number) => string;
};

const signs: Readonly<Record<string, string>> = { '\r': '\\r', '\n': '\\n', '\t': '\\t' };
const signOf = (one: string): string =>
  signs[one] ?? `\\x${one.charCodeAt(0).toString(16).padStart(2, '0')}`;

/**
 * A server may echo its request. Evidence must not keep secrets of the config, not even half of
 * one.
 */
const scrubber = (secrets: readonly string[]): Scrub => {
  // The secret as it is, URL-encoded, and as latin-1 bytes.
  const formsOf = (secret: string) => [
    secret,
    encodeURIComponent(secret),
    Buffer.from(secret).toString('latin1'),
  ];
  const forms = [...new Set(secrets.flatMap(formsOf))];
  const longest = Math.max(0, ...forms.map((form) => form.length));
  const without = (text: string): string => {
    const rest = forms.reduce((whole, form) => whole.replaceAll(form, mask), text);
    // A character that was cut in half leaves this sign at the end.
    const end = rest.replace(/\ufffd+$/, '');
    const begun = Math.min(...forms.map((form) => begunAt(end, form)));
    return begun < end.length ? `${end.slice(0, begun)}${mask}` : rest;
  };
  const scrub = (text: string, limit: number): string =>
    clean(without(text)).slice(0, limit).toWellFormed();
  const value = (json: Json, limit: number): string =>
    typeof json === 'string'
      ? scrub(json, limit)
      : scrub(
          JSON.stringify(json, (_key, inside: unknown) =>
            typeof inside === 'string' ? without(inside) : inside,
          ),
          limit,
        );
  const bytes = (raw: Uint8Array, limit: number): string =>
    without(Buffer.from(raw).toString('latin1'))
      .slice(0, limit)
      .replaceAll(/[^\x20-\x7e]/g, signOf);
  return Object.assign(scrub, { enough: (limit: number) => 2 * (limit + longest), value, bytes });
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
  'server',
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
const maxName = 120;
const maxUrl = 500;
const maxBody = 1_024;
const maxSaw = 400;
/** How many characters of a body are shown before the match. */
const beforeMatch = 100;
const maxFirstBytes = 100;
const maxAddresses = 20;
const maxAliases = 10;
const maxAlias = 255;

const rounded = (ms: number): number => Math.round(ms * 10) / 10;

/** What a failed assertion found: a value, or a text within the body. */
export type Saw = { readonly value: Json } | { readonly inBody: string };

const roundedPhases = ({ dns, tcp, tls, first_byte, total }: Phases): Json =>
  Object.fromEntries(
    Object.entries({ dns, tcp, tls, first_byte, total }).map(([phase, ms]) => [
      phase,
      ms === null ? null : rounded(ms),
    ]),
  );

const usedIn = ({ attempts, failure }: HopSeen): string | null =>
  failure?.phase === 'tcp' ? null : (attempts.find(({ code }) => code === null)?.address ?? null);

const sawOf = (saw: Saw, body: string, scrub: Scrub): string | undefined => {
  if ('value' in saw) return scrub.value(saw.value, maxSaw);
  const whole = scrub(body, body.length);
  const at = whole.indexOf(saw.inBody);
  return at < 0
    ? undefined
    : whole.slice(Math.max(0, at - beforeMatch), at + maxSaw - beforeMatch).toWellFormed();
};

/**
 * What the check observed (rule 15), from the very attempt that is judged. `body` is the text of
 * the last response.
 */
export const httpsEvidence = (
  settings: HttpsSettings,
  seen: HttpsObservation,
  body: string,
  saw?: Saw,
): Evidence => {
  const scrub = scrubber(settings.secrets);
  const last = seen.hops.at(-1);
  // The addresses that a name has inside a private network are private: of a refused address,
  // evidence shows only the class.
  const refused =
    last?.failure?.code === ownCodes.notPublic || last?.failure?.code === ownCodes.ownLimit;
  const evidence: Record<string, Json> = {
    url: scrub(last?.url ?? '', maxUrl),
    addresses: refused ? [] : (last?.addresses.slice(0, maxAddresses) ?? []),
  };
  const used = last ? usedIn(last) : null;
  if (used !== null) evidence.address = used;
  const outgoing = last?.outgoing ?? null;
  if (mayReportOutgoing(outgoing, used)) evidence.outgoing_address = outgoing;
  if (last?.by && !refused) {
    const { resolver, ttl, aliases } = last.by;
    const note = last.unanswered === null ? {} : { note: `${last.unanswered} was not answered` };
    evidence.lookup = {
      resolver: { address: resolver.address, port: resolver.port },
      ttl,
      aliases: aliases.slice(0, maxAliases).map((alias) => scrub(alias, maxAlias)),
      ...note,
    };
  }
  if (last && !refused && last.attempts.length > 0) {
    evidence.addresses_tried = `${last.attempts.length} of ${last.addresses.length}`;
    evidence.attempts = last.attempts
      .slice(0, maxAddresses)
      .map(({ address, code, ms }) => ({ address, code, ms: rounded(ms) }));
  }
  if (last?.failure) evidence.failure = { phase: last.failure.phase, code: last.failure.code };
  if (last && last.beginning.length > 0)
    evidence.first_bytes = scrub.bytes(last.beginning, maxFirstBytes);
  const shown = saw && sawOf(saw, body, scrub);
  if (shown !== undefined) evidence.saw = shown;
  if (last?.tls) {
    const { protocol, cipher, fault, host_matches } = last.tls;
    const chain = last.tls.chain().map((one) => ({
      ...one,
      subject: scrub(one.subject, 300),
      issuer: scrub(one.issuer, 300),
      names: one.names.map((name) => scrub(name, maxName)),
    }));
    evidence.tls = { protocol, cipher, fault, host_matches, chain };
  }
  if (seen.hops.length > 1 || seen.redirects !== 'done')
    evidence.redirects = seen.hops.map((hop) => redirectOf(hop, scrub));
  if (last?.response) {
    const { status, headers, read, truncated } = last.response;
    evidence.status = status;
    evidence.headers = headers
      .filter(([name]) => chosenHeaders.includes(name))
      .slice(0, maxHeaders)
      .map(([name, value]) => [name, scrub(value, maxHeader)]);
    evidence.body = scrub(body.slice(0, scrub.enough(maxBody)), maxBody);
    evidence.body_bytes = read;
    evidence.body_truncated = truncated;
  }
  return evidence;
};

const redirectOf = (hop: HopSeen, scrub: Scrub): Json => ({
  url: scrub(hop.url, maxUrl),
  status: hop.response?.status ?? null,
  location: scrub(hop.response?.headers.find(([name]) => name === 'location')?.[1] ?? '', maxUrl),
  address: usedIn(hop),
  phases: roundedPhases(hop.phases),
});
