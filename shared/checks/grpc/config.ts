import { z } from 'zod';
import type { Config } from '../assignment.ts';
import { mask } from '../config-secrets.ts';
import {
  type ClientCertificate,
  clientCertificateFault,
  maxClientCertificate,
  readClientCertificate,
} from '../connection/client-certificate.ts';
import {
  asText,
  type ConnectionSettings,
  connectionSchemas,
  connectionSettings,
  given,
  type HostAndPort,
  hostAndPort,
  hostIn,
  limitFaults,
  nameOf,
  strange,
} from '../connection/config.ts';
import {
  asPairs,
  headerFaults,
  secretHeaderPaths,
  secretHeaderValues,
} from '../connection/headers.ts';
import { isBase64 } from '../connection/payload.ts';
import {
  type ConfigContext,
  type ConfigFault,
  everyKindSchemas,
  type KeySchemas,
  type KindConfig,
  type KindTarget,
} from '../kind-config.ts';
import { type grpcKeys, reservedMetadata } from './keys.ts';

/** Where to connect, and whether by TLS. */
export type GrpcEndpoint = HostAndPort & { readonly isSecure: boolean };

/** Reads `grpcs://host:port`, `grpc://host:port` (in the clear), or `host:port`, which means TLS. */
export function grpcEndpoint(target: string): GrpcEndpoint | undefined {
  const isSecure = !/^grpc:\/\//i.test(target);
  const found = hostAndPort(isSecure ? 'grpcs' : 'grpc', target);
  return found && { ...found, isSecure };
}

const metadataName = z
  .string()
  .max(100)
  .regex(/^[0-9A-Za-z_.-]+$/);
/** As a header of HTTP/2 can carry it for gRPC: no blanks at its ends, which are cut off. */
const metadataValue = z
  .string()
  .max(4_096)
  .regex(/^(?:[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?)?$/);

const schemas = {
  ...everyKindSchemas,
  ...connectionSchemas,
  service: z
    .string()
    .max(255)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: refuses control characters.
    .regex(/^[^\x00-\x1f\x7f]*$/),
  metadata: z
    .record(metadataName, metadataValue)
    .refine((map) => Object.keys(map).length <= 50)
    .refine((map) =>
      Object.keys(map).every(
        (name) => !reservedMetadata.includes(name.toLowerCase()) && !/^grpc-/i.test(name),
      ),
    )
    .meta({ maxProperties: 50 }),
  secret_metadata: z.array(metadataName).max(50),
  authority: z
    .string()
    .min(1)
    .max(260)
    .refine((text) => authorityIn(text) !== undefined),
  client_certificate: z.string().min(1).max(maxClientCertificate),
} satisfies KeySchemas<keyof typeof grpcKeys>;

/** What needs TLS. */
const ofTls = ['tls_expires_within_days', 'client_certificate'] as const;

export const grpcConfig: KindConfig = {
  schemas,
  clashes,
  secretPaths: (config) => [['client_certificate'], ...secretHeaderPaths(config, 'metadata')],
};

function clashes(config: Config, { target, interval_s }: ConfigContext): ConfigFault[] {
  const faults = headerFaults(config, 'metadata');
  const say = (key: string, remedy: string) => faults.push({ key, remedy });
  for (const [name, value] of asPairs(config.metadata))
    if (/-bin$/i.test(name) && value !== mask && !isBase64(value))
      say(`metadata.${name}`, 'must be base64, as its name ends with -bin');
  const isClear = grpcEndpoint(target)?.isSecure === false;
  const certificate = asText(config.client_certificate);
  for (const key of ofTls)
    if (isClear && given(config, key)) say(key, 'use a grpcs:// target; grpc:// has no TLS');
  const fault =
    isClear || certificate === undefined ? undefined : clientCertificateFault(certificate);
  if (fault !== undefined) say('client_certificate', fault);
  return [...faults, ...limitFaults(config, interval_s)];
}

/** A host, with or without a port, as URLs have it. */
function authorityIn(text: string): Authority | undefined {
  const [, name = '', port] = /^(\[[^\]]*\]|[^:]*)(:[0-9]{1,5})?$/.exec(text) ?? [];
  const host = hostIn(name);
  const isPort = port === undefined || hostAndPort('grpc', `${name}${port}`) !== undefined;
  return host !== undefined && isPort ? { host, port: port ?? '' } : undefined;
}

/** `port` with its colon, or empty. */
type Authority = { readonly host: string; readonly port: string };

/** A config of a grpc check as the check uses it. */
export type GrpcSettings = ConnectionSettings & {
  /** Empty: the whole server. */
  readonly service: string;
  readonly metadata: readonly (readonly [name: string, value: string])[];
  /** null: the host and port of the target. */
  readonly authority: Authority | null;
  readonly client_certificate: ClientCertificate | null;
  /** Texts that evidence must never contain, whoever echoes them. */
  readonly secrets: readonly string[];
};

/** Reads a config that `configFaults` accepted, with its secrets in plain form. */
export function grpcSettings(config: Config): GrpcSettings {
  const metadata = asPairs(config.metadata);
  const certificate = asText(config.client_certificate);
  return {
    ...connectionSettings(config),
    service: asText(config.service) ?? '',
    metadata,
    authority: authorityIn(asText(config.authority) ?? '') ?? null,
    client_certificate: certificate === undefined ? null : readClientCertificate(certificate),
    secrets: secretHeaderValues(config, 'metadata').filter(({ length }) => length >= 4),
  };
}

const example = 'such as grpcs://api.example.com:443';

export const grpcTarget: KindTarget = {
  fault: (target) => {
    if (grpcEndpoint(target)) return undefined;
    if (strange.test(target)) return 'must not contain blanks or control characters';
    return /^grpcs?:\/\/|^[^/]*$/i.test(target)
      ? `must have a host and a port from 1 to 65535 and no path, ${example}`
      : `must be grpcs://host:port, or grpc://host:port without TLS, ${example}`;
  },
  defaultName: (target) => nameOf(grpcEndpoint(target)),
};
