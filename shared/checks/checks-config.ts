import type { Config } from './checks-assignment.ts';
import { configKeys } from './checks-config-keys.ts';
import { merge, type Secrets, split } from './checks-config-secrets.ts';
import type { ConfigContext, ConfigFault, KeySchemas, KindConfig } from './checks-kind-config.ts';
import type { Kind } from './checks-kinds.ts';
import type { Json } from './checks-result.ts';
import { dnsConfig } from './dns/checks-dns-config.ts';
import { heartbeatConfig } from './heartbeat/checks-heartbeat-config.ts';
import { httpsConfig } from './https/checks-https-config.ts';

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

export const knownKeys = (kind: Kind): readonly string[] => Object.keys(configKeys[kind]);

/** For the test that holds words and shapes equal. */
export const keySchemas = (kind: Kind): KeySchemas => byKind[kind].schemas;

/** The sentence of a refused config: every key with its remedy. */
export const faultsSentence = (faults: readonly ConfigFault[]): string =>
  faults.map(({ key, remedy }) => `\`${key}\` cannot be used: ${remedy}`).join('; ');

const secretPaths = (kind: Kind, config: Config): readonly (readonly string[])[] => byKind[kind].secretPaths(config);

/** Parts a config into what may be shown and stored openly, and its secrets; see `split`. */
export const splitSecrets = (kind: Kind, config: Config, stored: Secrets = {}): ReturnType<typeof split> =>
  split(config, secretPaths(kind, config), stored);

/** A stored config with its secrets apart as they are now: what was stored openly before it counted as a secret is taken from there. */
export const asSplit = (kind: Kind, open: Config, secrets: Secrets): { readonly open: Config; readonly secrets: Secrets } => {
  const parted = splitSecrets(kind, open, secrets);
  return { open: parted.open, secrets: parted.secrets };
};

/** The config as probes get it: those of an older version know only the secret headers that are named. */
export const namingSecrets = (kind: Kind, open: Config): Config => {
  const headers = secretPaths(kind, open).flatMap(([key, name]) => (key === 'headers' && name !== undefined ? [name] : []));
  return headers.length === 0 ? open : { ...open, secret_headers: headers };
};

/** The config as the check uses it, secrets in their places. */
export const mergeSecrets = (kind: Kind, open: Config, secrets: Secrets): Config => merge(open, secretPaths(kind, open), secrets);
