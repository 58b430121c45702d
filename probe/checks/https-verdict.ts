import type { Cause } from '../../shared/checks/checks-cause-types.ts';
import type { Evidence, Json, Phases, Verdict } from '../../shared/checks/checks-result.ts';
import type { HttpsCause } from '../../shared/checks/https/checks-https-causes.ts';
import { atJsonPath } from '../../shared/checks/https/checks-https-json-path.ts';
import type { HttpsSettings, JsonAssertion } from '../../shared/checks/https/checks-https-settings.ts';
import { interference } from './https-block-pages.ts';
import { httpsEvidence, type Saw } from './https-evidence.ts';
import { certificateCause, failureCause } from './https-failures.ts';
import { type HopSeen, type HttpsObservation, ownCodes, type ResponseSeen } from './https-observation.ts';

/** From what an https check saw to its verdict: pure, so that every cause has its row in a table of cases. */

const cause = (name: HttpsCause, params: Cause['params'] = {}): Cause => ({ class: name, params });

const mostQuoted = 100;
/** A text of the monitor's config as it stands in a sentence. */
const quoted = (text: string): string => (text.length > mostQuoted ? `${text.slice(0, mostQuoted).toWellFormed()}…` : text);

const tenths = (ms: number | null): number | null => (ms === null ? null : Math.round(ms * 10) / 10);
const roundedPhases = (phases: Phases): Phases => ({
  dns: tenths(phases.dns),
  tcp: tenths(phases.tcp),
  tls: tenths(phases.tls),
  first_byte: tenths(phases.first_byte),
  total: tenths(phases.total),
});

const headerOf = (response: ResponseSeen, name: string): string[] =>
  response.headers.filter(([key]) => key === name.toLowerCase()).map(([, value]) => value);

const utf8 = new TextDecoder('utf-8');

/** What a text begins with says more than anybody's words about it. */
const charsetOfMark = ([first, second, third]: Uint8Array): string | undefined => {
  if (first === 0xef && second === 0xbb && third === 0xbf) return 'utf-8';
  if (first === 0xfe && second === 0xff) return 'utf-16be';
  return first === 0xff && second === 0xfe ? 'utf-16le' : undefined;
};

/** Browsers read a page's own word about itself in so many bytes. */
const prescanned = 1_024;

/** What an HTML or XML document says of itself. One that can be read as ASCII is no UTF-16, whatever it says. */
const charsetOfDocument = (type: string, body: Uint8Array): string | undefined => {
  if (type !== '' && !/html|xml/i.test(type)) return undefined;
  const head = Buffer.from(body.subarray(0, prescanned))
    .toString('latin1')
    .replaceAll(/<!--[\s\S]*?-->/g, '');
  const said =
    /^\s*<\?xml[^>]*?\sencoding\s*=\s*["']([\w.:-]{1,40})/i.exec(head)?.[1] ??
    /<meta\s[^>]*?charset\s*=\s*["']?\s*([\w.:-]{1,40})/i.exec(head)?.[1];
  return said === undefined || /^utf-?16/i.test(said) ? undefined : said;
};

/** The body as text: in the charset of its mark, of the response or of the document itself, if it is one that we know. */
const textOf = (response: ResponseSeen): string => {
  if (response.body.length === 0) return '';
  const type = headerOf(response, 'content-type')[0] ?? '';
  const charset =
    charsetOfMark(response.body) ?? /charset\s*=\s*["']?([\w.:-]{1,40})/i.exec(type)?.[1] ?? charsetOfDocument(type, response.body);
  if (charset === undefined || charset.toLowerCase() === 'utf-8') return utf8.decode(response.body);
  try {
    return new TextDecoder(charset).decode(response.body);
  } catch (error) {
    // A charset that nobody knows: read as what nearly everything is.
    if (error instanceof RangeError) return utf8.decode(response.body);
    throw error;
  }
};

const parsed = (text: string): { readonly json: Json } | undefined => {
  try {
    return { json: JSON.parse(text) };
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
};

/** The same document with its whole numbers as texts of digits: a number of ours holds no more than 15 or so of them. */
const inDigits = (text: string): string =>
  text.replaceAll(/"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g, (token) => (/^-?\d{16,}$/.test(token) ? `"${token}"` : token));

/** A whole number of the document that is too long for a number of ours, as it stands there. */
const digitsAt = (text: string, path: JsonAssertion['path'], value: Json): bigint | undefined => {
  if (typeof value !== 'number' || !Number.isInteger(value) || Number.isSafeInteger(value)) return undefined;
  const digits = atJsonPath(parsed(inDigits(text))?.json ?? null, path);
  return typeof digits === 'string' ? BigInt(digits) : undefined;
};

/** A whole number of a config by the digits that people write. */
const wholeOf = (number: number): bigint => BigInt(number.toLocaleString('en', { useGrouping: false }));

const isEqual = (value: Json, digits: bigint | undefined, expected: Json): boolean => {
  if (digits === undefined) return JSON.stringify(value) === JSON.stringify(expected);
  return typeof expected === 'number' ? Number.isInteger(expected) && digits === wholeOf(expected) : expected === String(digits);
};

/** 1 above the limit, -1 below it, 0 at it; undefined for what is no number. */
const beside = (value: Json, digits: bigint | undefined, limit: number): number | undefined => {
  if (typeof value !== 'number') return undefined;
  const [one, other] = digits === undefined ? [value, limit] : [digits, Number.isInteger(limit) ? wholeOf(limit) : limit];
  return one > other ? 1 : one < other ? -1 : 0;
};

const holds = (value: Json, text: string): boolean =>
  typeof value === 'string' ? value.includes(text) : Array.isArray(value) && value.some((one) => one === text);

/** What is wrong, and what was seen there where that is not told by the cause. */
type Broken = { readonly cause: Cause; readonly saw?: Saw };
const broken = (why: Cause | undefined, saw?: Saw): Broken | undefined => why && { cause: why, ...(saw && { saw }) };

const jsonBroken = (assertion: JsonAssertion, document: Json, body: string): Broken | undefined => {
  const { words, equals, contains, gt, lt, exists } = assertion;
  const path = quoted(words);
  const value = atJsonPath(document, assertion.path);
  if (exists === false) return value === undefined ? undefined : broken(cause('json_present', { path }), { value });
  if (value === undefined) return broken(cause('json_missing', { path }));
  const digits = digitsAt(body, assertion.path, value);
  const mismatch = (problem: string, expected: Json) =>
    broken(cause('json_mismatch', { path, problem, expected: quoted(JSON.stringify(expected)) }), { value: digits?.toString() ?? value });
  if (equals !== undefined && !isEqual(value, digits, equals)) return mismatch('is not equal to', equals);
  if (contains !== undefined && !holds(value, contains)) return mismatch('does not contain', contains);
  if (gt !== undefined && beside(value, digits, gt) !== 1) return mismatch('is not greater than', gt);
  if (lt !== undefined && beside(value, digits, lt) !== -1) return mismatch('is not less than', lt);
  return undefined;
};

/** The first assertion about headers or body that does not hold. */
const assertionBroken = (settings: HttpsSettings, response: ResponseSeen, body: string): Broken | undefined => {
  for (const [header, text] of settings.header_contains) {
    const values = headerOf(response, header);
    if (values.length === 0) return broken(cause('header_missing', { header }));
    if (!values.some((value) => value.includes(text))) {
      const [value = '', ...more] = values;
      return broken(cause('header_mismatch', { header, text: quoted(text) }), { value: more.length === 0 ? value : values });
    }
  }
  const truncated = response.truncated ? 1 : 0;
  const lacking = settings.body_contains.find((text) => !body.includes(text));
  if (lacking !== undefined) return broken(cause('body_lacks', { text: quoted(lacking), truncated }));
  const unwanted = settings.body_not_contains.find((text) => body.includes(text));
  if (unwanted !== undefined) return broken(cause('body_has', { text: quoted(unwanted) }), { inBody: unwanted });
  const [untold] = settings.body_not_contains;
  if (untold !== undefined && response.truncated) return broken(cause('body_has_untold', { text: quoted(untold) }));
  if (settings.json.length === 0) return undefined;
  const document = truncated ? undefined : parsed(body);
  if (!document) return broken(cause('body_not_json', { truncated }));
  for (const assertion of settings.json) {
    const found = jsonBroken(assertion, document.json, body);
    if (found) return found;
  }
  return undefined;
};

const day = 86_400_000;

/** What is wrong with how long it took, or with how long the certificate lasts: judged last, when all else is well. */
const limitCause = (settings: HttpsSettings, seen: HttpsObservation): Cause | undefined => {
  const took_ms = Math.round(seen.phases.total ?? 0);
  if (settings.max_response_ms !== null && took_ms > settings.max_response_ms) {
    return cause('response_slow', { took_ms, limit_ms: settings.max_response_ms });
  }
  return settings.tls_expires_within_days === null ? undefined : expiryCause(settings.tls_expires_within_days, seen);
};

/** The certificate that ends first of all that had to be trusted on the way, if that is soon. */
const expiryCause = (within: number, seen: HttpsObservation): Cause | undefined => {
  let first: { readonly ends: number; readonly isIssuer: boolean; readonly hop: number } | undefined;
  for (const [hop, { tls }] of seen.hops.entries()) {
    const path = tls?.path() ?? [];
    const ends = path.length > 0 ? path : (tls?.valid_to ?? []);
    for (const [place, end] of [ends].flat().entries()) {
      if (first === undefined || end < first.ends) first = { ends: end, isIssuer: place > 0, hop };
    }
  }
  if (first === undefined || first.ends - seen.at >= within * day) return undefined;
  if (first.ends < seen.at) return cause('certificate_expired', { days: Math.floor((seen.at - first.ends) / day) });
  return cause('certificate_expires_soon', {
    days: Math.floor((first.ends - seen.at) / day),
    within,
    ...(first.isIssuer ? { whose: 'issuer' } : {}),
    ...(first.hop < seen.hops.length - 1 ? { redirect: first.hop + 1 } : {}),
  });
};

const responseBroken = (settings: HttpsSettings, seen: HttpsObservation, response: ResponseSeen, body: string): Broken | undefined => {
  const { status } = response;
  const expected = settings.expected.matches(status);
  if (!expected || !settings.expected_given) {
    const between = interference(response, body);
    if (between && (!expected || between.certain)) {
      return broken(cause(between.is === 'blocked' ? 'blocked_by_firewall' : 'origin_unreachable', { vendor: between.vendor, status }));
    }
  }
  if (!expected) return broken(cause('unexpected_status', { status, expected: quoted(settings.expected.words) }));
  return assertionBroken(settings, response, body) ?? broken(limitCause(settings, seen));
};

const redirectCause = (settings: HttpsSettings, seen: HttpsObservation, last: HopSeen): Cause | undefined => {
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
};

type Judged = { readonly outcome: 'ok' | 'fail' | 'unknown'; readonly cause: Cause | null; readonly saw?: Saw };
const fail = (why: Cause): Judged => ({ outcome: 'fail', cause: why });
const unknown = (name: string, params: Cause['params'] = {}): Judged => ({ outcome: 'unknown', cause: { class: name, params } });

const judged = (settings: HttpsSettings, seen: HttpsObservation, last: HopSeen, body: string): Judged => {
  if (last.failure) {
    if (last.failure.code === ownCodes.noFamily)
      return unknown('probe_no_family', { family: last.addresses.some((one) => one.includes(':')) ? 6 : 4 });
    if (last.failure.code === ownCodes.resolver) return unknown('probe_resolver');
    if (last.failure.code === ownCodes.memory) return unknown('probe_held_up');
    if (last.failure.code === ownCodes.ownLimit) return unknown('probe_may_not_reach');
    const why = failureCause(last.failure, last.tls, seen, settings.ip_family);
    return why ? fail(why) : unknown('probe_clock_wrong');
  }
  // By OpenSSL's clock it was still good when the probe's own runs behind; the corrected one decides.
  const expired = seen.hops.find(({ tls }) => tls?.valid_to !== null && tls !== null && tls.valid_to < seen.at);
  const old = settings.verify_tls && expired?.tls ? certificateCause(expired.tls, seen.at) : null;
  if (old) return fail(old);
  const astray = redirectCause(settings, seen, last);
  if (astray) return fail(astray);
  const wrong = last.response ? responseBroken(settings, seen, last.response, body) : broken(cause('response_missing'));
  return wrong ? { outcome: 'fail', ...wrong } : { outcome: 'ok', cause: null };
};

/** Judges an https check. Evidence is put together for failures, and for a success where it is wanted. */
export const judgeHttps = (settings: HttpsSettings, seen: HttpsObservation, evidenceWanted: boolean): Verdict => {
  const last = seen.hops.at(-1);
  if (!last) throw new Error('An https check without a hop cannot be judged');
  const reads = settings.body_contains.length + settings.body_not_contains.length + settings.json.length > 0;
  const head = (): string => (last.response ? textOf({ ...last.response, body: last.response.body.subarray(0, 4_096) }) : '');
  const body = last.response && reads ? textOf(last.response) : head();
  const { outcome, cause: why, saw } = judged(settings, seen, last, body);
  const evidence: Evidence = outcome !== 'ok' || evidenceWanted ? httpsEvidence(settings, seen, body, saw) : {};
  return { outcome, cause: why, phases: roundedPhases(seen.phases), evidence };
};
