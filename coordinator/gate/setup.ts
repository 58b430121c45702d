import type { Clock } from '../../shared/base/time.ts';
import type { Reach } from '../../shared/imports/download.ts';
import type { Sql } from '../database/connect.ts';
import { createRememberedMonitors } from '../monitors/memory.ts';
import { noTextRecords, type TextRecords } from '../outbound/documents.ts';
import { createAccountSecrets } from '../people/secrets.ts';
import { createRegistryList } from '../registrations/list.ts';
import type { Results } from '../results/reading.ts';
import type { SecretsAtRest } from '../secrets/at-rest.ts';
import { createKeptKey, type MasterKeys } from '../secrets/keys.ts';
import type { MintedToken } from '../tokens/authenticate.ts';
import { createAttempts } from './attempts.ts';
import type { Handlers } from './bind.ts';
import type { ChannelsPart, ProbesPart, SignUpPolicy, TestRunsPart } from './context.ts';
import { createCursors } from './cursors.ts';
import { createGate, type Gate } from './execute.ts';

export type { Answered, Handlers } from './bind.ts';
export type { Gate } from './execute.ts';
export type { Named, Outcome } from './idempotency.ts';

export type OperationsDependencies = MasterKeys & {
  readonly handlers: Handlers;
  readonly sql: Sql;
  readonly clock: Clock;
  readonly results: Results;
  readonly secrets: SecretsAtRest;
  readonly mintToken: () => Promise<MintedToken>;
  readonly probes: ProbesPart;
  readonly identifiesProbes: boolean;
  readonly trials: TestRunsPart;
  readonly channels: ChannelsPart;
  /** From shared/bus, which this folder must not import. */
  readonly partitionOf: (monitor: string) => number;
  readonly baseUrl: () => string;
  readonly textRecords?: TextRecords;
  readonly reachSource?: Reach;
  readonly door?: SignUpPolicy;
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
      ...instruments,
      cursors,
      accountSecrets,
      attempts: createAttempts(sql, clock, accountSecrets),
      shownMonitors: createRememberedMonitors(instruments.results),
      registries: createRegistryList(clock).current,
    },
  });
}
