import { z } from 'zod';
import type { Config } from '../assignment.ts';
import { type ConfigFault, everyKindsKeys, type KeyTable, type KindConfig, keyFaults } from '../kind-config.ts';
import { expectedStatusSchema } from './expected-status.ts';
import { parseJsonPath } from './json-path.ts';

export const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const;
export type Method = (typeof methods)[number];

/** Headers that the check itself must write, or that would change how the connection works. */
const reservedHeaders = [
  'connection',
  'content-length',
  'expect',
  'http2-settings',
  'keep-alive',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'user-agent',
];

const headerName = z
  .string()
  .max(100)
  .regex(/^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/);
/** Visible ASCII and latin-1, as a header line can carry it; never a line break. */
const headerValue = z
  .string()
  .max(4_096)
  .regex(/^[\t\x20-\x7e\x80-\xff]*$/);
const noLineBreak = /^[^\r\n\0]*$/;
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

const headerMap = (most: number) => z.record(headerName, headerValue).refine((map) => Object.keys(map).length <= most);

/** The keys of an https config with their shapes. `expected_status` and `json` are read once more when the check is prepared. */
const httpsKeys = {
  ...everyKindsKeys,
  method: { schema: z.enum(methods), remedy: `give one of ${methods.join(', ')}` },
  headers: {
    schema: headerMap(50).refine((map) => Object.keys(map).every((name) => !reservedHeaders.includes(name.toLowerCase()))),
    remedy: `give an object of at most 50 header names with texts as values, without line breaks; the check itself writes ${reservedHeaders.join(', ')}`,
  },
  secret_headers: { schema: z.array(headerName).max(50), remedy: 'give a list of names of headers that `headers` has' },
  body: { schema: z.string(), remedy: 'give a text' },
  expected_status: {
    schema: expectedStatusSchema,
    remedy: 'give a list of numbers (200), ranges ("200-299") and classes ("2xx") between 100 and 599',
  },
  follow_redirects: { schema: z.boolean(), remedy: 'give true or false' },
  max_redirects: { schema: z.int().min(0).max(10), remedy: 'give a whole number from 0 to 10' },
  body_contains: { schema: texts, remedy: 'give a text of 1 to 1,024 characters, or a list of at most 20 (all must be there)' },
  body_not_contains: { schema: texts, remedy: 'give a text of 1 to 1,024 characters, or a list of at most 20 (none may be there)' },
  json: {
    schema: z.array(jsonAssertion).min(1).max(20),
    remedy:
      'give a list of at most 20 objects, each with a `path` such as "$.items[0].state" and at least one of `equals`, `contains` (text), `gt`, `lt` (numbers), `exists` (true or false)',
  },
  header_contains: {
    schema: headerMap(20).refine((map) => Object.keys(map).length > 0),
    remedy: 'give an object of header names with the text that each must contain ("" if the header must only be there)',
  },
  verify_tls: { schema: z.boolean(), remedy: 'give true or false' },
  tls_expires_within_days: { schema: z.int().min(0).max(365), remedy: 'give a whole number of days from 0 to 365' },
  ip_family: { schema: z.union([z.enum(['any', '4', '6']), z.literal([4, 6])]), remedy: 'give "any", "4" or "6"' },
  basic_auth: {
    schema: z.strictObject({
      username: z
        .string()
        .max(256)
        .regex(/^[^:]*$/)
        .regex(noLineBreak),
      password: z.string().max(1_024).regex(noLineBreak),
    }),
    remedy: 'give an object with `username` (without a colon) and `password`, both texts',
  },
  bearer_token: {
    schema: z
      .string()
      .min(1)
      .max(4_096)
      .regex(/^[\x21-\x7e]+$/),
    remedy: 'give a text without blanks',
  },
  max_response_ms: { schema: z.int().min(1).max(60_000), remedy: 'give a whole number of milliseconds from 1 to 60,000' },
} satisfies KeyTable;

const given = (config: Config, key: string): boolean => config[key] !== undefined && config[key] !== null;

const headerNames = (config: Config, key: string): string[] => {
  const headers = config[key];
  return typeof headers === 'object' && headers !== null && !Array.isArray(headers) ? Object.keys(headers) : [];
};

const secretHeaders = (config: Config): string[] => {
  const list = config.secret_headers;
  return Array.isArray(list) ? list.filter((name) => typeof name === 'string').map((name) => name.toLowerCase()) : [];
};

/** What is wrong between keys that are each in order. */
const clashes = (config: Config, target: string): ConfigFault[] => {
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
  const [slow, timeout] = [config.max_response_ms, config.timeout_ms];
  if (typeof slow === 'number' && typeof timeout === 'number' && slow > timeout) say('max_response_ms', 'stay at or below `timeout_ms`');
  if (given(config, 'tls_expires_within_days') && /^http:/i.test(target) && config.follow_redirects === false) {
    say('tls_expires_within_days', 'use an https:// target; an http:// one shows no certificate');
  }
  return faults;
};

export const httpsConfig: KindConfig = {
  keys: Object.keys(httpsKeys),
  faults: (config, { target }) => {
    const own = keyFaults(httpsKeys, config);
    return own.length > 0 ? own : clashes(config, target);
  },
  secretPaths: (config) => {
    const secret = secretHeaders(config);
    return [
      ['basic_auth', 'password'],
      ['bearer_token'],
      ...headerNames(config, 'headers')
        .filter((name) => secret.includes(name.toLowerCase()))
        .map((name) => ['headers', name]),
    ];
  },
};
