import { nearest } from '../base/nearest.ts';
import type { Config } from './assignment.ts';
import { dnsConfig } from './dns/config.ts';
import { heartbeatConfig } from './heartbeat/config.ts';
import { httpsConfig } from './https/config.ts';
import type { ConfigContext, ConfigFault, KindConfig } from './kind-config.ts';
import type { Kind } from './kinds.ts';
import type { Json } from './result.ts';
import { merge, type Secrets, split } from './secrets.ts';

const byKind: Readonly<Record<Kind, KindConfig>> = { https: httpsConfig, dns: dnsConfig, heartbeat: heartbeatConfig };

const mostBytes = 16 * 1024;
const mostDepth = 8;

const depthOf = (json: Json, allowed = mostDepth + 1): number => {
  if (typeof json !== 'object' || json === null) return 0;
  if (allowed === 0) return 1;
  return 1 + Object.values(json).reduce<number>((deepest, inside) => Math.max(deepest, depthOf(inside, allowed - 1)), 0);
};

/** Everything that is wrong with a config, each with the key and the remedy. Unknown keys are no fault. */
export const configFaults = (kind: Kind, target: string, config: Config, interval_s: number): ConfigFault[] => {
  if (depthOf(config) > mostDepth) return [{ key: 'config', remedy: `nest at most ${mostDepth} levels deep` }];
  if (new TextEncoder().encode(JSON.stringify(config)).length > mostBytes)
    return [{ key: 'config', remedy: 'give at most 16 KiB of JSON' }];
  const context: ConfigContext = { target, interval_s };
  const faults = byKind[kind].faults(config, context);
  const timeout = config.timeout_ms;
  if (typeof timeout === 'number' && timeout >= interval_s * 1_000 && !faults.some(({ key }) => key === 'timeout_ms')) {
    faults.push({ key: 'timeout_ms', remedy: `stay below the interval of ${interval_s} s` });
  }
  return faults;
};

export const knownKeys = (kind: Kind): readonly string[] => byKind[kind].keys;

/** The sentence of a refused config: every key with its remedy. */
export const faultsSentence = (faults: readonly ConfigFault[]): string =>
  faults.map(({ key, remedy }) => `\`${key}\` cannot be used: ${remedy}`).join('; ');

/** Keys of a config that its kind does not use, each with the one that was probably meant. */
const unusedKeys = (kind: Kind, config: Config): { readonly key: string; readonly meant: string | undefined }[] =>
  Object.keys(config)
    .filter((key) => !byKind[kind].keys.includes(key))
    .map((key) => ({ key, meant: nearest(key, byKind[kind].keys) }));

/** What the monitor's page says about keys that do nothing. */
export const unusedKeySentences = (kind: Kind, config: Config): string[] =>
  unusedKeys(kind, config).map(
    ({ key, meant }) => `\`${key}\` is not used by ${kind} checks${meant === undefined ? '' : `; did you mean \`${meant}\`?`}`,
  );

/** How long a check of this monitor may take: its own limit, or the smaller of 10 s and half the interval. */
export const timeoutMs = (config: Config, interval_s: number): number => {
  const own = config.timeout_ms;
  return typeof own === 'number' ? own : Math.min(10_000, Math.floor(interval_s * 500));
};

const secretPaths = (kind: Kind, config: Config): readonly (readonly string[])[] => byKind[kind].secretPaths(config);

/** Parts a config into what may be shown and stored openly, and its secrets; see `split`. */
export const splitSecrets = (kind: Kind, config: Config, stored: Secrets = {}): ReturnType<typeof split> =>
  split(config, secretPaths(kind, config), stored);

/** The config as the check uses it, secrets in their places. */
export const mergeSecrets = (kind: Kind, open: Config, secrets: Secrets): Config => merge(open, secretPaths(kind, open), secrets);
