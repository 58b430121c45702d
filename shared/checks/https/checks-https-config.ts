import { z } from 'zod';
import type { Config } from '../checks-assignment.ts';
import { mask } from '../checks-config-secrets.ts';
import {
  type ConfigContext,
  type ConfigFault,
  everyKindSchemas,
  type KeySchemas,
  type KindConfig,
  keyFaults,
  timeoutMs,
  valueAt,
} from '../checks-kind-config.ts';
import { expectedStatusSchema } from './checks-https-expected-status.ts';
import { parseJsonPath } from './checks-https-json-path.ts';
import { httpsKeys, ipFamilies, methods, reservedHeaders, secretByNature } from './checks-https-keys.ts';

export type Method = (typeof methods)[number];

const headerName = z
  .string()
  .max(100)
  .regex(/^[!#$%&'*+\-.^_\x60|~0-9A-Za-z]+$/);
/** Visible ASCII and latin-1, as a header line can carry it; never a line break. */
const headerValue = z
  .string()
  .max(4_096)
  .regex(/^[\t\x20-\x7e\x80-\xff]*$/);
// biome-ignore lint/suspicious/noControlCharactersInRegex: a zero that every language reads so; the document shows the pattern.
const noLineBreak = /^[^\r\n\x00]*$/;
const text = z.string().min(1).max(1_024);
const texts = z.union([text, z.array(text).min(1).max(20)]);
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

/** What a refinement asks is told beside it, for the document. */
const headerMap = (most: number) =>
  z
    .record(headerName, headerValue)
    .refine((map) => Object.keys(map).length <= most)
    .meta({ maxProperties: most });

/** The shapes of the keys. `expected_status` and `json` are read once more when the check is prepared. */
const schemas = {
  ...everyKindSchemas,
  method: z.enum(methods),
  headers: headerMap(50).refine((map) => Object.keys(map).every((name) => !reservedHeaders.includes(name.toLowerCase()))),
  secret_headers: z.array(headerName).max(50),
  body: z.string(),
  expected_status: expectedStatusSchema,
  follow_redirects: z.boolean(),
  max_redirects: z.int().min(0).max(10),
  body_contains: texts,
  body_not_contains: texts,
  json: z.array(jsonAssertion).min(1).max(20),
  header_contains: headerMap(20)
    .refine((map) => Object.keys(map).length > 0)
    .meta({ minProperties: 1, maxProperties: 20 }),
  verify_tls: z.boolean(),
  tls_expires_within_days: z.int().min(0).max(365),
  ip_family: z.union([z.enum(ipFamilies), z.literal([4, 6])]),
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
  max_response_ms: z.int().min(1).max(60_000),
} satisfies KeySchemas<keyof typeof httpsKeys>;

const given = (config: Config, key: string): boolean => config[key] !== undefined && config[key] !== null;

const headerNames = (config: Config, key: string): string[] => {
  const headers = config[key];
  return typeof headers === 'object' && headers !== null && !Array.isArray(headers) ? Object.keys(headers) : [];
};

const secretHeaders = (config: Config): string[] => {
  const list = config.secret_headers;
  return Array.isArray(list) ? list.filter((name) => typeof name === 'string').map((name) => name.toLowerCase()) : [];
};

const secretName =
  /(?:^|[-_])(?:password|passwd|pwd|auth|credentials?|cookie|session|signature|(?:api|access|auth|client|license|private|secret|session)?(?:keys?|tokens?|secrets?))(?:[-_]|$)/i;
/** A scheme of authentication, or a long word of letters and digits as no one types it. */
const secretValue = /^(?:bearer|basic|token)\s+\S|^(?=.*\d)(?=.*[a-z])[\w+/=.~-]{20,}$/i;
/** Headers of any request: a long value of theirs is a media type or a date, such as `application/vnd.github.v3+json`. */
const ordinaryName = /^(?:accept|accept-.*|cache-control|content-.*|if-.*|origin|prefer|range|referer|x-requested-with)$/i;

const looksSecret = (config: Config, name: string): boolean => {
  const value = valueAt(config, ['headers', name]);
  // What is stored apart already stays so.
  return secretName.test(name) || value === mask || (typeof value === 'string' && !ordinaryName.test(name) && secretValue.test(value));
};

/** Whether a header's value is a secret: it is named as one, is one by its nature, or looks like one. */
export const isSecretHeader = (config: Config): ((name: string) => boolean) => {
  const secret = new Set([...secretHeaders(config), ...secretByNature]);
  return (name) => secret.has(name.toLowerCase()) || looksSecret(config, name);
};

/** Whether an assertion names a whole number that a number of ours cannot hold: its last digits are not what somebody wrote. */
const losesDigits = (config: Config): boolean =>
  (Array.isArray(config.json) ? config.json : []).some((one) => {
    const equals = typeof one === 'object' && one !== null && !Array.isArray(one) ? one.equals : undefined;
    return typeof equals === 'number' && Number.isInteger(equals) && !Number.isSafeInteger(equals);
  });

/** What is wrong between keys that are each in order. */
const clashes = (config: Config, { target, interval_s }: ConfigContext): ConfigFault[] => {
  const faults: ConfigFault[] = [];
  const method = config.method ?? 'GET';
  const names = headerNames(config, 'headers').map((name) => name.toLowerCase());
  const say = (key: string, remedy: string) => faults.push({ key, remedy });
  if (given(config, 'body') && (method === 'GET' || method === 'HEAD'))
    say('body', `set \`method\` to POST, PUT or PATCH; ${method} sends no body`);
  if (new Set(names).size !== names.length) say('headers', 'name each header once; upper and lower case are the same');
  const expected = config.expected_status;
  if (Array.isArray(expected) && config.follow_redirects !== false && expected.every((one) => /^30[12378]$/.test(String(one)))) {
    say('follow_redirects', 'set it to false to see the redirect itself; otherwise redirects are followed and the last status is judged');
  }
  const missing = secretHeaders(config).filter((name) => !names.includes(name));
  if (missing.length > 0) say('secret_headers', 'name only headers that `headers` has');
  const credentials = [given(config, 'basic_auth'), given(config, 'bearer_token'), names.includes('authorization')];
  if (credentials.filter(Boolean).length > 1) {
    say(
      given(config, 'bearer_token') ? 'bearer_token' : 'basic_auth',
      'keep one of `basic_auth`, `bearer_token` and an Authorization header',
    );
  }
  const judgesBody = ['body_contains', 'body_not_contains', 'json'].find((key) => given(config, key));
  if (method === 'HEAD' && judgesBody !== undefined) say(judgesBody, 'set `method` to GET; HEAD brings no body to judge');
  if (losesDigits(config)) say('json', 'give a whole number beyond 9,007,199,254,740,991 as text: `equals: "12345678901234567890"`');
  // The check is over by then, so that nothing slower could ever be told from no answer at all.
  const limit = timeoutMs(config, interval_s);
  if (typeof config.max_response_ms === 'number' && config.max_response_ms > limit)
    say('max_response_ms', `stay at or below the time limit of ${limit.toLocaleString('en')} ms, or give a longer \`timeout_ms\``);
  if (given(config, 'tls_expires_within_days') && /^http:/i.test(target) && config.follow_redirects === false) {
    say('tls_expires_within_days', 'use an https:// target; an http:// one shows no certificate');
  }
  return faults;
};

export const httpsConfig: KindConfig = {
  schemas,
  faults: (config, context) => {
    const own = keyFaults(schemas, httpsKeys, config);
    return own.length > 0 ? own : clashes(config, context);
  },
  secretPaths: (config) => {
    return [
      ['basic_auth', 'password'],
      ['bearer_token'],
      ...headerNames(config, 'headers')
        .filter(isSecretHeader(config))
        .map((name) => ['headers', name]),
    ];
  },
};
