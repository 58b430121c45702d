import { domainToUnicode } from 'node:url';
import { z } from 'zod';
import type { Config } from '../assignment.ts';
import {
  asNumber,
  connectionSchemas,
  connectionSettings,
  hostIn,
  limitFaults,
} from '../connection/config.ts';
import {
  everyKindSchemas,
  type KeySchemas,
  type KindConfig,
  type KindTarget,
  timeoutMs,
} from '../kind-config.ts';
import type { icmpKeys } from './keys.ts';

const schemas = {
  ...everyKindSchemas,
  packets: z.int().min(1).max(20),
  max_loss_percent: z.int().min(0).max(99),
  ip_family: connectionSchemas.ip_family,
  warn: connectionSchemas.warn,
} satisfies KeySchemas<keyof typeof icmpKeys>;

/** Unprivileged senders may not send faster. */
export const packetEveryMs = 200;
/** What the last answer needs to come back. */
export const answerMs = 500;

export const icmpConfig: KindConfig = {
  schemas,
  clashes: (config, { interval_s }) => {
    const { packets } = icmpSettings(config);
    const limit = timeoutMs(config, interval_s);
    const most = Math.floor((limit - answerMs) / packetEveryMs);
    if (packets > most) {
      const within = `${limit.toLocaleString('en')} ms`;
      const remedy = `send at most ${most} within ${within}, or set a longer \`timeout_ms\``;
      return [{ key: 'packets', remedy }];
    }
    return limitFaults(config, interval_s);
  },
  secretPaths: () => [],
};

/** A config of an icmp check as the check uses it. */
export type IcmpSettings = {
  readonly packets: number;
  readonly max_loss_percent: number;
  readonly ip_family: 'any' | '4' | '6';
  readonly warn_response_ms: number | null;
};

/** Reads a config that `configFaults` accepted. */
export function icmpSettings(config: Config): IcmpSettings {
  const { ip_family, warn_response_ms } = connectionSettings(config);
  return {
    packets: asNumber(config.packets) ?? 3,
    max_loss_percent: asNumber(config.max_loss_percent) ?? 50,
    ip_family,
    warn_response_ms,
  };
}

export const icmpTarget: KindTarget = {
  fault: (target) =>
    hostIn(target) === undefined
      ? 'must be a host such as router.example.com, 192.0.2.1 or 2001:db8::1, without a port'
      : undefined,
  defaultName: (target) => {
    const host = hostIn(target);
    return host && (domainToUnicode(host) || host);
  },
};
