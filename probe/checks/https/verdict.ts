import type { HttpsCause } from '../../../shared/checks/https/causes.ts';
import {
  atJsonPath,
  type HttpsSettings,
  type JsonAssertion,
} from '../../../shared/checks/https/config.ts';
import type { Cause, Evidence, Json, Phases, Verdict } from '../../../shared/checks/result.ts';
import {
  type HopFailure,
  type HopSeen,
  type HttpsObservation,
  httpsEvidence,
  ownCodes,
  type ResponseSeen,
  type Saw,
  type TlsSeen,
} from './evidence.ts';
import { interference } from './interference.ts';
import { firstEnd, httpsWarnings } from './warnings.ts';

/** Pure tables from codes of the system, the resolver and OpenSSL to the closed list of causes. */

const cause = (name: HttpsCause, params: Cause['params'] = {}): Cause => ({ class: name, params });

const byCode: Readonly<
  Record<
    HopFailure['phase'],
    { readonly codes: Readonly<Record<string, HttpsCause>>; readonly otherwise: HttpsCause }
  >
> = {
  dns: {
    codes: {
      ENOTFOUND: 'name_not_found',
      EBADNAME: 'name_not_found',
      ENODATA: 'name_without_address',
      EREFUSED: 'name_lookup_refused',
      ETIMEOUT: 'name_lookup_timed_out',
    },
    otherwise: 'name_servers_failed',
  },
  tcp: {
    codes: {
      [ownCodes.notPublic]: 'address_not_public',
      ECONNREFUSED: 'connection_refused',
      ECONNRESET: 'connection_reset',
      EHOSTUNREACH: 'host_unreachable',
      EHOSTDOWN: 'host_unreachable',
      ENETUNREACH: 'network_unreachable',
      EADDRNOTAVAIL: 'network_unreachable',
      ETIMEDOUT: 'host_unreachable',
    },
    otherwise: 'connection_failed',
  },
  tls: {
    codes: {
      ECONNRESET: 'tls_closed',
      EPIPE: 'tls_closed',
      [ownCodes.closed]: 'tls_closed',
      EPROTO: 'tls_not_spoken',
      ERR_SSL_WRONG_VERSION_NUMBER: 'tls_not_spoken',
      ERR_SSL_PACKET_LENGTH_TOO_LONG: 'tls_not_spoken',
      ERR_SSL_HTTP_REQUEST: 'tls_not_spoken',
      ERR_SSL_RECORD_LAYER_FAILURE: 'tls_not_spoken',
      ERR_SSL_UNSUPPORTED_PROTOCOL: 'tls_version',
      ERR_SSL_VERSION_TOO_LOW: 'tls_version',
      ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION: 'tls_version',
    },
    otherwise: 'tls_failed',
  },
  first_byte: {
    codes: {
      [ownCodes.closed]: 'response_missing',
      [ownCodes.malformed]: 'response_malformed',
      [ownCodes.headersTooLarge]: 'response_headers_too_large',
      [ownCodes.framingTooLarge]: 'response_framing_too_large',
      [ownCodes.incomplete]: 'response_incomplete',
    },
    otherwise: 'connection_reset',
  },
  head: {
    codes: {
      [ownCodes.malformed]: 'response_malformed',
      [ownCodes.headersTooLarge]: 'response_headers_too_large',
      [ownCodes.framingTooLarge]: 'response_framing_too_large',
    },
    otherwise: 'response_incomplete',
  },
  body: {
    codes: {
      [ownCodes.malformed]: 'response_malformed',
      [ownCodes.headersTooLarge]: 'response_headers_too_large',
      [ownCodes.framingTooLarge]: 'response_framing_too_large',
    },
    otherwise: 'response_incomplete',
  },
};

/** TLS alerts with which a server may end a handshake, in plain words. */
const alerts: Readonly<Record<string, string>> = {
  HANDSHAKE_FAILURE: 'no cipher or certificate in common',
  INSUFFICIENT_SECURITY: 'insufficient security',
  UNRECOGNIZED_NAME: 'unknown server name',
  CERTIFICATE_REQUIRED: 'it wants a client certificate',
  BAD_CERTIFICATE: 'it wants another client certificate',
  ACCESS_DENIED: 'access denied',
  INTERNAL_ERROR: 'its internal error',
  DECODE_ERROR: 'decode error',
  DECRYPT_ERROR: 'decrypt error',
  ILLEGAL_PARAMETER: 'illegal parameter',
  UNEXPECTED_MESSAGE: 'unexpected message',
  MISSING_EXTENSION: 'missing extension',
  UNSUPPORTED_EXTENSION: 'unsupported extension',
  USER_CANCELLED: 'cancelled',
};

const noProtocol = /^ERR_SSL_[A-Z0-9/_]*NO_APPLICATION_PROTOCOL$/;

/** A settings frame (RFC 9113): an HTTP/2 server begins with it, whatever the request was. */
const isHttp2 = (beginning: Uint8Array): boolean =>
  beginning.length >= 9 &&
  beginning[0] === 0 &&
  beginning.subarray(3, 9).every((byte, at) => byte === (at === 0 ? 4 : 0));

/**
 * OpenSSL's code of an alert, such as ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED, in words;
 * undefined when the server sent no such alert.
 */
const alertOf = (code: string): string | undefined => {
  const name = /^ERR_SSL_[A-Z0-9/_]*?(?:ALERT|TLSV1|TLSV13)_(?!ALERT_)([A-Z_]+)$/.exec(code)?.[1];
  return name !== undefined && Object.hasOwn(alerts, name) ? alerts[name] : undefined;
};

const nothing = new Uint8Array();
const day = 86_400_000;
const wholeDays = (ms: number): number => Math.floor(ms / day);

/**
 * What is wrong with a certificate, by the corrected time; null when OpenSSL's complaint can only
 * come from the probe's own clock.
 */
export const certificateCause = (tls: TlsSeen, at: number): Cause | null => {
  if (tls.valid_from === null || tls.valid_to === null) return cause('certificate_missing');
  if (at > tls.valid_to)
    return cause('certificate_expired', { days: wholeDays(at - tls.valid_to) });
  if (at < tls.valid_from) return cause('certificate_not_yet_valid');
  switch (tls.fault) {
    case null:
      return cause('certificate_wrong_host');
    case 'CERT_HAS_EXPIRED':
      return tls.chain().some(({ to }) => Date.parse(to) < at)
        ? cause('certificate_issuer_expired')
        : null;
    case 'CERT_NOT_YET_VALID':
      return tls.chain().some(({ from }) => Date.parse(from) > at)
        ? cause('certificate_invalid')
        : null;
    case 'DEPTH_ZERO_SELF_SIGNED_CERT':
      return cause('certificate_self_signed');
    case 'UNABLE_TO_VERIFY_LEAF_SIGNATURE':
    case 'UNABLE_TO_GET_ISSUER_CERT':
    case 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY':
      return cause(tls.sent > 1 ? 'certificate_untrusted' : 'certificate_chain_incomplete');
    case 'SELF_SIGNED_CERT_IN_CHAIN':
    case 'CERT_UNTRUSTED':
      return cause('certificate_untrusted');
    case 'CERT_REVOKED':
      return cause('certificate_revoked');
    default:
      return cause('certificate_invalid');
  }
};

/** The cause of a failed hop; null when the fault is the probe's own clock. */
export const failureCause = (
  failure: HopFailure,
  tls: TlsSeen | null,
  seen: HttpsObservation,
  family: string,
): Cause | null => {
  const { phase, code } = failure;
  if (code === ownCodes.deadline) return cause('timed_out', { limit_ms: seen.limit_ms, phase });
  if (code === ownCodes.clientCertificate)
    return cause('tls_alert', { alert: alerts.CERTIFICATE_REQUIRED ?? '' });
  if (code === ownCodes.certificate)
    return tls ? certificateCause(tls, seen.at) : cause('certificate_missing');
  // We offered HTTP/1.1 only.
  if (phase === 'tls' ? noProtocol.test(code) : isHttp2(seen.hops.at(-1)?.beginning ?? nothing))
    return cause('http2_only');
  const { codes, otherwise } = byCode[phase];
  const known = Object.hasOwn(codes, code) ? codes[code] : undefined;
  if (known === 'name_without_address') return cause(known, family === 'any' ? {} : { family });
  if (known !== undefined) return cause(known);
  const alert = phase === 'tls' || phase === 'first_byte' ? alertOf(code) : undefined;
  if (alert !== undefined) return cause('tls_alert', { alert });
  return cause(code.startsWith('ERR_SSL_') && phase === 'first_byte' ? 'tls_failed' : otherwise);
};

const maxQuoted = 100;
/** A text of the monitor's config as quoted in a sentence. */
const quoted = (text: string): string =>
  text.length > maxQuoted ? `${text.slice(0, maxQuoted).toWellFormed()}…` : text;

const tenths = (ms: number | null): number | null =>
  ms === null ? null : Math.round(ms * 10) / 10;
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

/** A byte order mark outranks any declared charset. */
const charsetOfMark = ([first, second, third]: Uint8Array): string | undefined => {
  if (first === 0xef && second === 0xbb && third === 0xbf) return 'utf-8';
  if (first === 0xfe && second === 0xff) return 'utf-16be';
  return first === 0xff && second === 0xfe ? 'utf-16le' : undefined;
};

/** Browsers search a page's own charset declaration in this many bytes. */
const prescanned = 1_024;

/**
 * The charset that an HTML or XML document declares. A document readable as ASCII is not UTF-16,
 * whatever it declares.
 */
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

/**
 * The body as text, in the charset of its mark, of the response or of the document itself, if we
 * support it.
 */
const textOf = (response: ResponseSeen): string => {
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
};

const parsed = (text: string): { readonly json: Json } | undefined => {
  try {
    return { json: JSON.parse(text) };
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
};

/**
 * The same document with its whole numbers as strings of digits: a JavaScript number holds only
 * about 15 digits.
 */
const inDigits = (text: string): string =>
  text.replaceAll(/"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g, (token) =>
    /^-?\d{16,}$/.test(token) ? `"${token}"` : token,
  );

/** The exact digits of a whole number in the document that is too long for a JavaScript number. */
const digitsAt = (text: string, path: JsonAssertion['path'], value: Json): bigint | undefined => {
  if (typeof value !== 'number' || !Number.isInteger(value) || Number.isSafeInteger(value))
    return undefined;
  const digits = atJsonPath(parsed(inDigits(text))?.json ?? null, path);
  return typeof digits === 'string' ? BigInt(digits) : undefined;
};

/** A whole number of a config, exact to the digits that people write. */
const wholeOf = (number: number): bigint =>
  BigInt(number.toLocaleString('en', { useGrouping: false }));

const isEqual = (value: Json, digits: bigint | undefined, expected: Json): boolean => {
  if (digits === undefined) return JSON.stringify(value) === JSON.stringify(expected);
  return typeof expected === 'number'
    ? Number.isInteger(expected) && digits === wholeOf(expected)
    : expected === String(digits);
};

/** 1 above the limit, -1 below it, 0 at it; undefined for anything that is not a number. */
const beside = (value: Json, digits: bigint | undefined, limit: number): number | undefined => {
  if (typeof value !== 'number') return undefined;
  const [one, other] =
    digits === undefined
      ? [value, limit]
      : [digits, Number.isInteger(limit) ? wholeOf(limit) : limit];
  return one > other ? 1 : one < other ? -1 : 0;
};

const holds = (value: Json, text: string): boolean =>
  typeof value === 'string'
    ? value.includes(text)
    : Array.isArray(value) && value.some((one) => one === text);

/** What is wrong, and what was found where the cause does not say it. */
type Broken = { readonly cause: Cause; readonly saw?: Saw };
const broken = (why: Cause | undefined, saw?: Saw): Broken | undefined =>
  why && { cause: why, ...(saw && { saw }) };

const jsonBroken = (assertion: JsonAssertion, document: Json, body: string): Broken | undefined => {
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
};

/** The first assertion about headers or body that does not hold. */
const assertionBroken = (
  settings: HttpsSettings,
  response: ResponseSeen,
  body: string,
): Broken | undefined => {
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
  if (settings.json.length === 0) return undefined;
  const document = truncated ? undefined : parsed(body);
  if (!document) return broken(cause('body_not_json', { truncated }));
  for (const assertion of settings.json) {
    const found = jsonBroken(assertion, document.json, body);
    if (found) return found;
  }
  return undefined;
};

/** Judges the duration and the certificate's lifetime, last, when all else passed. */
const limitCause = (settings: HttpsSettings, seen: HttpsObservation): Cause | undefined => {
  const { max_response_ms, tls_expires_within_days, fail_on } = settings;
  const took_ms = Math.round(seen.phases.total ?? 0);
  if (fail_on.includes('slow') && max_response_ms !== null && took_ms > max_response_ms)
    return cause('response_slow', { took_ms, limit_ms: max_response_ms });
  return fail_on.includes('certificate') && tls_expires_within_days !== null
    ? expiryCause(tls_expires_within_days, seen)
    : undefined;
};

/** What is wrong with the certificate that expires first, if that is soon. */
const expiryCause = (within: number, seen: HttpsObservation): Cause | undefined => {
  const first = firstEnd(seen.hops, true);
  if (first === undefined || first.ends_at - seen.at >= within * day) return undefined;
  if (first.ends_at < seen.at)
    return cause('certificate_expired', { days: Math.floor((seen.at - first.ends_at) / day) });
  return cause('certificate_expires_soon', {
    days: Math.floor((first.ends_at - seen.at) / day),
    within,
    ...(first.isIssuer ? { whose: 'issuer' } : {}),
    ...(first.hop < seen.hops.length - 1 ? { redirect: first.hop + 1 } : {}),
  });
};

const responseBroken = (
  settings: HttpsSettings,
  seen: HttpsObservation,
  response: ResponseSeen,
  body: string,
): Broken | undefined => {
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
  if (!expected)
    return broken(
      cause('unexpected_status', { status, expected: quoted(settings.expected.words) }),
    );
  return assertionBroken(settings, response, body) ?? broken(limitCause(settings, seen));
};

const redirectCause = (
  settings: HttpsSettings,
  seen: HttpsObservation,
  last: HopSeen,
): Cause | undefined => {
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

type Judged = {
  readonly outcome: 'ok' | 'fail' | 'unknown';
  readonly cause: Cause | null;
  readonly saw?: Saw;
};
const fail = (why: Cause): Judged => ({ outcome: 'fail', cause: why });
const unknown = (name: string, params: Cause['params'] = {}): Judged => ({
  outcome: 'unknown',
  cause: { class: name, params },
});

const judged = (
  settings: HttpsSettings,
  seen: HttpsObservation,
  last: HopSeen,
  body: string,
): Judged => {
  if (last.failure) {
    if (last.failure.code === ownCodes.noFamily)
      return unknown('probe_no_family', {
        family: last.addresses.some((one) => one.includes(':')) ? 6 : 4,
      });
    if (last.failure.code === ownCodes.resolver) return unknown('probe_resolver');
    if (last.failure.code === ownCodes.memory) return unknown('probe_held_up');
    if (last.failure.code === ownCodes.ownLimit) return unknown('probe_may_not_reach');
    const why = failureCause(last.failure, last.tls, seen, settings.ip_family);
    return why ? fail(why) : unknown('probe_clock_wrong');
  }
  // When the probe's own clock is slow, OpenSSL still accepted the certificate. The corrected clock
  // decides.
  const expired = seen.hops.find(
    ({ tls }) => tls?.valid_to !== null && tls !== null && tls.valid_to < seen.at,
  );
  const old = settings.verify_tls && expired?.tls ? certificateCause(expired.tls, seen.at) : null;
  if (old) return fail(old);
  const astray = redirectCause(settings, seen, last);
  if (astray) return fail(astray);
  const wrong = last.response
    ? responseBroken(settings, seen, last.response, body)
    : broken(cause('response_missing'));
  return wrong ? { outcome: 'fail', ...wrong } : { outcome: 'ok', cause: null };
};

/**
 * Judges an https check. Builds evidence for failures, and for a success when wanted, and warnings
 * for a success.
 */
export const judgeHttps = (
  settings: HttpsSettings,
  seen: HttpsObservation,
  evidenceWanted: boolean,
): Verdict => {
  const last = seen.hops.at(-1);
  if (!last) throw new Error('An https check without a hop cannot be judged');
  const reads =
    settings.body_contains.length + settings.body_not_contains.length + settings.json.length > 0;
  const head = (): string =>
    last.response ? textOf({ ...last.response, body: last.response.body.subarray(0, 4_096) }) : '';
  const body = last.response && reads ? textOf(last.response) : head();
  const { outcome, cause: why, saw } = judged(settings, seen, last, body);
  const evidence: Evidence =
    outcome !== 'ok' || evidenceWanted ? httpsEvidence(settings, seen, body, saw) : {};
  const verdict = { outcome, cause: why, phases: roundedPhases(seen.phases), evidence };
  const warnings = outcome === 'ok' ? httpsWarnings(settings, seen) : [];
  return warnings.length > 0 ? { ...verdict, warnings } : verdict;
};
