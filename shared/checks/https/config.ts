import { z } from 'zod';
import type { Config } from '../assignment.ts';
import {
  type ClientCertificate,
  clientCertificateFault,
  maxClientCertificate,
  readClientCertificate,
} from '../connection/client-certificate.ts';
import {
  asFlag,
  asNumber,
  asText,
  type ConnectionSettings,
  connectionSchemas,
  connectionSettings,
  given,
  limitFaults,
  someOf,
  urlIn,
  urlTarget,
} from '../connection/config.ts';
import {
  asPairs,
  headerFaults,
  headerMap,
  headerName,
  headerNames,
  secretHeaderPaths,
  secretHeaderValues,
} from '../connection/headers.ts';
import { httpsFailures } from '../connection/keys.ts';
import {
  type ConfigContext,
  type ConfigFault,
  everyKindSchemas,
  type KeySchemas,
  type KindConfig,
} from '../kind-config.ts';
import { patternFault } from '../patterns/program.ts';
import { maxPattern } from '../patterns/syntax.ts';
import type { Json } from '../result.ts';
import { bodyKeys, httpsFamilies, type httpsKeys, methods, reservedHeaders } from './keys.ts';

/** One form of expected statuses: a number, a range "200-299" or a class "2xx". */
const range = /^([1-5]\d\d)\s*-\s*([1-5]\d\d)$/;
const ofClass = /^[1-5]xx$/i;

/** The same for the document, whose readers cannot run `bounds`. */
const told = z.union([
  z.number().meta({ minimum: 100, maximum: 599 }),
  z.string().meta({ pattern: '^[1-5](?:[0-9]{2}(?: ?- ?[1-5][0-9]{2})?|[xX]{2})$' }),
]);

const expectedStatusSchema = z
  .array(told.refine((entry) => bounds(entry) !== undefined))
  .min(1)
  .max(30);

function bounds(entry: string | number): readonly [number, number] | undefined {
  const text = String(entry).trim();
  if (/^[1-5]\d\d$/.test(text)) return [Number(text), Number(text)];
  if (ofClass.test(text)) return [Number(text[0]) * 100, Number(text[0]) * 100 + 99];
  const [, from, to] = range.exec(text) ?? [];
  return from !== undefined && to !== undefined && Number(from) <= Number(to)
    ? [Number(from), Number(to)]
    : undefined;
}

/** Which statuses are expected, and how a cause words them. */
type ExpectedStatus = {
  readonly matches: (status: number) => boolean;
  readonly words: string;
};

export function expectedStatus(entries: readonly (string | number)[]): ExpectedStatus {
  const ranges = entries.flatMap((entry) => {
    const pair = bounds(entry);
    return pair ? [pair] : [];
  });
  return {
    matches: (status) => ranges.some(([from, to]) => status >= from && status <= to),
    words: entries.map((entry) => String(entry).trim().toLowerCase()).join(', '),
  };
}

/** A path into a JSON document: names and indices; a negative index counts from the end. */
type JsonPath = readonly (string | number)[];

const maxSteps = 32;
const step =
  /\.?([A-Za-z_$][\w$-]*)|\.?\[(-?\d{1,9})\]|\.?\[(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)')\]|\.(\d{1,9})/y;

/** Reads `$.a.b[0]["odd name"]`; `$.` at the start is optional. Undefined when it is invalid. */
export function parseJsonPath(text: string): JsonPath | undefined {
  const path: (string | number)[] = [];
  let at =
    text.startsWith('$') && (text.length === 1 || text[1] === '.' || text[1] === '[') ? 1 : 0;
  if (at === text.length) return at === 1 ? path : undefined;
  while (at < text.length) {
    step.lastIndex = at;
    const found = step.exec(text);
    if (!found || path.length === maxSteps) return undefined;
    const [whole, name, index, double, single, dotted] = found;
    // The first step needs no dot, each later name needs one.
    if (name !== undefined && whole[0] !== '.' && at !== 0) return undefined;
    const quoted = double ?? single;
    if (name !== undefined) path.push(name);
    else if (quoted !== undefined) path.push(quoted.replaceAll(/\\(.)/g, '$1'));
    else path.push(Number(index ?? dotted));
    at += whole.length;
  }
  return path;
}

/**
 * The document's value at a path; undefined where there is none. `length` of a list or text is its
 * length.
 */
export function atJsonPath(document: Json, path: JsonPath): Json | undefined {
  let value: Json | undefined = document;
  for (const key of path) {
    if (value === undefined || value === null) return undefined;
    if (Array.isArray(value))
      value = typeof key === 'number' ? value.at(key) : key === 'length' ? value.length : undefined;
    else if (typeof value === 'object') value = member(value, String(key));
    else value = typeof value === 'string' && key === 'length' ? value.length : undefined;
  }
  return value;
}

function member(object: object, key: string): Json | undefined {
  return Object.hasOwn(object, key)
    ? Object.getOwnPropertyDescriptor(object, key)?.value
    : undefined;
}

type Method = (typeof methods)[number];

// The document shows this pattern, and every language reads \x00.
// biome-ignore lint/suspicious/noControlCharactersInRegex: refuses NUL.
const noLineBreak = /^[^\r\n\x00]*$/;
const text = z.string().min(1).max(1_024);
const texts = z.union([text, z.array(text).min(1).max(20)]);
const pattern = z.string().min(1).max(maxPattern);
const patterns = z.union([pattern, z.array(pattern).min(1).max(20)]);

const scalar = z.union([z.string().max(1_024), z.number(), z.boolean(), z.null()]);

const jsonOperators = ['equals', 'contains', 'gt', 'lt', 'exists'] as const;

const jsonAssertion = z
  .strictObject({
    path: z
      .string()
      .max(512)
      .refine((path) => parseJsonPath(path) !== undefined),
    equals: scalar.optional(),
    contains: z.string().max(1_024).optional(),
    gt: z.number().optional(),
    lt: z.number().optional(),
    exists: z.boolean().optional(),
  })
  .refine((one) => jsonOperators.some((operator) => one[operator] !== undefined));

/** The schemas of the keys. Preparing a check parses `expected_status` and `json` once more. */
const schemas = {
  ...everyKindSchemas,
  method: z.enum(methods),
  headers: headerMap(50).refine((map) =>
    Object.keys(map).every((name) => !reservedHeaders.includes(name.toLowerCase())),
  ),
  secret_headers: z.array(headerName).max(50),
  body: z.string(),
  expected_status: expectedStatusSchema,
  follow_redirects: z.boolean(),
  max_redirects: z.int().min(0).max(10),
  body_contains: texts,
  body_not_contains: texts,
  body_matches: patterns,
  body_not_matches: patterns,
  json: z.array(jsonAssertion).min(1).max(20),
  header_contains: ofHeaders(),
  header_matches: ofHeaders(pattern),
  header_not_matches: ofHeaders(pattern),
  verify_tls: connectionSchemas.verify_tls,
  tls_expires_within_days: connectionSchemas.tls_expires_within_days,
  ip_family: z.union([z.enum(httpsFamilies), z.literal([4, 6])]),
  basic_auth: z.strictObject({
    username: z
      .string()
      .max(256)
      // biome-ignore lint/suspicious/noControlCharactersInRegex: as above.
      .regex(/^[^:\r\n\x00]*$/),
    password: z.string().max(1_024).regex(noLineBreak),
  }),
  bearer_token: z
    .string()
    .min(1)
    .max(4_096)
    .regex(/^[\x21-\x7e]+$/),
  client_certificate: z.string().min(1).max(maxClientCertificate),
  max_response_ms: connectionSchemas.max_response_ms,
  warn: connectionSchemas.warn,
  fail_on: someOf(httpsFailures),
} satisfies KeySchemas<keyof typeof httpsKeys>;

/** Header names with what each must have. */
function ofHeaders(value?: z.ZodString) {
  return headerMap(20, value)
    .refine((map) => Object.keys(map).length > 0)
    .meta({ minProperties: 1, maxProperties: 20 });
}

export const httpsConfig: KindConfig = {
  schemas,
  clashes,
  secretPaths: (config) => {
    return [
      ['basic_auth', 'password'],
      ['bearer_token'],
      ['client_certificate'],
      ...secretHeaderPaths(config),
    ];
  },
};

function clashes(config: Config, { target, interval_s }: ConfigContext): ConfigFault[] {
  const faults: ConfigFault[] = [];
  const method = config.method ?? 'GET';
  const names = headerNames(config, 'headers').map((name) => name.toLowerCase());
  const say = (key: string, remedy: string) => faults.push({ key, remedy });
  if (given(config, 'body') && (method === 'GET' || method === 'HEAD'))
    say('body', `set \`method\` to POST, PUT or PATCH; ${method} sends no body`);
  faults.push(...headerFaults(config));
  const expected = config.expected_status;
  if (
    Array.isArray(expected) &&
    config.follow_redirects !== false &&
    expected.every((one) => /^30[12378]$/.test(String(one)))
  ) {
    say(
      'follow_redirects',
      'set it to false to see the redirect itself; otherwise redirects are followed and the last status is judged',
    );
  }
  const credentials = [
    given(config, 'basic_auth'),
    given(config, 'bearer_token'),
    names.includes('authorization'),
  ];
  if (credentials.filter(Boolean).length > 1) {
    say(
      given(config, 'bearer_token') ? 'bearer_token' : 'basic_auth',
      'keep one of `basic_auth`, `bearer_token` and an Authorization header',
    );
  }
  const host = httpsUrl(target)?.hostname ?? '';
  if (config.ip_family === 'both' && /^(?:\[.*\]|\d+(?:\.\d+){3})$/.test(host))
    say('ip_family', 'use a target with a name; an address has one family');
  const certificate = config.client_certificate;
  if (typeof certificate === 'string') {
    const fault = /^http:/i.test(target)
      ? 'use an https:// target; no other asks for a certificate'
      : clientCertificateFault(certificate);
    if (fault !== undefined) say('client_certificate', fault);
  }
  faults.push(...patternFaults(config));
  const judgesBody = bodyKeys.find((key) => given(config, key));
  if (method === 'HEAD' && judgesBody !== undefined)
    say(judgesBody, 'set `method` to GET; HEAD brings no body to judge');
  if (losesDigits(config))
    say(
      'json',
      'a whole number beyond 9,007,199,254,740,991 must be text: `equals: "12345678901234567890"`',
    );
  faults.push(...limitFaults(config, interval_s));
  if (
    given(config, 'tls_expires_within_days') &&
    /^http:/i.test(target) &&
    config.follow_redirects === false
  ) {
    say('tls_expires_within_days', 'use an https:// target; an http:// one shows no certificate');
  }
  return faults;
}

/** Patterns that cannot be used, each with what to do about it. */
function patternFaults(config: Config): ConfigFault[] {
  const given = [
    ...(['body_matches', 'body_not_matches'] as const).flatMap((key) =>
      asTexts(config[key]).map((source, index) => ({
        key: Array.isArray(config[key]) ? `${key}[${index}]` : key,
        source,
      })),
    ),
    ...(['header_matches', 'header_not_matches'] as const).flatMap((key) =>
      asPairs(config[key]).map(([name, source]) => ({ key: `${key}.${name}`, source })),
    ),
  ];
  return given.flatMap(({ key, source }) => {
    const remedy = patternFault(source);
    return remedy === undefined ? [] : [{ key, remedy }];
  });
}

/**
 * Whether an assertion has a whole number that a JavaScript number cannot hold: its last digits are
 * not what the user wrote.
 */
function losesDigits(config: Config): boolean {
  return (Array.isArray(config.json) ? config.json : []).some((one) => {
    const equals =
      typeof one === 'object' && one !== null && !Array.isArray(one) ? one.equals : undefined;
    return typeof equals === 'number' && Number.isInteger(equals) && !Number.isSafeInteger(equals);
  });
}

export type JsonAssertion = {
  readonly path: JsonPath;
  /** The path as the config has it, for causes. */
  readonly words: string;
  readonly equals: Json | undefined;
  readonly contains: string | undefined;
  readonly gt: number | undefined;
  readonly lt: number | undefined;
  readonly exists: boolean | undefined;
};

/** An https config as the check uses it: every key with its value or default. */
export type HttpsSettings = ConnectionSettings & {
  readonly method: Method;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: string | null;
  readonly credentials: string | null;
  readonly expected: ExpectedStatus;
  /**
   * Whether the owner set expected statuses other than the default: then even a block page's status
   * may be expected.
   */
  readonly expected_given: boolean;
  readonly follow_redirects: boolean;
  readonly max_redirects: number;
  readonly body_contains: readonly string[];
  readonly body_not_contains: readonly string[];
  readonly body_matches: readonly string[];
  readonly body_not_matches: readonly string[];
  readonly json: readonly JsonAssertion[];
  readonly header_contains: readonly (readonly [name: string, text: string])[];
  readonly header_matches: readonly (readonly [name: string, pattern: string])[];
  readonly header_not_matches: readonly (readonly [name: string, pattern: string])[];
  readonly judges_body: boolean;
  /** Shown to the monitor's own origin alone. */
  readonly client_certificate: ClientCertificate | null;
  /** Whether IPv4 and IPv6 must each answer; `ip_family` then says which one a check is made by. */
  readonly both_families: boolean;
  /** Texts that evidence must never contain, whoever echoes them. */
  readonly secrets: readonly string[];
};

function asTexts(json: Json | undefined): string[] {
  return asList(json).filter((one) => typeof one === 'string');
}

function asList(json: Json | undefined): readonly Json[] {
  return Array.isArray(json) ? json : json === undefined || json === null ? [] : [json];
}

/** The expected status by default; setting it explicitly changes nothing. */
const usual = '2xx';

/** Reads a config that `configFaults` accepted, with its secrets in plain form. */
export function httpsSettings(config: Config): HttpsSettings {
  const basic = asPairs(config.basic_auth);
  const [username, password] = ['username', 'password'].map(
    (key) => basic.find(([name]) => name === key)?.[1] ?? '',
  );
  const bearer = asText(config.bearer_token);
  const certificate = asText(config.client_certificate);
  const basicCredentials = basic.length > 0 ? base64(`${username}:${password}`) : undefined;
  const headers = asPairs(config.headers);
  const expected = asList(config.expected_status).filter(
    (one) => typeof one === 'string' || typeof one === 'number',
  );
  return {
    method: methods.find((method) => method === config.method) ?? 'GET',
    headers,
    body: asText(config.body) ?? null,
    credentials:
      basicCredentials !== undefined
        ? `Basic ${basicCredentials}`
        : bearer !== undefined
          ? `Bearer ${bearer}`
          : null,
    expected: expectedStatus(expected.length > 0 ? expected : [usual]),
    expected_given:
      expected.length > 0 &&
      !(expected.length === 1 && String(expected[0]).trim().toLowerCase() === usual),
    follow_redirects: asFlag(config.follow_redirects, true),
    max_redirects: asNumber(config.max_redirects) ?? 5,
    body_contains: asTexts(config.body_contains),
    body_not_contains: asTexts(config.body_not_contains),
    body_matches: asTexts(config.body_matches),
    body_not_matches: asTexts(config.body_not_matches),
    json: assertions(config.json),
    header_contains: asPairs(config.header_contains),
    header_matches: asPairs(config.header_matches),
    header_not_matches: asPairs(config.header_not_matches),
    judges_body: bodyKeys.some((key) => asList(config[key]).length > 0),
    client_certificate: certificate === undefined ? null : readClientCertificate(certificate),
    ...connectionSettings(config),
    both_families: config.ip_family === 'both',
    secrets: [
      password ?? '',
      basicCredentials ?? '',
      bearer ?? '',
      ...secretHeaderValues(config),
    ].filter((secret) => secret.length >= 4),
  };
}

function base64(text: string): string {
  return btoa(String.fromCharCode(...new TextEncoder().encode(text)));
}

function assertions(json: Json | undefined): JsonAssertion[] {
  return asList(json).flatMap((one) => {
    if (typeof one !== 'object' || one === null || Array.isArray(one)) return [];
    const entry: { readonly [key: string]: Json } = Object.fromEntries(Object.entries(one));
    const words = asText(entry.path) ?? '$';
    const path = parseJsonPath(words);
    if (!path) return [];
    const exists = typeof entry.exists === 'boolean' ? entry.exists : undefined;
    return [
      {
        path,
        words,
        equals: entry.equals,
        contains: asText(entry.contains),
        gt: asNumber(entry.gt),
        lt: asNumber(entry.lt),
        exists,
      },
    ];
  });
}

/** The address of an https check, if its target can be checked. */
export function httpsUrl(target: string): URL | undefined {
  return urlIn(/^https?:\/\/[^/\\?#]/i, target);
}

export const httpsTarget = urlTarget(httpsUrl, {
  whole: 'http:// or https:// address, such as https://example.com/health',
  login: 'basic authentication',
});
