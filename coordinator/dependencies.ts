import type { Clock } from '../shared/base/time.ts';
import type { Reach } from '../shared/imports/download.ts';
import type { Queryable, Sql } from './database/connect.ts';
import { createAttempts } from './gate/attempts.ts';
import type { Handlers } from './gate/bind.ts';
import type { GateDependencies } from './gate/context.ts';
import { createCursors } from './gate/cursors.ts';
import { createGate, type Gate } from './gate/execute.ts';
import { createRememberedMonitors, type RememberedMonitors } from './monitors/memory.ts';
import type { TestRunsPart } from './monitors/test-run.ts';
import type { ChannelsPart } from './notifications/channels.ts';
import type { SignUpPolicy } from './organisations/model.ts';
import { noTextRecords } from './outbound/documents.ts';
import type { ProbesPart } from './probes/identities.ts';
import { noProviders, type ProvidersPart } from './providers/lookup.ts';
import { createRegistryList } from './registrations/list.ts';
import type { Registries } from './registrations/model.ts';
import type { Results } from './results/reading.ts';
import { createAccountSecrets } from './secrets/account-secrets.ts';
import { createKeptKey, type MasterKeys } from './secrets/at-rest.ts';
import type { MintedToken } from './tokens/authenticate.ts';

/** What operations need from their subjects, besides what the gate has itself. */
declare module './gate/context.ts' {
  interface GateDependencies {
    readonly mintToken: () => Promise<MintedToken>;
    /** The one reader of single checks. */
    readonly results: Results;
    readonly shownMonitors: RememberedMonitors;
    readonly partitionOf: (monitor: string) => number;
    readonly probes: ProbesPart;
    /** Whether the addresses of public probes are published. */
    readonly identifiesProbes: boolean;
    readonly trials: TestRunsPart;
    readonly channels: ChannelsPart;
    /** Asks other services for what is imported. */
    readonly reachSource: Reach;
    /** Which registries can be asked about domains. */
    readonly registries: (sql: Queryable) => Promise<Registries>;
    readonly door: SignUpPolicy;
    /** Where people sign in besides here. */
    readonly providers: ProvidersPart;
    /** The host of the installation's own heartbeat; null without one. */
    readonly watcher: string | null;
  }
}

type Own = 'cursors' | 'accountSecrets' | 'attempts' | 'shownMonitors' | 'registries';
type Usual = 'textRecords' | 'reachSource' | 'door' | 'watcher' | 'providers';

type OperationsDependencies = MasterKeys &
  Omit<GateDependencies, Own | Usual> &
  Partial<Pick<GateDependencies, Usual>> & {
    readonly handlers: Handlers;
    readonly sql: Sql;
    readonly clock: Clock;
  };

/** Closed: people join only by an invitation that the inviter passes on. */
const closedSignUp: SignUpPolicy = { signUp: 'invited', signUpPlan: 'free', mail: false };

/** Where no other service is asked. */
const noSources: Reach = async () => ({ status: 503, retryAfter: null, text: '' });

/** The gate with all its dependencies. */
export function createOperations(dependencies: OperationsDependencies): Gate {
  const { handlers, sql, clock, secretKey, previousKey, ...instruments } = dependencies;
  const cursors = createCursors(createKeptKey(sql, { secretKey, previousKey }, 'cursors'));
  const accountSecrets = createAccountSecrets(sql, { secretKey, previousKey });
  return createGate({
    handlers,
    sql,
    clock,
    instruments: {
      door: closedSignUp,
      textRecords: noTextRecords,
      reachSource: noSources,
      watcher: null,
      providers: noProviders,
      ...instruments,
      cursors,
      accountSecrets,
      attempts: createAttempts(sql, clock, accountSecrets),
      shownMonitors: createRememberedMonitors(instruments.results),
      registries: createRegistryList(clock).current,
    },
  });
}
