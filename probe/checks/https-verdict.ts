import type { Cause } from '../../shared/checks/cause.ts';
import type { HttpsCause } from '../../shared/checks/https/causes.ts';
import { atJsonPath } from '../../shared/checks/https/json-path.ts';
import type { HttpsSettings, JsonAssertion } from '../../shared/checks/https/settings.ts';
import type { Evidence, Json, Phases, Verdict } from '../../shared/checks/result.ts';
import { interference } from './https-block-pages.ts';
import { httpsEvidence } from './https-evidence.ts';
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

/** The body as text, in the charset that the response names, if it is one that we know. */
const textOf = (response: ResponseSeen): string => {
  if (response.body.length === 0) return '';
  const charset = /charset\s*=\s*"?([\w.:-]{1,40})/i.exec(headerOf(response, 'content-type')[0] ?? '')?.[1];
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

const holds = (value: Json, text: string): boolean =>
  typeof value === 'string' ? value.includes(text) : Array.isArray(value) && value.some((one) => one === text);

const jsonCause = (assertion: JsonAssertion, document: Json): Cause | undefined => {
  const { words, equals, contains, gt, lt, exists } = assertion;
  const path = quoted(words);
  const value = atJsonPath(document, assertion.path);
  if (exists === false) return value === undefined ? undefined : cause('json_present', { path });
  if (value === undefined) return cause('json_missing', { path });
  const mismatch = (problem: string, expected: Json) =>
    cause('json_mismatch', { path, problem, expected: quoted(JSON.stringify(expected)) });
  if (equals !== undefined && JSON.stringify(value) !== JSON.stringify(equals)) return mismatch('is not equal to', equals);
  if (contains !== undefined && !holds(value, contains)) return mismatch('does not contain', contains);
  if (gt !== undefined && !(typeof value === 'number' && value > gt)) return mismatch('is not greater than', gt);
  if (lt !== undefined && !(typeof value === 'number' && value < lt)) return mismatch('is not less than', lt);
  return undefined;
};

/** The first assertion about headers or body that does not hold. */
const assertionCause = (settings: HttpsSettings, response: ResponseSeen, body: string): Cause | undefined => {
  for (const [header, text] of settings.header_contains) {
    const values = headerOf(response, header);
    if (values.length === 0) return cause('header_missing', { header });
    if (!values.some((value) => value.includes(text))) return cause('header_mismatch', { header, text: quoted(text) });
  }
  const truncated = response.truncated ? 1 : 0;
  const lacking = settings.body_contains.find((text) => !body.includes(text));
  if (lacking !== undefined) return cause('body_lacks', { text: quoted(lacking), truncated });
  const unwanted = settings.body_not_contains.find((text) => body.includes(text));
  if (unwanted !== undefined) return cause('body_has', { text: quoted(unwanted) });
  if (settings.json.length === 0) return undefined;
  const document = truncated ? undefined : parsed(body);
  if (!document) return cause('body_not_json', { truncated });
  for (const assertion of settings.json) {
    const broken = jsonCause(assertion, document.json);
    if (broken) return broken;
  }
  return undefined;
};

const day = 86_400_000;

/** What is wrong with how long it took, or with how long the certificate lasts: judged last, when all else is well. */
const limitCause = (settings: HttpsSettings, seen: HttpsObservation, last: HopSeen): Cause | undefined => {
  const took_ms = Math.round(seen.phases.total ?? 0);
  if (settings.max_response_ms !== null && took_ms > settings.max_response_ms) {
    return cause('response_slow', { took_ms, limit_ms: settings.max_response_ms });
  }
  const ends = last.tls?.valid_to ?? null;
  const within = settings.tls_expires_within_days;
  if (within !== null && ends !== null && ends - seen.at < within * day) {
    if (ends < seen.at) return cause('certificate_expired', { days: Math.floor((seen.at - ends) / day) });
    return cause('certificate_expires_soon', { days: Math.floor((ends - seen.at) / day), within });
  }
  return undefined;
};

const responseCause = (
  settings: HttpsSettings,
  seen: HttpsObservation,
  last: HopSeen,
  response: ResponseSeen,
  body: string,
): Cause | undefined => {
  const { status } = response;
  const expected = settings.expected.matches(status);
  if (!expected || !settings.expected_given) {
    const between = interference(response, body);
    if (between && (!expected || between.certain)) {
      return cause(between.is === 'blocked' ? 'blocked_by_firewall' : 'origin_unreachable', { vendor: between.vendor, status });
    }
  }
  if (!expected) return cause('unexpected_status', { status, expected: quoted(settings.expected.words) });
  return assertionCause(settings, response, body) ?? limitCause(settings, seen, last);
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

type Judged = { readonly outcome: 'ok' | 'fail' | 'unknown'; readonly cause: Cause | null };
const fail = (why: Cause): Judged => ({ outcome: 'fail', cause: why });
const unknown = (name: string, params: Cause['params'] = {}): Judged => ({ outcome: 'unknown', cause: { class: name, params } });

const judged = (settings: HttpsSettings, seen: HttpsObservation, last: HopSeen, body: string): Judged => {
  if (last.failure) {
    if (last.failure.code === ownCodes.noFamily)
      return unknown('probe_no_family', { family: last.addresses.some((one) => one.includes(':')) ? 6 : 4 });
    if (last.failure.code === ownCodes.resolver) return unknown('probe_resolver');
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
  const wrong = last.response ? responseCause(settings, seen, last, last.response, body) : cause('response_missing');
  return wrong ? fail(wrong) : { outcome: 'ok', cause: null };
};

/** Judges an https check. Evidence is put together for failures, and for a success where it is wanted. */
export const judgeHttps = (settings: HttpsSettings, seen: HttpsObservation, evidenceWanted: boolean): Verdict => {
  const last = seen.hops.at(-1);
  if (!last) throw new Error('An https check without a hop cannot be judged');
  const reads = settings.body_contains.length + settings.body_not_contains.length + settings.json.length > 0;
  const head = (): string => (last.response ? textOf({ ...last.response, body: last.response.body.subarray(0, 4_096) }) : '');
  const body = last.response && reads ? textOf(last.response) : head();
  const { outcome, cause: why } = judged(settings, seen, last, body);
  const evidence: Evidence = outcome !== 'ok' || evidenceWanted ? httpsEvidence(settings, seen, body) : {};
  return { outcome, cause: why, phases: roundedPhases(seen.phases), evidence };
};
