import { z } from 'zod';
import type { Config } from '../assignment.ts';
import { mask } from '../config-secrets.ts';
import { type ConfigFault, valueAt } from '../kind-config.ts';
import type { Json } from '../result.ts';

/** Headers that an owner adds to a request, and which of them are secrets. */

export const headerName = z
  .string()
  .max(100)
  .regex(/^[!#$%&'*+\-.^_\x60|~0-9A-Za-z]+$/);
/** Visible ASCII and latin-1, as a header line can carry it; never a line break. */
const headerValue = z
  .string()
  .max(4_096)
  .regex(/^[\t\x20-\x7e\x80-\xff]*$/);

/** The document states the refinement's rules beside the schema. */
export function headerMap(limit: number, value = headerValue) {
  return z
    .record(headerName, value)
    .refine((map) => Object.keys(map).length <= limit)
    .meta({ maxProperties: limit });
}

/**
 * Headers that identify the sender: their values are always secrets, even if the user does not mark
 * them.
 */
const alwaysSecretHeaders: readonly string[] = [
  'authorization',
  'proxy-authorization',
  'cookie',
  'x-api-key',
  'api-key',
  'apikey',
  'x-auth-token',
  'x-auth-key',
  'x-access-token',
  'x-session-token',
  'x-amz-security-token',
  'x-goog-api-key',
  'ocp-apim-subscription-key',
  'x-functions-key',
  'x-rapidapi-key',
  'cf-access-client-secret',
  'private-token',
  'x-gitlab-token',
  'x-vault-token',
  'x-shopify-access-token',
  'dd-api-key',
  'dd-application-key',
];

export function headerNames(config: Config, key: string): string[] {
  const headers = config[key];
  return typeof headers === 'object' && headers !== null && !Array.isArray(headers)
    ? Object.keys(headers)
    : [];
}

/**
 * Whether a header's value is a secret: its owner marked it as one, its name is one of
 * `alwaysSecretHeaders`, or it looks like one. `key`: where the config has the headers.
 */
function isSecretHeader(config: Config, key = 'headers'): (name: string) => boolean {
  const secret = new Set([...secretHeaders(config, key), ...alwaysSecretHeaders]);
  return (name) => secret.has(name.toLowerCase()) || looksSecret(config, key, name);
}

function secretHeaders(config: Config, key: string): string[] {
  const list = config[`secret_${key}`];
  return Array.isArray(list)
    ? list.filter((name) => typeof name === 'string').map((name) => name.toLowerCase())
    : [];
}

const secretName =
  /(?:^|[-_])(?:password|passwd|pwd|auth|credentials?|cookie|session|signature|(?:api|access|auth|client|license|private|secret|session)?(?:keys?|tokens?|secrets?))(?:[-_]|$)/i;

/**
 * Headers of ordinary requests: a long value of theirs is a media type or a date, such as
 * `application/vnd.github.v3+json`.
 */
const ordinaryName =
  /^(?:accept|accept-.*|cache-control|content-.*|if-.*|origin|prefer|range|referer|x-requested-with)$/i;

/** An authentication scheme, or a long word of letters and digits that no one types. */
const secretValue = /^(?:bearer|basic|token)\s+\S|^(?=.*\d)(?=.*[a-z])[\w+/=.~-]{20,}$/i;

function looksSecret(config: Config, key: string, name: string): boolean {
  const value = valueAt(config, [key, name]);
  // Values already stored apart remain so.
  return (
    secretName.test(name) ||
    value === mask ||
    (typeof value === 'string' && !ordinaryName.test(name) && secretValue.test(value))
  );
}

/** Faults between `headers` and `secret_headers`, each of which is valid. */
export function headerFaults(config: Config, key = 'headers'): ConfigFault[] {
  const faults: ConfigFault[] = [];
  const names = headerNames(config, key).map((name) => name.toLowerCase());
  if (new Set(names).size !== names.length)
    faults.push({
      key,
      remedy: 'name each of them once; upper and lower case are the same',
    });
  if (!secretHeaders(config, key).every((name) => names.includes(name)))
    faults.push({ key: `secret_${key}`, remedy: `name only ${key} that \`${key}\` has` });
  return faults;
}

/** Of the headers whose value is a secret. */
export function secretHeaderValues(config: Config, key = 'headers'): string[] {
  const isSecret = isSecretHeader(config, key);
  return asPairs(config[key]).flatMap(([name, value]) => (isSecret(name) ? [value] : []));
}

export function secretHeaderPaths(config: Config, key = 'headers'): (readonly string[])[] {
  return headerNames(config, key)
    .filter(isSecretHeader(config, key))
    .map((name) => [key, name]);
}

export function asPairs(json: Json | undefined): [string, string][] {
  return typeof json === 'object' && json !== null && !Array.isArray(json)
    ? Object.entries(json).flatMap(([name, value]): [string, string][] =>
        typeof value === 'string' ? [[name, value]] : [],
      )
    : [];
}
