import type { Config } from '../checks-assignment.ts';
import type { Json } from '../checks-result.ts';
import { isSecretHeader, type Method } from './checks-https-config.ts';
import { type ExpectedStatus, expectedStatus } from './checks-https-expected-status.ts';
import { type JsonPath, parseJsonPath } from './checks-https-json-path.ts';
import { methods } from './checks-https-keys.ts';

export type JsonAssertion = {
  readonly path: JsonPath;
  /** The path as the config has it: for causes. */
  readonly words: string;
  readonly equals: Json | undefined;
  readonly contains: string | undefined;
  readonly gt: number | undefined;
  readonly lt: number | undefined;
  readonly exists: boolean | undefined;
};

/** An https config as the check uses it: every key there, with its default. */
export type HttpsSettings = {
  readonly method: Method;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: string | null;
  readonly credentials: string | null;
  readonly expected: ExpectedStatus;
  /** Whether the owner said which statuses are right, other than what is usual: then also a block page's status may be. */
  readonly expected_given: boolean;
  readonly follow_redirects: boolean;
  readonly max_redirects: number;
  readonly body_contains: readonly string[];
  readonly body_not_contains: readonly string[];
  readonly json: readonly JsonAssertion[];
  readonly header_contains: readonly (readonly [name: string, text: string])[];
  readonly verify_tls: boolean;
  readonly tls_expires_within_days: number | null;
  readonly ip_family: 'any' | '4' | '6';
  readonly max_response_ms: number | null;
  /** Texts that must never stand in evidence, whoever sends them back. */
  readonly secrets: readonly string[];
};

const asText = (json: Json | undefined): string | undefined => (typeof json === 'string' ? json : undefined);
const asNumber = (json: Json | undefined): number | undefined => (typeof json === 'number' ? json : undefined);
const asFlag = (json: Json | undefined, otherwise: boolean): boolean => (typeof json === 'boolean' ? json : otherwise);
const asList = (json: Json | undefined): readonly Json[] =>
  Array.isArray(json) ? json : json === undefined || json === null ? [] : [json];
const asTexts = (json: Json | undefined): string[] => asList(json).filter((one) => typeof one === 'string');
const asPairs = (json: Json | undefined): [string, string][] =>
  typeof json === 'object' && json !== null && !Array.isArray(json)
    ? Object.entries(json).flatMap(([name, value]): [string, string][] => (typeof value === 'string' ? [[name, value]] : []))
    : [];

/** What is expected of a status if nothing is said; to say it oneself changes nothing. */
const usual = '2xx';

const assertions = (json: Json | undefined): JsonAssertion[] =>
  asList(json).flatMap((one) => {
    if (typeof one !== 'object' || one === null || Array.isArray(one)) return [];
    const entry: { readonly [key: string]: Json } = Object.fromEntries(Object.entries(one));
    const words = asText(entry.path) ?? '$';
    const path = parseJsonPath(words);
    if (!path) return [];
    const exists = typeof entry.exists === 'boolean' ? entry.exists : undefined;
    return [
      { path, words, equals: entry.equals, contains: asText(entry.contains), gt: asNumber(entry.gt), lt: asNumber(entry.lt), exists },
    ];
  });

const base64 = (text: string): string => btoa(String.fromCharCode(...new TextEncoder().encode(text)));

/** Reads a config that `httpsConfig.faults` found in order, with its secrets in place. */
export const httpsSettings = (config: Config): HttpsSettings => {
  const basic = asPairs(config.basic_auth);
  const [username, password] = ['username', 'password'].map((key) => basic.find(([name]) => name === key)?.[1] ?? '');
  const bearer = asText(config.bearer_token);
  const basicCredentials = basic.length > 0 ? base64(`${username}:${password}`) : undefined;
  const headers = asPairs(config.headers);
  const isSecret = isSecretHeader(config);
  const expected = asList(config.expected_status).filter((one) => typeof one === 'string' || typeof one === 'number');
  const family = String(config.ip_family ?? 'any');
  const secretValues = headers.filter(([name]) => isSecret(name)).map(([, value]) => value);
  return {
    method: methods.find((method) => method === config.method) ?? 'GET',
    headers,
    body: asText(config.body) ?? null,
    credentials: basicCredentials !== undefined ? `Basic ${basicCredentials}` : bearer !== undefined ? `Bearer ${bearer}` : null,
    expected: expectedStatus(expected.length > 0 ? expected : [usual]),
    expected_given: expected.length > 0 && !(expected.length === 1 && String(expected[0]).trim().toLowerCase() === usual),
    follow_redirects: asFlag(config.follow_redirects, true),
    max_redirects: asNumber(config.max_redirects) ?? 5,
    body_contains: asTexts(config.body_contains),
    body_not_contains: asTexts(config.body_not_contains),
    json: assertions(config.json),
    header_contains: asPairs(config.header_contains),
    verify_tls: asFlag(config.verify_tls, true),
    tls_expires_within_days: asNumber(config.tls_expires_within_days) ?? null,
    ip_family: family === '4' || family === '6' ? family : 'any',
    max_response_ms: asNumber(config.max_response_ms) ?? null,
    secrets: [password ?? '', basicCredentials ?? '', bearer ?? '', ...secretValues].filter((secret) => secret.length >= 4),
  };
};
