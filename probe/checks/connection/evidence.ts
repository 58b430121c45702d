import { isPublic, parseAddress } from '../../../shared/base/network.ts';
import { mask } from '../../../shared/checks/config-secrets.ts';
import type { Json, Phases } from '../../../shared/checks/result.ts';
import { type Failure, ownCodes, type ReachSeen, type TlsSeen } from './observation.ts';

const maxAddresses = 20;
const maxAliases = 10;
const maxAlias = 255;
const maxName = 120;

/** The address that took the connection. */
export function usedAddress({ attempts }: ReachSeen, failure: Failure | null): string | null {
  return failure?.phase === 'tcp'
    ? null
    : (attempts.find(({ code }) => code === null)?.address ?? null);
}

/** How the server was found and reached, as evidence. */
export function reachEvidence(
  seen: ReachSeen,
  failure: Failure | null,
  scrub: Scrub,
): Record<string, Json> {
  // The addresses that a name has inside a private network are private: of a refused address,
  // evidence shows only the class.
  const refused = failure?.code === ownCodes.notPublic || failure?.code === ownCodes.ownLimit;
  const evidence: Record<string, Json> = {
    addresses: refused ? [] : seen.addresses.slice(0, maxAddresses),
  };
  const used = usedAddress(seen, failure);
  if (used !== null) evidence.address = used;
  if (mayReportOutgoing(seen.outgoing, used)) evidence.outgoing_address = seen.outgoing;
  if (seen.by && !refused) {
    const { resolver, ttl, aliases } = seen.by;
    const note = seen.unanswered === null ? {} : { note: `${seen.unanswered} was not answered` };
    evidence.lookup = {
      resolver: { address: resolver.address, port: resolver.port },
      ttl,
      aliases: aliases.slice(0, maxAliases).map((alias) => scrub(alias, maxAlias)),
      ...note,
    };
  }
  if (!refused && seen.attempts.length > 0) {
    evidence.addresses_tried = `${seen.attempts.length} of ${seen.addresses.length}`;
    evidence.attempts = seen.attempts
      .slice(0, maxAddresses)
      .map(({ address, code, ms }) => ({ address, code, ms: rounded(ms) }));
  }
  if (failure) evidence.failure = { phase: failure.phase, code: failure.code };
  return evidence;
}

/**
 * Whether a report may include our own address that the other side saw. A non-public address is
 * translated on its way out, and is private.
 */
export function mayReportOutgoing(own: string | null, other: string | null): own is string {
  const [from, to] = [own, other].map((text) => (text === null ? undefined : parseAddress(text)));
  return from !== undefined && to !== undefined && (isPublic(from) || !isPublic(to));
}

/** What the handshake showed, as evidence. */
export function tlsEvidence(
  { protocol, cipher, fault, host_matches, chain }: TlsSeen,
  scrub: Scrub,
): Json {
  return {
    protocol,
    cipher,
    fault,
    host_matches,
    chain: chain().map((one) => ({
      ...one,
      subject: scrub(one.subject, 300),
      issuer: scrub(one.issuer, 300),
      names: one.names.map((name) => scrub(name, maxName)),
    })),
  };
}

function rounded(ms: number): number {
  return Math.round(ms * 10) / 10;
}

/** Phases to a tenth of a millisecond. */
export function roundedPhases({ dns, tcp, tls, first_byte, total }: Phases): Phases {
  return {
    dns: roundedOrNull(dns),
    tcp: roundedOrNull(tcp),
    tls: roundedOrNull(tls),
    first_byte: roundedOrNull(first_byte),
    total: roundedOrNull(total),
  };
}

function roundedOrNull(ms: number | null): number | null {
  return ms === null ? null : rounded(ms);
}

/**
 * Text that a database and a page can hold: no control characters except line breaks and tabs, no
 * lone surrogates.
 */
export function clean(text: string): string {
  return text.toWellFormed().replaceAll(controls, '\ufffd');
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: removes control characters.
const controls = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/g;

/** Makes a target's texts safe for evidence: removes secrets first, and only then cuts. */
export type Scrub = {
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

/**
 * A server may echo its request. Evidence must not keep secrets of the config, not even half of
 * one.
 */
export function scrubber(secrets: readonly string[]): Scrub {
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
}

/**
 * A text that ends with this many characters of a secret's beginning does not do so by accident.
 */
const leastBegun = 4;

/**
 * Where a secret begins that the end of the text cuts off; the length of the text when there is
 * none.
 */
function begunAt(text: string, secret: string): number {
  const beginning = secret.slice(0, leastBegun);
  let at = text.indexOf(beginning, Math.max(0, text.length - secret.length));
  while (at >= 0 && !secret.startsWith(text.slice(at))) at = text.indexOf(beginning, at + 1);
  return at < 0 ? text.length : at;
}

const signs: Readonly<Record<string, string>> = { '\r': '\\r', '\n': '\\n', '\t': '\\t' };

function signOf(one: string): string {
  return signs[one] ?? `\\x${one.charCodeAt(0).toString(16).padStart(2, '0')}`;
}

const maxQuoted = 100;

/** What a target sent, as a cause quotes it. */
export function quoted(text: string): string {
  return text.length > maxQuoted ? `${text.slice(0, maxQuoted).toWellFormed()}…` : text;
}
