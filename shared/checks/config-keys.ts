import { nearest } from '../base/text.ts';
import type { ConfigKeys } from './config-key.ts';
import { dnsKeys } from './dns/keys.ts';
import { domainKeys } from './domain/keys.ts';
import { grpcKeys } from './grpc/keys.ts';
import { heartbeatKeys } from './heartbeat/keys.ts';
import { httpsKeys } from './https/keys.ts';
import { icmpKeys } from './icmp/keys.ts';
import type { Kind } from './kinds.ts';
import { tcpKeys } from './tcp/keys.ts';
import { tlsKeys } from './tls/keys.ts';
import { websocketKeys } from './websocket/keys.ts';

/** Every key that a config may have, by the kind of check that uses it. */
export const configKeys: Readonly<Record<Kind, ConfigKeys>> = {
  https: httpsKeys,
  dns: dnsKeys,
  tcp: tcpKeys,
  tls: tlsKeys,
  websocket: websocketKeys,
  grpc: grpcKeys,
  heartbeat: heartbeatKeys,
  domain: domainKeys,
  icmp: icmpKeys,
};

/** A key that does nothing, the one that was probably meant, and the sentence that says so. */
type UnknownConfigKey = {
  readonly key: string;
  readonly meant: string | null;
  readonly sentence: string;
};

/**
 * Keys of a config that its kind of check does not use. They are kept and do nothing, so the user
 * gets a warning.
 */
export function unknownConfigKeys(
  kind: Kind,
  config: { readonly [key: string]: unknown },
): readonly UnknownConfigKey[] {
  const known = Object.keys(configKeys[kind]);
  return Object.keys(config)
    .filter((key) => !known.includes(key))
    .map((key) => {
      const meant = meantBy(key, known);
      return {
        key,
        meant,
        sentence: `\`${key}\` is not used by ${kind} checks${meant === null ? '' : `; did you mean \`${meant}\`?`}`,
      };
    });
}

/**
 * The key that a user probably meant: the nearest spelling, or the only one that begins with it.
 */
function meantBy(key: string, known: readonly string[]): string | null {
  const begun = known.filter((one) => one.startsWith(`${key}_`));
  return nearest(key, known) ?? (begun.length === 1 ? begun[0] : undefined) ?? null;
}

/** The behaviour when the key is omitted, for users. */
export function defaultWords({ initial, otherwise }: ConfigKeys[string]): string {
  return otherwise ?? `\`${JSON.stringify(initial)}\``;
}
