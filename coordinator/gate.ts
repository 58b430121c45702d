import type { Clock } from '../shared/base/clock.ts';
import type { Log } from '../shared/base/log.ts';
import { keyFromSeed } from '../shared/bus/identity.ts';
import { partitionOf } from '../shared/bus/subjects.ts';
import { createSecretsAtRest, type SecretsAtRest } from './access/secrets.ts';
import { createTokens, type Tokens } from './access/tokens.ts';
import { createProbeIdentities } from './actors/probe-identities.ts';
import type { Config } from './config.ts';
import { createOperations, type Gate } from './operations/index.ts';
import type { Sql } from './store/database.ts';

/** The gate and what stands before it: the same for the server and for the operator's commands, which need no bus. */
export type Entrance = { readonly gate: Gate; readonly tokens: Tokens; readonly secrets: SecretsAtRest };

type Parts = {
  readonly config: Config;
  readonly sql: Sql;
  readonly clock: Clock;
  readonly log: Log;
  readonly baseUrl: () => string;
};

export const createEntrance = ({ config, sql, clock, log, baseUrl }: Parts): Entrance => {
  const { SECRET_KEY: secretKey, SECRET_KEY_PREVIOUS: previousKey } = config;
  const secrets = createSecretsAtRest(secretKey, previousKey);
  const tokens = createTokens({ sql, secretKey, previousKey, clock, log });
  const account = keyFromSeed(config.NATS_ACCOUNT_SEED, 'account');
  const probes = createProbeIdentities({ account, clock, natsUrl: config.NATS_PUBLIC_URL ?? config.NATS_URL });
  const gate = createOperations({ sql, clock, secretKey, previousKey, secrets, mintToken: tokens.mint, probes, partitionOf, baseUrl });
  return { gate, tokens, secrets };
};
