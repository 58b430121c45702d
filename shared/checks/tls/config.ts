import { z } from 'zod';
import type { Config } from '../assignment.ts';
import {
  type ConnectionSettings,
  connectionSchemas,
  connectionSettings,
  limitFaults,
  portTarget,
  serverNameIn,
  serverNameSchema,
} from '../connection/config.ts';
import {
  everyKindSchemas,
  type KeySchemas,
  type KindConfig,
  type KindTarget,
} from '../kind-config.ts';
import { type MinVersion, minVersions, type tlsKeys } from './keys.ts';

const schemas = {
  ...everyKindSchemas,
  ...connectionSchemas,
  server_name: serverNameSchema,
  // A command line reads 1.3 as a number.
  min_version: z.union([z.enum(minVersions), z.literal([1, 1.1, 1.2, 1.3])]),
} satisfies KeySchemas<keyof typeof tlsKeys>;

export const tlsConfig: KindConfig = {
  schemas,
  clashes: (config, { interval_s }) => limitFaults(config, interval_s),
  secretPaths: () => [],
};

/** A config of a tls check as the check uses it. */
export type TlsSettings = ConnectionSettings & {
  /** null: the host of the target. */
  readonly server_name: string | null;
  readonly min_version: MinVersion;
};

/** Reads a config that `configFaults` accepted. */
export function tlsSettings(config: Config): TlsSettings {
  return {
    ...connectionSettings(config),
    server_name: serverNameIn(config),
    min_version: minVersions.find((one) => Number(one) === Number(config.min_version)) ?? '1.2',
  };
}

export const tlsTarget: KindTarget = portTarget('tls', 'mail.example.com:993');
