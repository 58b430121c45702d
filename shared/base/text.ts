import { codeOf } from './errors.ts';
import { memberOf } from './json.ts';
import { called, type DescribedSides } from './sides.ts';
import { durationText } from './time.ts';

/** A line of a CSV file (RFC 4180), with its line end. */
export function csvLine(values: readonly string[]): string {
  return `${values.map(cell).join(',')}\r\n`;
}

/** A spreadsheet takes a cell with such a beginning for a formula. */
const formula = /^[=+\-@\t\r\n|%]|^\s+[=+\-@]/;

/**
 * Always in quotes. A cell that a spreadsheet would take for a formula begins with an apostrophe,
 * which marks it as text.
 */
function cell(value: string): string {
  return `"${(formula.test(value) ? `'${value}` : value).replaceAll('"', '""')}"`;
}

/** The cells of a CSV file by its lines; undefined where quotes are left open. */
export function csvRows(text: string): readonly (readonly string[])[] | undefined {
  const next = /(?:"([^"]*(?:""[^"]*)*)"|([^",\r\n]*))(,|\r?\n|\r|$)/y;
  const rows: string[][] = [];
  let row: string[] = [];
  while (next.lastIndex < text.length) {
    const [whole, quoted, plain = '', end] = next.exec(text) ?? [];
    if (whole === undefined) return undefined;
    row.push(quoted?.replaceAll('""', '"') ?? plain);
    if (end === ',') continue;
    rows.push(row);
    row = [];
  }
  return row.length === 0 ? rows : [...rows, [...row, '']];
}

/**
 * Descriptions of an incident, shared by pages, messages and assistants. Everything here is our own
 * text except the name.
 */
type IncidentWords = SeenFrom & {
  readonly name: string;
  readonly open: boolean;
  readonly confirmed: boolean;
  readonly duration_ms: number;
};

/** Where an outage is seen, and how deep it lies. */
export type SeenFrom = {
  /** Of its side: `everywhere`, `some_continents` or `one_continent`; null when unknown. */
  readonly scope: string | null;
  readonly layer: string | null;
  /** What the scope was judged from; null where it is not known, or over. */
  readonly continents?: Continents | null;
  /** Null where one side checks. */
  readonly sides?: DescribedSides | null;
};

export type Continents = {
  readonly failed: readonly string[];
  readonly passed: readonly string[];
  /** All that were asked, whether they have answered or not. */
  readonly asked: readonly string[];
};

const scopes: Readonly<Record<string, string>> = {
  everywhere: ' everywhere',
  some_continents: ' from some continents',
  one_continent: ' from one continent',
};

/**
 * Where it is down, and which continents have not answered yet; follows "is down". A job is down
 * nowhere in the world.
 */
export function downFrom({ scope, layer, continents = null, sides = null }: SeenFrom): string {
  if (layer === 'heartbeat') return '';
  if (sides?.verdict === 'way_in') return ` outside, up inside${called(sides.inside.passing)}`;
  if (sides?.verdict === 'inside_only')
    return ` inside${called(sides.inside.failing)}${sides.outside.failing.length === 0 ? ', up outside' : ''}`;
  if (scope !== 'some_continents' || continents === null)
    return scopes[scopeOfAll(scope, sides) ?? ''] ?? '';
  const { failed, passed, asked } = continents;
  const all = new Set([...asked, ...failed, ...passed]);
  const checking = asked.filter(
    (continent) => !failed.includes(continent) && !passed.includes(continent),
  );
  const verb = checking.length === 1 ? 'is' : 'are';
  return ` from ${failed.length} of ${all.size} continents${checking.length === 0 ? '' : `; ${listInWords(checking)} ${verb} checking`}`;
}

/** Nothing is down everywhere that a place of the other side can still reach. */
function scopeOfAll(scope: string | null, sides: DescribedSides | null): string | null {
  return scope === 'everywhere' && sides !== null && isReachedIn(sides) ? null : scope;
}

function isReachedIn({ inside, outside }: DescribedSides): boolean {
  return inside.passing.length + outside.passing.length > 0;
}

/** One sentence that says what is wrong, as a title: without its full stop. */
export function incidentSentence({
  name,
  open,
  confirmed,
  duration_ms,
  ...seen
}: IncidentWords): string {
  if (open) return confirmed ? `${name} is down${downFrom(seen)}` : `${name} is being verified`;
  if (confirmed) return `${name} was down for ${durationText(duration_ms)}`;
  return `${name} failed from one place and was never down`;
}

const scopeWords: Readonly<Record<string, string>> = {
  everywhere: 'Everywhere',
  some_continents: 'From some continents',
  one_continent: 'From one continent only',
};

/** How long each phase of a check took; null for one that did not run. */
export type PhaseTimes = Readonly<Record<string, unknown>>;

/**
 * Where it was detected and in which layer, as one sentence; undefined when both are unknown. Where
 * both sides are checked, what they tell together wins: it says where to look. `phases`: of the
 * check that failed first.
 */
export function verdictSentence(
  { scope, layer, sides = null }: SeenFrom,
  phases: PhaseTimes | null,
): string | undefined {
  if (sides?.sentence != null) return sides.sentence;
  const seen = layer === 'heartbeat' ? null : scopeOfAll(scope, sides);
  const where = seen === null ? undefined : scopeWords[seen];
  const how = layer === null ? undefined : layerSentence(layer, phases);
  if (where === undefined && how === undefined) return undefined;
  if (how === undefined) return `${where}.`;
  return where === undefined ? `${how}.` : `${where}. ${how}.`;
}

const layerWords: Readonly<Record<string, string>> = {
  dns: 'DNS does not resolve the name',
  tcp: 'The server does not accept connections',
  tls: 'The certificate or the TLS handshake fails',
  http: 'The server returns an error',
  assertion: 'The server responds, but the response fails your assertions',
  timeout: 'The server did not respond in time',
  heartbeat: 'The job sent no ping, or reported a failure',
};

/** The phases before the failing one, as the check went through them. */
const earlierPhases: Readonly<
  Record<string, readonly (readonly [phase: string, words: string])[]>
> = {
  tls: [
    ['dns', 'DNS'],
    ['tcp', 'network'],
  ],
  http: [
    ['dns', 'DNS'],
    ['tcp', 'network'],
    ['tls', 'TLS'],
  ],
};

/** Only phases that took part are called fine: an address by IP needs no DNS, `http:` no TLS. */
function layerSentence(layer: string, phases: PhaseTimes | null): string | undefined {
  const fails = layerWords[layer];
  const fine = (earlierPhases[layer] ?? []).flatMap(([phase, words]) =>
    typeof phases?.[phase] === 'number' ? [words] : [],
  );
  if (fails === undefined || fine.length === 0) return fails;
  const verb = fine.length === 1 ? 'is' : 'are';
  return `${capital(listInWords(fine))} ${verb} fine; ${fails.charAt(0).toLowerCase()}${fails.slice(1)}`;
}

/** The known word that a user who typed `word` probably meant; undefined when none is near. */
export function nearest(word: string, known: Iterable<string>): string | undefined {
  let best: string | undefined;
  let least = Math.max(1, Math.floor(word.length / 3)) + 1;
  for (const candidate of known) {
    // Each letter more or less is a step, however long the word is.
    if (Math.abs(word.length - candidate.length) >= least) continue;
    const away = distance(word.toLowerCase(), candidate.toLowerCase());
    if (away < least) [best, least] = [candidate, away];
  }
  return best;
}

/**
 * How many single-letter changes separate two words (Levenshtein); swapped neighbours count as one.
 */
function distance(a: string, b: string): number {
  let before: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    const current = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const same = a[i - 1] === b[j - 1];
      let least = Math.min(
        (previous[j] ?? 0) + 1,
        (current[j - 1] ?? 0) + 1,
        (previous[j - 1] ?? 0) + (same ? 0 : 1),
      );
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        least = Math.min(least, (before[j - 2] ?? 0) + 1);
      current.push(least);
    }
    before = previous;
    previous = current;
  }
  return previous[b.length] ?? 0;
}

/** The overall status, in the words with which pages and messages begin. */
export type OverallStatus = {
  readonly counts: {
    readonly all: number;
    readonly down: number;
    readonly verifying: number;
    readonly up: number;
    readonly maintenance: number;
    readonly pending: number;
    readonly paused: number;
  };
  /** The first few names of those that are down, and of those being verified. */
  readonly down: readonly string[];
  readonly verifying: readonly string[];
};

const words = ['no', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten'];

const grouped = new Intl.NumberFormat('en-GB');

/** A count in a sentence: small ones as words. */
export function countInWords(count: number): string {
  return words[count] ?? grouped.format(count);
}

export function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** `a`, `a and b`, `a, b and c`. */
export function listInWords(parts: readonly string[]): string {
  return parts.length < 2
    ? (parts[0] ?? '')
    : `${parts.slice(0, -1).join(', ')} and ${parts.at(-1)}`;
}

/** The one sentence that says whether everything is up; `every`: what the counts are of. */
export function sentenceOf(
  { counts, down, verifying }: OverallStatus,
  every = 'Everything',
): string {
  const { all, up, maintenance, pending, paused } = counts;
  if (all === 0) return 'No monitors yet';
  if (counts.down > 0) return `${named(down, counts.down)} ${be(counts.down)} down`;
  if (counts.verifying > 0)
    return `${named(verifying, counts.verifying)} ${be(counts.verifying)} being verified`;
  if (paused === all) return `${every} is paused`;
  if (up === 0) return pending > 0 ? 'Waiting for the first check' : `${every} is in maintenance`;
  if (pending > 0) return `${every} checked so far is up`;
  return maintenance + paused > 0 ? `${every} else is up` : `${every} is up`;
}

function named(names: readonly string[], count: number): string {
  return names.length === count
    ? listInWords(names.map(short))
    : `${capital(countInWords(count))} monitors`;
}

/** Long names would push the rest out of sight. */
const maxLetters = 40;

function short(name: string): string {
  return name.length <= maxLetters ? name : `${name.slice(0, maxLetters - 1).trimEnd()}…`;
}

function be(count: number): string {
  return count === 1 ? 'is' : 'are';
}

/** Further facts that follow the sentence. */
export function restOf({ counts: { all, up } }: OverallStatus): string {
  if (up === all) return all > 1 ? `${capital(countInWords(all))} monitors.` : '';
  return up > 0 ? `${grouped.format(up)} of ${grouped.format(all)} are up.` : '';
}

/** Why nothing came back, in words that say what to check. */
const reasonWords: Readonly<Record<string, string>> = {
  ENOTFOUND: 'no such name in DNS',
  EAI_AGAIN: 'DNS does not answer at the moment',
  ECONNREFUSED: 'nothing listens there',
  ECONNRESET: 'the connection was broken off',
  EPIPE: 'the connection was broken off',
  UND_ERR_SOCKET: 'the connection was broken off',
  ETIMEDOUT: 'no answer to the attempt to connect',
  UND_ERR_CONNECT_TIMEOUT: 'no answer to the attempt to connect',
  UND_ERR_HEADERS_TIMEOUT: 'connected, but no answer came',
  UND_ERR_BODY_TIMEOUT: 'the answer stopped in the middle',
  ENETUNREACH: 'this machine has no way there: is it online?',
  EHOSTUNREACH: 'this machine has no way there: is it online?',
  EADDRNOTAVAIL: 'this machine has no way there: is it online?',
  EACCES: 'this machine forbids the connection',
  CERT_HAS_EXPIRED: 'its certificate has expired',
  CERT_NOT_YET_VALID: "its certificate is not valid yet: is this machine's clock right?",
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another name',
  DEPTH_ZERO_SELF_SIGNED_CERT:
    'its certificate is signed by itself; NODE_EXTRA_CA_CERTS=FILE names one to trust',
  SELF_SIGNED_CERT_IN_CHAIN:
    'its certificate is signed by nobody known here; NODE_EXTRA_CA_CERTS=FILE names whom to trust',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    'its certificate is signed by nobody known here; NODE_EXTRA_CA_CERTS=FILE names whom to trust',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    'its certificate is signed by nobody known here; NODE_EXTRA_CA_CERTS=FILE names whom to trust',
  ERR_SSL_WRONG_VERSION_NUMBER:
    'it answers without TLS: is the address http:// instead of https://?',
  ERR_SSL_PACKET_LENGTH_TOO_LONG:
    'it answers without TLS: is the address http:// instead of https://?',
  HPE_INVALID_CONSTANT:
    'what answers does not speak HTTP: is the address https:// instead of http://?',
  UND_ERR_PRX_TLS: 'the proxy refuses the way there',
  ERR_PROXY_TUNNEL: 'the proxy refuses the way there',
};

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

export function whyNotReached(error: unknown): string {
  const cause = innermost(error);
  const code = codeOf(cause);
  const known = reasonWords[code];
  if (known !== undefined) return known;
  return (
    text(memberOf(cause, 'message')) ??
    text(code) ??
    (error instanceof Error ? error.message : String(error))
  );
}

/** Both families failed, each with its own cause: use the first. */
function innermost(error: unknown): unknown {
  const cause = memberOf(error, 'cause') ?? error;
  const each = memberOf(cause, 'errors');
  return Array.isArray(each) && each.length > 0 ? each[0] : cause;
}
