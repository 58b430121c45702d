import { domainToUnicode } from 'node:url';
import { z } from 'zod';
import type { Config } from '../assignment.ts';
import {
  type ConfigFault,
  type KeySchemas,
  type KindTarget,
  timeoutMs,
  valueAt,
} from '../kind-config.ts';
import type { Json } from '../result.ts';
import {
  type connectionKeys,
  type FailOn,
  failures,
  httpsFailures,
  ipFamilies,
  isMailPort,
} from './keys.ts';

/** Some of these, none twice. */
export function someOf<Choice extends string>(choices: readonly [Choice, ...Choice[]]) {
  return z
    .array(z.enum(choices))
    .refine((list) => new Set(list).size === list.length)
    .meta({ uniqueItems: true });
}

/** What the configs of kinds that connect have in common. */
export const connectionSchemas = {
  ip_family: z.union([z.enum(ipFamilies), z.literal([4, 6])]),
  verify_tls: z.boolean(),
  tls_expires_within_days: z.int().min(0).max(365),
  max_response_ms: z.int().min(1).max(60_000),
  warn: z.strictObject({ response_ms: z.int().min(1).max(60_000) }),
  fail_on: someOf(failures),
} satisfies KeySchemas<Exclude<keyof typeof connectionKeys, 'encoding' | 'server_name'>>;

export const serverNameSchema = z
  .string()
  .min(1)
  .max(253)
  .refine((name) => serverName(name) !== undefined);

/** The values of these keys, with their defaults. */
export type ConnectionSettings = {
  readonly ip_family: 'any' | '4' | '6';
  readonly verify_tls: boolean;
  readonly tls_expires_within_days: number | null;
  readonly max_response_ms: number | null;
  /** Slower responses are warned of. */
  readonly warn_response_ms: number | null;
  /** What counts as a failure instead of a warning (rule 44). */
  readonly fail_on: readonly FailOn[];
};

export function connectionSettings(config: Config): ConnectionSettings {
  const family = String(config.ip_family ?? 'any');
  return {
    ip_family: family === '4' || family === '6' ? family : 'any',
    verify_tls: asFlag(config.verify_tls, true),
    tls_expires_within_days: asNumber(config.tls_expires_within_days) ?? null,
    max_response_ms: asNumber(config.max_response_ms) ?? null,
    warn_response_ms: responseLimit(config) ?? asNumber(config.max_response_ms) ?? null,
    fail_on: failsOn(config),
  };
}

/** Faults between the keys of time and certificates, each of which is valid. */
export function limitFaults(config: Config, interval_s: number): ConfigFault[] {
  const faults: ConfigFault[] = [];
  // The check is over by then: a slower answer could never be distinguished from none.
  const limit = timeoutMs(config, interval_s);
  for (const [key, value] of [
    ['max_response_ms', config.max_response_ms],
    ['warn', responseLimit(config)],
  ] as const)
    if (typeof value === 'number' && value > limit)
      faults.push({
        key,
        remedy: `stay at or below the time limit of ${limit.toLocaleString('en')} ms, or set a longer \`timeout_ms\``,
      });
  for (const [failure, key] of [
    ['slow', 'max_response_ms'],
    ['certificate', 'tls_expires_within_days'],
  ] as const)
    if (failsOn(config).includes(failure) && !given(config, key))
      faults.push({ key: 'fail_on', remedy: `"${failure}" needs \`${key}\`: set it too` });
  return faults;
}

function failsOn(config: Config): readonly FailOn[] {
  return httpsFailures.filter(
    (one) => Array.isArray(config.fail_on) && config.fail_on.includes(one),
  );
}

function responseLimit(config: Config): number | undefined {
  const limit = valueAt(config, ['warn', 'response_ms']);
  return typeof limit === 'number' ? limit : undefined;
}

export function given(config: Config, key: string): boolean {
  return config[key] !== undefined && config[key] !== null;
}

export function asText(json: Json | undefined): string | undefined {
  return typeof json === 'string' ? json : undefined;
}

export function asNumber(json: Json | undefined): number | undefined {
  return typeof json === 'number' ? json : undefined;
}

export function asFlag(json: Json | undefined, otherwise: boolean): boolean {
  return typeof json === 'boolean' ? json : otherwise;
}

// URL would drop control characters silently.
// biome-ignore lint/suspicious/noControlCharactersInRegex: finds control characters.
export const strange = /[\u0000-\u0020\u007f]/;

/** Whether the host is too long for the DNS; addresses in brackets are not names. */
function isTooLong(host: string): boolean {
  return (
    !host.startsWith('[') &&
    (host.replace(/\.$/, '').length > 253 || host.split('.').some((label) => label.length > 63))
  );
}

/** Where to connect: a name or a literal address without brackets, and a port. */
export type HostAndPort = { readonly host: string; readonly port: number };

const shape = /^(?:([a-z]+):\/\/)?(\[[^\]/?#@\\]*\]|[^[\]:/?#@\\]+):([0-9]{1,5})$/i;

/** What to do about an address with such a port. */
const mailPortFault =
  'must not have a port of mail (25, 465, 587, 2525); a tcp check with `banner` "smtp" checks a mail server';

/** Reads `host:port`, with or without the kind as a scheme. */
export function hostAndPort(kind: string, target: string): HostAndPort | undefined {
  if (strange.test(target)) return undefined;
  const [, scheme = kind, name = '', digits] = shape.exec(target) ?? [];
  const [host, port] = [hostFrom(name), Number(digits)];
  return scheme.toLowerCase() === kind && host !== undefined && port > 0 && port < 65_536
    ? { host: host.replace(/^\[|\]$/g, ''), port }
    : undefined;
}

/** A host as URLs have it: other scripts in punycode, every spelling of an address in one form. */
function hostFrom(text: string): string | undefined {
  const hostname = URL.parse(`http://${text}/`)?.hostname ?? '';
  return hostname === '' || isTooLong(hostname) ? undefined : hostname;
}

/** Reads a host alone: a name or an address, with or without brackets. */
export function hostIn(target: string): string | undefined {
  const text = target.trim();
  if (strange.test(text) || /[/?#@\\]/.test(text)) return undefined;
  const isBare = text.includes(':') && !text.startsWith('[');
  if (!isBare && /\]?:[0-9]*$/.test(text)) return undefined;
  return hostFrom(isBare ? `[${text}]` : text)?.replace(/^\[|\]$/g, '');
}

/** The name for a handshake; addresses have none. */
function serverName(text: string): string | undefined {
  const host = /[:/?#@\\[\]]/.test(text) || strange.test(text) ? undefined : hostFrom(text);
  return host?.replace(/\.$/, '');
}

/** null: the host of the target. */
export function serverNameIn({ server_name: given }: Config): string | null {
  return typeof given === 'string' ? (serverName(given) ?? null) : null;
}

/** Reads an address that begins so. */
export function urlIn(beginning: RegExp, target: string): URL | undefined {
  if (strange.test(target) || !beginning.test(target)) return undefined;
  const url = URL.parse(target);
  return url && url.hostname !== '' && url.port !== '0' ? url : undefined;
}

/** Targets of kinds that are given an address. `whole`: what it must be; `login`: what to use instead of one in it. */
export function urlTarget(
  read: (target: string) => URL | undefined,
  { whole, login }: { readonly whole: string; readonly login: string },
): KindTarget {
  return {
    fault: (target) => {
      if (strange.test(target))
        return 'must not contain blanks or control characters; encode them with %';
      const url = read(target);
      if (!url) return `must be a whole ${whole}`;
      if (url.username !== '' || url.password !== '')
        return `must not contain a user name or password; use ${login} instead`;
      if (isMailPort(url.port)) return mailPortFault;
      return isTooLong(url.hostname)
        ? 'must name a host of at most 253 characters, and 63 between two dots'
        : undefined;
    },
    // As users write it: the address has the punycode form.
    defaultName: (target) => {
      const url = read(target);
      return (
        url &&
        (domainToUnicode(url.hostname) || url.hostname) + (url.port === '' ? '' : `:${url.port}`)
      );
    },
  };
}

/** Targets of kinds that connect to a port. */
export function portTarget(kind: string, example: string): KindTarget {
  return {
    fault: (target) => (hostAndPort(kind, target) ? undefined : whatIsWrong(kind, target, example)),
    defaultName: (target) => nameOf(hostAndPort(kind, target)),
  };
}

/** What is wrong with a target that should be `host:port`. */
function whatIsWrong(kind: string, target: string, example: string): string {
  if (strange.test(target)) return 'must not contain blanks or control characters';
  const [, scheme] = /^([a-z][a-z0-9+.-]*):\/\//i.exec(target) ?? [];
  if (scheme !== undefined && scheme.toLowerCase() !== kind)
    return `must be a host and a port, such as ${example}, not an address with ${scheme}://`;
  if (/^[0-9a-f:.]*:[0-9a-f:.]*:[0-9a-f:.]*$/i.test(target))
    return 'must have an IPv6 address in brackets, and a port, such as [2001:db8::1]:443';
  return `must be a host and a port from 1 to 65535, such as ${example}`;
}

/** An IPv6 address in brackets, as before a port. */
export function bracketed(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}

/** As users write it: the address has the punycode form. */
export function nameOf(endpoint: HostAndPort | undefined): string | undefined {
  return (
    endpoint && `${bracketed(domainToUnicode(endpoint.host) || endpoint.host)}:${endpoint.port}`
  );
}
