import type { Log } from '../shared/base/log.ts';
import type { Clock } from '../shared/base/time.ts';
import { keyFromSeed } from '../shared/bus/nkeys.ts';
import { partitionOf } from '../shared/bus/subjects.ts';
import { type Connections, createConnections } from './assistants/connections.ts';
import { anchorsOf, busAddressOf, type Config, installationProviderOf } from './config.ts';
import type { Sql } from './database/connect.ts';
import { createOperations } from './dependencies.ts';
import type { Gate } from './gate/execute.ts';
import { createSourceReach } from './imports/reach.ts';
import { noTestRuns, type TestRunsPart } from './monitors/test-run.ts';
import { createNotifications, type Notifications } from './notifications/setup.ts';
import { handlers } from './operations.ts';
import { createOwnPlaces } from './outbound/connection.ts';
import {
  createDocumentReader,
  createTextRecords,
  type DocumentReader,
} from './outbound/documents.ts';
import { createSessions, type Sessions } from './people/sessions.ts';
import { createProbeIdentities } from './probes/identities.ts';
import type { ProvidersPart } from './providers/lookup.ts';
import { createProviderProtocol } from './providers/protocol.ts';
import { createResults, noUnsealedHours, type Results } from './results/reading.ts';
import { type AccountSecrets, createAccountSecrets } from './secrets/account-secrets.ts';
import { createSecretsAtRest, type SecretsAtRest } from './secrets/at-rest.ts';
import { createTokens, type Tokens } from './tokens/authenticate.ts';

/**
 * The gate and what comes before it: the same for the server and for the operator's commands, which
 * need no bus.
 */
type GateSetup = {
  readonly gate: Gate;
  readonly tokens: Tokens;
  readonly sessions: Sessions;
  /** Callers through an assistant. */
  readonly connections: Connections;
  readonly secrets: SecretsAtRest;
  readonly accountSecrets: AccountSecrets;
  readonly notifications: Notifications;
  /** What asks other services: for imports, and who signs in. */
  readonly readers: readonly DocumentReader[];
  readonly providers: ProvidersPart;
  readonly ownPlaces: ReturnType<typeof createOwnPlaces>;
};

type Dependencies = {
  readonly config: Config;
  readonly sql: Sql;
  readonly clock: Clock;
  readonly log: Log;
  readonly baseUrl: () => string;
  /** Programs that read no single checks need no unsealed hours. */
  readonly results?: Results;
  /** Programs without a bus cannot run tests. */
  readonly trials?: TestRunsPart;
};

export function createGateSetup({
  config,
  sql,
  clock,
  log,
  baseUrl,
  results = createResults({ unsealed: noUnsealedHours, log }),
  trials = noTestRuns,
}: Dependencies): GateSetup {
  const { SECRET_KEY: secretKey, SECRET_KEY_PREVIOUS: previousKey } = config;
  const secrets = createSecretsAtRest(secretKey, previousKey);
  const tokens = createTokens({ sql, secretKey, previousKey, clock, log });
  const accountSecrets = createAccountSecrets(sql, { secretKey, previousKey });
  const sessions = createSessions({ sql, clock, log, accountSecrets });
  const connections = createConnections({ sql, secretKey, previousKey, clock, log, baseUrl });
  const ownPlaces = createOwnPlaces({
    servers: [config.NATS_URL, config.DATABASE_URL],
    baseUrl,
  });
  const notifications = createNotifications({
    config,
    sql,
    clock,
    log,
    secrets,
    baseUrl,
    ownPlaces,
    results,
  });
  const account = keyFromSeed(config.NATS_ACCOUNT_SEED, 'account');
  const probes = createProbeIdentities({
    account,
    clock,
    natsUrl: () => busAddressOf(config, baseUrl()),
    ca: config.NATS_CA,
    anchors: () => anchorsOf(config, baseUrl()),
    secretKeys: previousKey === undefined ? [secretKey] : [secretKey, previousKey],
  });
  // An answer is a page of a list, and larger ones are in pages.
  const sourceReader = createDocumentReader({ maxBytes: 4_194_304, ownPlaces });
  // Keys and descriptions of some providers are longer than most documents.
  const guardedReader = createDocumentReader({ maxBytes: 524_288, ownPlaces });
  const openReader = createDocumentReader({
    maxBytes: 524_288,
    allow: ['0.0.0.0/0', '::/0'],
    ownPlaces: async () => () => false,
  });
  const providers = {
    installation: installationProviderOf(config),
    protocol: createProviderProtocol({ guarded: guardedReader.read, open: openReader.read }),
  };
  const gate = createOperations({
    handlers,
    sql,
    clock,
    results,
    secretKey,
    previousKey,
    secrets,
    mintToken: tokens.mint,
    probes,
    identifiesProbes: config.IDENTIFY_PROBES,
    partitionOf,
    baseUrl,
    watcher: config.HEARTBEAT_URL === undefined ? null : new URL(config.HEARTBEAT_URL).host,
    trials,
    textRecords: createTextRecords(config.DNS_RESOLVERS),
    reachSource: createSourceReach(sourceReader),
    channels: notifications.channels,
    providers,
    door: {
      signUp: config.SIGN_UP,
      signUpPlan: config.SIGN_UP_PLAN,
      mail: config.SMTP_URL !== undefined,
    },
  });
  return {
    gate,
    tokens,
    sessions,
    connections,
    secrets,
    accountSecrets,
    notifications,
    readers: [sourceReader, guardedReader, openReader],
    providers,
    ownPlaces,
  };
}
