import { z } from 'zod';
import type { Config } from '../assignment.ts';
import { mask } from '../config-secrets.ts';
import {
  asText,
  type ConnectionSettings,
  connectionSchemas,
  connectionSettings,
  given,
  hostAndPort,
  limitFaults,
  portTarget,
  serverNameIn,
} from '../connection/config.ts';
import {
  type ConfigContext,
  type ConfigFault,
  everyKindSchemas,
  type KeySchemas,
  type KindConfig,
  type KindTarget,
  keyFaults,
} from '../kind-config.ts';
import { type Banner, banners, encodings, tcpKeys, tlsModes, type Upgrade } from './keys.ts';

const payload = z.string().min(1).max(4_096);

const schemas = {
  ...everyKindSchemas,
  banner: z.enum(banners),
  send: payload,
  expect: payload,
  encoding: z.enum(encodings),
  tls: z.enum(tlsModes),
  server_name: connectionSchemas.server_name,
  verify_tls: connectionSchemas.verify_tls,
  tls_expires_within_days: connectionSchemas.tls_expires_within_days,
  ip_family: connectionSchemas.ip_family,
  max_response_ms: connectionSchemas.max_response_ms,
  warn: connectionSchemas.warn,
  fail_on: connectionSchemas.fail_on,
} satisfies KeySchemas<keyof typeof tcpKeys>;

const signs: Readonly<Record<string, string>> = {
  r: '\r',
  n: '\n',
  t: '\t',
  '0': '\0',
  '\\': '\\',
};

/** The bytes of a text with escapes as in C; undefined for an escape that means nothing. */
const bytesOfText = (text: string): Buffer | undefined => {
  const parts: Buffer[] = [];
  for (const [whole, hex, sign] of text.matchAll(/\\x([0-9a-f]{2})|\\(.?)|[^\\]+/gis)) {
    const meant = sign === undefined ? whole : signs[sign];
    if (hex !== undefined) parts.push(Buffer.from(hex, 'hex'));
    else if (meant === undefined) return undefined;
    else parts.push(Buffer.from(meant, 'utf8'));
  }
  return Buffer.concat(parts);
};

/** The bytes that `send` or `expect` mean; undefined when it is not written as `encoding` says. */
export const bytesOf = (text: string, encoding: string): Buffer | undefined => {
  if (encoding === 'hex') {
    const digits = text.replaceAll(/\s+/g, '');
    return /^(?:[0-9a-f]{2})+$/i.test(digits) ? Buffer.from(digits, 'hex') : undefined;
  }
  if (encoding === 'base64') {
    const digits = text.replaceAll(/\s+/g, '');
    return /^(?:[a-z0-9+/]{4})*(?:[a-z0-9+/]{2}(?:==)?|[a-z0-9+/]{3}=?)?$/i.test(digits)
      ? Buffer.from(digits, 'base64')
      : undefined;
  }
  return bytesOfText(text);
};

const howWritten: Readonly<Record<string, string>> = {
  hex: 'write it as pairs of hexadecimal digits, such as 0d0a',
  base64: 'write it as base64, such as UElORw0K',
  text: 'write a backslash as `\\\\`; the others are `\\r`, `\\n`, `\\t`, `\\0` and `\\xNN`',
};

/** Faults between keys that are each valid. */
const clashes = (config: Config, { target, interval_s }: ConfigContext): ConfigFault[] => {
  const faults: ConfigFault[] = [];
  const say = (key: string, remedy: string) => faults.push({ key, remedy });
  const encoding = asText(config.encoding) ?? 'text';
  for (const key of ['send', 'expect']) {
    const text = asText(config[key]);
    if (text === undefined || text === mask) continue;
    const bytes = bytesOf(text, encoding);
    if (bytes === undefined || bytes.length === 0) say(key, howWritten[encoding] ?? '');
  }
  if (given(config, 'send') && hostAndPort('tcp', target)?.port === 25)
    say('send', 'leave it out on port 25; `banner` "smtp" checks a mail server');
  const tls = asText(config.tls) ?? 'none';
  const banner = asText(config.banner);
  if (banner !== undefined && tls !== 'none' && tls !== 'implicit' && banner !== tls)
    say('banner', `leave it out: \`tls\` "${tls}" reads the greeting of that protocol`);
  if (tls === 'none')
    for (const key of ['server_name', 'tls_expires_within_days'])
      if (given(config, key)) say(key, 'set `tls` too; without it there is no certificate');
  return [...faults, ...limitFaults(config, interval_s)];
};

export const tcpConfig: KindConfig = {
  schemas,
  faults: (config, context) => {
    const own = keyFaults(schemas, tcpKeys, config);
    return own.length > 0 ? own : clashes(config, context);
  },
  // It may log in.
  secretPaths: () => [['send']],
};

/** A config of a tcp check as the check uses it. */
export type TcpSettings = ConnectionSettings & {
  readonly banner: Banner | null;
  readonly send: Buffer | null;
  readonly expect: Buffer | null;
  /** `expect` as the config has it, for causes. */
  readonly expect_words: string;
  readonly tls: 'none' | 'implicit' | Upgrade;
  /** null: the host of the target. */
  readonly server_name: string | null;
  /** Texts that evidence must never contain, whoever echoes them. */
  readonly secrets: readonly string[];
};

const leastSecret = 4;
const mostSecrets = 20;

/** What is sent, as a whole and word by word: a server may echo the password alone. */
const secretsIn = (send: Buffer | null): readonly string[] => {
  const text = send?.toString('utf8') ?? '';
  return [...new Set([text, ...text.split(/[\s\0]+/)])]
    .filter((word) => word.trim().length >= leastSecret)
    .slice(0, mostSecrets);
};

/** Reads a config that `tcpConfig.faults` accepted, with its secrets in plain form. */
export const tcpSettings = (config: Config): TcpSettings => {
  const encoding = asText(config.encoding) ?? 'text';
  const bytes = (key: string): Buffer | null =>
    bytesOf(asText(config[key]) ?? '', encoding) ?? null;
  const some = (key: string): Buffer | null => (given(config, key) ? bytes(key) : null);
  const send = some('send');
  return {
    ...connectionSettings(config),
    banner: banners.find((one) => one === config.banner) ?? null,
    send,
    expect: some('expect'),
    expect_words: asText(config.expect) ?? '',
    tls: tlsModes.find((one) => one === config.tls) ?? 'none',
    server_name: serverNameIn(config),
    secrets: secretsIn(send),
  };
};

export const tcpTarget: KindTarget = portTarget('tcp', 'db.example.com:5432');
