import { retryAfter_s } from '../../../shared/base/time.ts';
import type { HttpsCause } from '../../../shared/checks/https/causes.ts';
import {
  atJsonPath,
  type HttpsSettings,
  type JsonAssertion,
} from '../../../shared/checks/https/config.ts';
import {
  effortOf,
  type Found,
  type SearchBudget,
  search,
} from '../../../shared/checks/patterns/search.ts';
import type { Cause, Evidence, Json, Verdict } from '../../../shared/checks/result.ts';
import { quoted, roundedPhases } from '../connection/evidence.ts';
import { http2Cause, isRefusedProtocol, responsePhases } from '../connection/response.ts';
import {
  type CodeTable,
  connectionPhases,
  expiredCause,
  failureCause,
  limitCause,
  ownFault,
} from '../connection/verdict.ts';
import {
  type FoundValue,
  type HopFailure,
  type HopSeen,
  type HttpsObservation,
  type HttpsPhase,
  httpsEvidence,
  type ResponseSeen,
} from './evidence.ts';
import { interference } from './interference.ts';
import { httpsWarnings, isRateLimited } from './warnings.ts';

/** Pure tables from codes of the system, the resolver and OpenSSL to the closed list of causes. */

/** Work that rests between slices: a long body holds up no other check. */
type InSlices<Result> = Generator<void, Result>;

/** How much before the end of a match is shown at least. */
const shownOfMatch = 50;

/**
 * Judges an https check, in slices. Builds evidence for failures, for a success when wanted, and
 * warnings for a success.
 */
export function* judgeHttps(
  settings: HttpsSettings,
  seen: HttpsObservation,
  evidenceWanted: boolean,
): InSlices<Verdict> {
  const last = seen.hops.at(-1);
  if (!last) throw new Error('An https check without a hop cannot be judged');
  const head = (): string =>
    last.response ? textOf({ ...last.response, body: last.response.body.subarray(0, 4_096) }) : '';
  const body = last.response && settings.judges_body ? textOf(last.response) : head();
  const { outcome, cause: why, saw } = yield* judged(settings, seen, last, body);
  const evidence: Evidence =
    outcome !== 'ok' || evidenceWanted ? httpsEvidence(settings, seen, body, saw) : {};
  const verdict = { outcome, cause: why, phases: roundedPhases(seen.phases), evidence };
  const warnings = outcome === 'ok' ? httpsWarnings(settings, seen) : [];
  return warnings.length > 0 ? { ...verdict, warnings } : verdict;
}

const utf8 = new TextDecoder('utf-8');

/**
 * The body as text, in the charset of its mark, of the response or of the document itself, if we
 * support it.
 */
function textOf(response: ResponseSeen): string {
  if (response.body.length === 0) return '';
  const type = headerOf(response, 'content-type')[0] ?? '';
  const charset =
    charsetOfMark(response.body) ??
    /charset\s*=\s*["']?([\w.:-]{1,40})/i.exec(type)?.[1] ??
    charsetOfDocument(type, response.body);
  if (charset === undefined || charset.toLowerCase() === 'utf-8') return utf8.decode(response.body);
  try {
    return new TextDecoder(charset).decode(response.body);
  } catch (error) {
    // An unknown charset: decode as UTF-8, which nearly everything is.
    if (error instanceof RangeError) return utf8.decode(response.body);
    throw error;
  }
}

function headerOf(response: ResponseSeen, name: string): string[] {
  return response.headers.filter(([key]) => key === name.toLowerCase()).map(([, value]) => value);
}

/** A byte order mark outranks any declared charset. */
function charsetOfMark([first, second, third]: Uint8Array): string | undefined {
  if (first === 0xef && second === 0xbb && third === 0xbf) return 'utf-8';
  if (first === 0xfe && second === 0xff) return 'utf-16be';
  return first === 0xff && second === 0xfe ? 'utf-16le' : undefined;
}

/** Browsers search a page's own charset declaration in this many bytes. */
const prescanned = 1_024;

/**
 * The charset that an HTML or XML document declares. A document readable as ASCII is not UTF-16,
 * whatever it declares.
 */
function charsetOfDocument(type: string, body: Uint8Array): string | undefined {
  if (type !== '' && !/html|xml/i.test(type)) return undefined;
  const head = Buffer.from(body.subarray(0, prescanned))
    .toString('latin1')
    .replaceAll(/<!--[\s\S]*?-->/g, '');
  const said =
    /^\s*<\?xml[^>]*?\sencoding\s*=\s*["']([\w.:-]{1,40})/i.exec(head)?.[1] ??
    /<meta\s[^>]*?charset\s*=\s*["']?\s*([\w.:-]{1,40})/i.exec(head)?.[1];
  return said === undefined || /^utf-?16/i.test(said) ? undefined : said;
}

function cause(name: HttpsCause, params: Cause['params'] = {}): Cause {
  return { class: name, params };
}

type Judged = {
  readonly outcome: 'ok' | 'fail' | 'unknown';
  readonly cause: Cause | null;
  readonly saw?: FoundValue;
};

function* judged(
  settings: HttpsSettings,
  seen: HttpsObservation,
  last: HopSeen,
  body: string,
): InSlices<Judged> {
  if (last.failure) {
    const own = ownFault(last.failure, last.addresses);
    if (own) return { outcome: 'unknown', cause: own };
    const why = hopCause(last.failure, last, seen, settings.ip_family);
    return why ? fail(why) : unknown('probe_clock_wrong');
  }
  const old = settings.verify_tls
    ? expiredCause(
        seen.hops.map(({ tls }) => tls),
        seen.at,
      )
    : undefined;
  if (old) return fail(old);
  const astray = redirectCause(settings, seen, last);
  if (astray) return fail(astray);
  const wrong = last.response
    ? yield* responseBroken(settings, seen, last.response, body)
    : broken(cause('response_missing'));
  return wrong ? { outcome: 'fail', ...wrong } : { outcome: 'ok', cause: null };
}

const phases: Readonly<Record<HttpsPhase, CodeTable>> = { ...connectionPhases, ...responsePhases };

/** The cause of a failed hop; null when the fault is the probe's own clock. */
function hopCause(
  failure: HopFailure,
  { tls }: HopSeen,
  { at, limit_ms }: HttpsObservation,
  ip_family: string,
): Cause | null {
  // Both were offered, one after the other.
  return isRefusedProtocol(failure)
    ? cause('http_not_spoken')
    : (http2Cause(failure) ?? failureCause(failure, phases, { tls, at, limit_ms, ip_family }));
}

function fail(why: Cause): Judged {
  return { outcome: 'fail', cause: why };
}

function unknown(name: string): Judged {
  return {
    outcome: 'unknown',
    cause: { class: name, params: {} },
  };
}

function redirectCause(
  settings: HttpsSettings,
  seen: HttpsObservation,
  last: HopSeen,
): Cause | undefined {
  switch (seen.redirects) {
    case 'done':
      return undefined;
    case 'limit':
      return cause('redirect_limit', { limit: settings.max_redirects });
    case 'loop':
      return cause('redirect_loop');
    case 'without_location':
      return cause('redirect_without_location', { status: last.response?.status ?? 0 });
    case 'invalid':
      return cause('redirect_invalid');
  }
}

/** What is wrong, and what was found where the cause does not say it. */
type Broken = { readonly cause: Cause; readonly saw?: FoundValue };

/** Statuses with which a server may say when it wants to be asked again. */
const asksToWait = [429, 503];

function* responseBroken(
  settings: HttpsSettings,
  seen: HttpsObservation,
  response: ResponseSeen,
  body: string,
): InSlices<Broken | undefined> {
  const { status } = response;
  const expected = settings.expected.matches(status);
  if (!expected || !settings.expected_given) {
    const between = interference(response, body);
    if (between && (!expected || between.certain)) {
      return broken(
        cause(between.is === 'blocked' ? 'blocked_by_firewall' : 'origin_unreachable', {
          vendor: between.vendor,
          status,
        }),
      );
    }
  }
  if (isRateLimited(settings, response)) return undefined;
  if (!expected) {
    const after = asksToWait.includes(status) ? waitOf(response) : undefined;
    return broken(
      cause('unexpected_status', {
        status,
        expected: quoted(settings.expected.words),
        ...(after === undefined ? {} : { retry_after_s: after }),
      }),
    );
  }
  return (
    (yield* assertionBroken(settings, response, body)) ??
    broken(
      limitCause(
        settings,
        seen.at,
        seen.phases.total,
        seen.hops.map(({ tls }) => tls),
      ),
    )
  );
}

function broken(why: Cause | undefined, saw?: FoundValue): Broken | undefined {
  return why && { cause: why, ...(saw && { saw }) };
}

const longestWait_s = 3_600;

function waitOf(response: ResponseSeen): number | undefined {
  const after = retryAfter_s(headerOf(response, 'retry-after')[0], headerOf(response, 'date')[0]);
  return after === undefined ? undefined : Math.min(after, longestWait_s);
}

/** What the patterns of one check may cost together: twenty in a body of 1 MiB, or some tenths of a second. */
const mostEffort = 25_000_000;

/** The first assertion about headers or body that does not hold. */
function* assertionBroken(
  settings: HttpsSettings,
  response: ResponseSeen,
  body: string,
): InSlices<Broken | undefined> {
  const effort = effortOf(mostEffort);
  for (const [header, text] of settings.header_contains) {
    const values = headerOf(response, header);
    if (values.length === 0) return broken(cause('header_missing', { header }));
    if (!values.some((value) => value.includes(text))) {
      const [value = '', ...more] = values;
      return broken(cause('header_mismatch', { header, text: quoted(text) }), {
        value: more.length === 0 ? value : values,
      });
    }
  }
  const ofHeaders = yield* headerPatternBroken(settings, response, effort);
  if (ofHeaders) return ofHeaders;
  const truncated = response.truncated ? 1 : 0;
  const lacking = settings.body_contains.find((text) => !body.includes(text));
  if (lacking !== undefined)
    return broken(cause('body_lacks', { text: quoted(lacking), truncated }));
  const unwanted = settings.body_not_contains.find((text) => body.includes(text));
  if (unwanted !== undefined)
    return broken(cause('body_has', { text: quoted(unwanted) }), { inBody: unwanted });
  const [untold] = settings.body_not_contains;
  if (untold !== undefined && response.truncated)
    return broken(cause('body_has_untold', { text: quoted(untold) }));
  const ofBody = yield* bodyPatternBroken(settings, response, body, effort);
  if (ofBody) return ofBody;
  if (settings.json.length === 0) return undefined;
  const document = truncated ? undefined : parsed(body);
  if (!document) return broken(cause('body_not_json', { truncated }));
  for (const assertion of settings.json) {
    const found = jsonBroken(assertion, document.json, body);
    if (found) return found;
  }
  return undefined;
}

function* headerPatternBroken(
  settings: HttpsSettings,
  response: ResponseSeen,
  effort: SearchBudget,
): InSlices<Broken | undefined> {
  const wanted = [
    ...settings.header_matches.map(([header, pattern]) => ({ header, ...wantedOf(pattern) })),
    ...settings.header_not_matches.map(([header, pattern]) => ({ header, ...unwantedOf(pattern) })),
  ];
  for (const { header, pattern, isWanted } of wanted) {
    const values = headerOf(response, header);
    const [first] = values;
    if (first === undefined && isWanted) return broken(cause('header_missing', { header }));
    const text = quoted(pattern);
    const matching: string[] = [];
    for (const value of values) {
      const found = yield* search(pattern, value, effort);
      if (found === 'untold') return broken(cause('pattern_too_costly', { text }));
      if (found !== 'nothing') matching.push(value);
    }
    if (isWanted && matching.length === 0)
      return broken(cause('header_lacks_match', { header, text }), {
        value: values.length === 1 ? (first ?? '') : values,
      });
    const [unwanted] = matching;
    if (!isWanted && unwanted !== undefined)
      return broken(cause('header_has_match', { header, text }), { value: unwanted });
  }
  return undefined;
}

type Wanted = { readonly pattern: string; readonly isWanted: boolean };

function wantedOf(pattern: string): Wanted {
  return { pattern, isWanted: true };
}

function unwantedOf(pattern: string): Wanted {
  return { pattern, isWanted: false };
}

function* bodyPatternBroken(
  settings: HttpsSettings,
  response: ResponseSeen,
  body: string,
  effort: SearchBudget,
): InSlices<Broken | undefined> {
  const wanted = [
    ...settings.body_matches.map(wantedOf),
    ...settings.body_not_matches.map(unwantedOf),
  ];
  for (const { pattern, isWanted } of wanted) {
    const text = quoted(pattern);
    const found: Found = yield* search(pattern, body, effort);
    if (found === 'untold') return broken(cause('pattern_too_costly', { text }));
    if (found === 'nothing') {
      if (isWanted)
        return broken(cause('body_lacks_match', { text, truncated: response.truncated ? 1 : 0 }));
      if (response.truncated) return broken(cause('body_match_untold', { text }));
    } else if (!isWanted)
      return broken(cause('body_has_match', { text }), {
        inBody: body.slice(Math.max(0, found.end - shownOfMatch), found.end),
      });
  }
  return undefined;
}

function parsed(text: string): { readonly json: Json } | undefined {
  try {
    return { json: JSON.parse(text) };
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function jsonBroken(assertion: JsonAssertion, document: Json, body: string): Broken | undefined {
  const { words, equals, contains, gt, lt, exists } = assertion;
  const path = quoted(words);
  const value = atJsonPath(document, assertion.path);
  if (exists === false)
    return value === undefined ? undefined : broken(cause('json_present', { path }), { value });
  if (value === undefined) return broken(cause('json_missing', { path }));
  const digits = digitsAt(body, assertion.path, value);
  const mismatch = (problem: string, expected: Json) =>
    broken(cause('json_mismatch', { path, problem, expected: quoted(JSON.stringify(expected)) }), {
      value: digits?.toString() ?? value,
    });
  if (equals !== undefined && !isEqual(value, digits, equals))
    return mismatch('is not equal to', equals);
  if (contains !== undefined && !holds(value, contains))
    return mismatch('does not contain', contains);
  if (gt !== undefined && beside(value, digits, gt) !== 1)
    return mismatch('is not greater than', gt);
  if (lt !== undefined && beside(value, digits, lt) !== -1) return mismatch('is not less than', lt);
  return undefined;
}

/** The exact digits of a whole number in the document that is too long for a JavaScript number. */
function digitsAt(text: string, path: JsonAssertion['path'], value: Json): bigint | undefined {
  if (typeof value !== 'number' || !Number.isInteger(value) || Number.isSafeInteger(value))
    return undefined;
  const digits = atJsonPath(parsed(inDigits(text))?.json ?? null, path);
  return typeof digits === 'string' ? BigInt(digits) : undefined;
}

/**
 * The same document with its whole numbers as strings of digits: a JavaScript number holds only
 * about 15 digits.
 */
function inDigits(text: string): string {
  return text.replaceAll(/"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g, (token) =>
    /^-?\d{16,}$/.test(token) ? `"${token}"` : token,
  );
}

function isEqual(value: Json, digits: bigint | undefined, expected: Json): boolean {
  if (digits === undefined) return JSON.stringify(value) === JSON.stringify(expected);
  return typeof expected === 'number'
    ? Number.isInteger(expected) && digits === runToEnd(expected)
    : expected === String(digits);
}

/** A whole number of a config, exact to the digits that people write. */
function runToEnd(number: number): bigint {
  return BigInt(number.toLocaleString('en', { useGrouping: false }));
}

function holds(value: Json, text: string): boolean {
  return typeof value === 'string'
    ? value.includes(text)
    : Array.isArray(value) && value.some((one) => one === text);
}

/** 1 above the limit, -1 below it, 0 at it; undefined for anything that is not a number. */
function beside(value: Json, digits: bigint | undefined, limit: number): number | undefined {
  if (typeof value !== 'number') return undefined;
  const [one, other] =
    digits === undefined
      ? [value, limit]
      : [digits, Number.isInteger(limit) ? runToEnd(limit) : limit];
  return one > other ? 1 : one < other ? -1 : 0;
}
