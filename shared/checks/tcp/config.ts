import { z } from 'zod';
import type { Config } from '../assignment.ts';
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
  serverNameSchema,
} from '../connection/config.ts';
import { isMailPort } from '../connection/keys.ts';
import {
  encodingSchema,
  payloadFaults,
  payloadIn,
  payloadSchema,
  secretWordsIn,
} from '../connection/payload.ts';
import {
  type ConfigContext,
  type ConfigFault,
  everyKindSchemas,
  type KeySchemas,
  type KindConfig,
  type KindTarget,
} from '../kind-config.ts';
import { type Banner, banners, type tcpKeys, tlsModes, type Upgrade } from './keys.ts';

const schemas = {
  ...everyKindSchemas,
  ...connectionSchemas,
  banner: z.enum(banners),
  send: payloadSchema,
  expect: payloadSchema,
  encoding: encodingSchema,
  tls: z.enum(tlsModes),
  server_name: serverNameSchema,
} satisfies KeySchemas<keyof typeof tcpKeys>;

export const tcpConfig: KindConfig = {
  schemas,
  clashes,
  // It may log in.
  secretPaths: () => [['send']],
};

function clashes(config: Config, { target, interval_s }: ConfigContext): ConfigFault[] {
  const faults: ConfigFault[] = payloadFaults(config);
  const say = (key: string, remedy: string) => faults.push({ key, remedy });
  if (given(config, 'send') && isMailPort(hostAndPort('tcp', target)?.port ?? 0))
    say('send', 'leave it out on ports of mail; `banner` "smtp" checks a mail server');
  const tls = asText(config.tls) ?? 'none';
  const banner = asText(config.banner);
  if (banner !== undefined && tls !== 'none' && tls !== 'implicit' && banner !== tls)
    say('banner', `leave it out: \`tls\` "${tls}" reads the greeting of that protocol`);
  if (tls === 'none')
    for (const key of ['server_name', 'tls_expires_within_days'])
      if (given(config, key)) say(key, 'set `tls` too; without it there is no certificate');
  return [...faults, ...limitFaults(config, interval_s)];
}

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

/** Reads a config that `configFaults` accepted, with its secrets in plain form. */
export function tcpSettings(config: Config): TcpSettings {
  const send = payloadIn(config, 'send');
  return {
    ...connectionSettings(config),
    banner: banners.find((one) => one === config.banner) ?? null,
    send,
    expect: payloadIn(config, 'expect'),
    expect_words: asText(config.expect) ?? '',
    tls: tlsModes.find((one) => one === config.tls) ?? 'none',
    server_name: serverNameIn(config),
    secrets: secretWordsIn(send),
  };
}

export const tcpTarget: KindTarget = portTarget('tcp', 'db.example.com:5432');
