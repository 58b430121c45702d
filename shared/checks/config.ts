import { z } from 'zod';
import { Refusal } from '../base/errors.ts';
import type { Config } from './assignment.ts';
import type { ConfigKey } from './config-key.ts';
import { configKeys, defaultWords } from './config-keys.ts';
import { merge, type Secrets, split } from './config-secrets.ts';
import { dnsConfig, dnsTarget } from './dns/config.ts';
import { domainConfig, domainTarget } from './domain/config.ts';
import { grpcConfig, grpcTarget } from './grpc/config.ts';
import { heartbeatConfig, heartbeatTarget } from './heartbeat/config.ts';
import { httpsConfig, httpsTarget } from './https/config.ts';
import { icmpConfig, icmpTarget } from './icmp/config.ts';
import {
  type ConfigContext,
  type ConfigFault,
  type KeySchemas,
  type KindConfig,
  type KindTarget,
  keyFaults,
} from './kind-config.ts';
import type { Kind } from './kinds.ts';
import type { Json } from './result.ts';
import { tcpConfig, tcpTarget } from './tcp/config.ts';
import { tlsConfig, tlsTarget } from './tls/config.ts';
import { websocketConfig, websocketTarget } from './websocket/config.ts';

const byKind: Readonly<Record<Kind, KindConfig>> = {
  https: httpsConfig,
  dns: dnsConfig,
  tcp: tcpConfig,
  tls: tlsConfig,
  websocket: websocketConfig,
  grpc: grpcConfig,
  heartbeat: heartbeatConfig,
  domain: domainConfig,
  icmp: icmpConfig,
};

const maxBytes = 16 * 1024;
const maxDepth = 8;

/** Every fault of a config, each with the key and the remedy. Unknown keys are no fault. */
export function configFaults(
  kind: Kind,
  target: string,
  config: Config,
  interval_s: number,
): ConfigFault[] {
  if (depthOf(config) > maxDepth)
    return [{ key: 'config', remedy: `nest at most ${maxDepth} levels deep` }];
  if (new TextEncoder().encode(JSON.stringify(config)).length > maxBytes)
    return [{ key: 'config', remedy: 'must be at most 16 KiB of JSON' }];
  const context: ConfigContext = { target, interval_s };
  const { schemas, clashes, explained = (fault) => fault } = byKind[kind];
  const own = keyFaults(schemas, configKeys[kind], config).map((fault) => explained(fault, config));
  const faults = own.length > 0 ? own : clashes(config, context);
  const { timeout_ms: timeout, places = null, continents = null, probe = null } = config;
  if (places !== null && (continents !== null || probe !== null))
    faults.push({ key: 'places', remedy: 'leave out `continents` and `probe`: it says all of it' });
  if (
    typeof timeout === 'number' &&
    timeout >= interval_s * 1_000 &&
    !faults.some(({ key }) => key === 'timeout_ms')
  ) {
    faults.push({ key: 'timeout_ms', remedy: `stay below the interval of ${interval_s} s` });
  }
  return faults;
}

function depthOf(json: Json, allowed = maxDepth + 1): number {
  if (typeof json !== 'object' || json === null) return 0;
  if (allowed === 0) return 1;
  return (
    1 +
    Object.values(json).reduce<number>(
      (deepest, inside) => Math.max(deepest, depthOf(inside, allowed - 1)),
      0,
    )
  );
}

export function knownKeys(kind: Kind): readonly string[] {
  return Object.keys(configKeys[kind]);
}

/** For the test that compares the descriptions with the schemas. */
export function keySchemas(kind: Kind): KeySchemas {
  return byKind[kind].schemas;
}

export function refusedConfig(faults: readonly ConfigFault[]): Refusal {
  return new Refusal(
    'config_invalid',
    Object.fromEntries(
      faults.map(({ key, remedy }) => [key === 'config' ? key : `config.${key}`, remedy]),
    ),
    {
      message: faults.map(({ key, remedy }) => `\`${key}\` cannot be used: ${remedy}`).join('; '),
    },
  );
}

/** Splits a config into what may be shown and stored openly, and its secrets; see `split`. */
export function splitSecrets(
  kind: Kind,
  config: Config,
  stored: Secrets = {},
): ReturnType<typeof split> {
  return split(config, secretPaths(kind, config), stored);
}

function secretPaths(kind: Kind, config: Config): readonly (readonly string[])[] {
  return byKind[kind].secretPaths(config);
}

/** The config as the check uses it, with its secrets in plain form. */
export function mergeSecrets(kind: Kind, open: Config, secrets: Secrets): Config {
  return merge(open, secretPaths(kind, open), secrets);
}

type JsonSchema = { readonly [key: string]: unknown };

/**
 * The keys of a config as JSON Schema: the schemas that validate a config, with the descriptions
 * for users.
 */
export function configSchema(kind: Kind): JsonSchema {
  const schemas = keySchemas(kind);
  return {
    type: 'object',
    description: `The keys of a config of \`${kind}\`. Others are kept and do nothing, and a key that is null counts as not given. At most 16 KiB of JSON, 8 levels deep.`,
    properties: Object.fromEntries(
      Object.entries(configKeys[kind]).map(
        ([key, row]) => [key, keySchema(schemas[key] ?? z.never(), row)] as const,
      ),
    ),
    additionalProperties: true,
  };
}

function keySchema(schema: z.ZodType, row: ConfigKey): JsonSchema {
  const shape = shapeOf(schema, row);
  return {
    ...shape,
    description: `${row.meaning} Give ${row.allowed}. Not given: ${defaultWords(row)}.`,
    // Go and Java clients cannot express a default of several shapes, or of a list; the description
    // says it.
    ...(row.initial === undefined || shape.anyOf !== undefined || shape.type === 'array'
      ? {}
      : { default: row.initial }),
    examples: [shape.type === 'array' && !Array.isArray(row.example) ? [row.example] : row.example],
  };
}

/** A config has at most 16 KiB, and so has a text in it. */
const longestText = 16_384;

function shapeOf(schema: z.ZodType, { choices }: ConfigKey): JsonSchema {
  const { $schema: _draft, ...shape } = z.toJSONSchema(schema, {
    unrepresentable: 'any',
    io: 'input',
    override: ({ jsonSchema }) => withoutNullAmongSeveral(jsonSchema),
  });
  // A schema that validates its values with its own table does not list them here; the description
  // does.
  if (Object.keys(shape).length === 0 && choices !== undefined)
    return { type: 'string', enum: choices };
  // One text or a list of them: the document has only the list, because a Java client cannot be
  // generated from both.
  const list = shape.anyOf?.find(({ type }) => type === 'array');
  if (list !== undefined) return { ...list };
  const { uniqueItems, ...rest } = shape;
  const values: unknown = Object(shape.items).enum;
  // At most as many as there are different values: a Java client cannot be generated from a set of
  // values.
  if (uniqueItems === true && Array.isArray(values)) return { ...rest, maxItems: values.length };
  return shape.type === 'string' && shape.enum === undefined
    ? { maxLength: longestText, ...shape }
    : shape;
}

/**
 * Null is accepted beside other shapes but not documented: Python client generators fail on it at
 * this depth.
 */
function withoutNullAmongSeveral(schema: z.core.JSONSchema.BaseSchema): void {
  if (schema.anyOf !== undefined && schema.anyOf.length > 2)
    schema.anyOf = schema.anyOf.filter(({ type }) => type !== 'null');
}

const targetByKind: Readonly<Record<Kind, KindTarget>> = {
  https: httpsTarget,
  dns: dnsTarget,
  tcp: tcpTarget,
  tls: tlsTarget,
  websocket: websocketTarget,
  grpc: grpcTarget,
  heartbeat: heartbeatTarget,
  domain: domainTarget,
  icmp: icmpTarget,
};

const maxCharacters = 2_048;

/**
 * What is wrong with a target for this kind of check, and the remedy; undefined when nothing is.
 */
export function targetFault(kind: Kind, target: string): string | undefined {
  return target.length > maxCharacters
    ? `must have at most ${maxCharacters} characters`
    : targetByKind[kind].fault(target);
}

/** The default name of a monitor; undefined where a name must be given. */
export function defaultName(kind: Kind, target: string): string | undefined {
  return targetByKind[kind].defaultName(target)?.slice(0, 200);
}
