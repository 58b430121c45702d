import type { Clock } from '../../shared/base/time.ts';
import { createAccountSecrets } from '../access/access-account-secrets.ts';
import { createAttempts } from '../access/access-attempts.ts';
import { createKeptKey, type MasterKeys } from '../access/access-master-keys.ts';
import type { SecretsAtRest } from '../access/access-secrets-at-rest.ts';
import type { MintedToken } from '../access/access-tokens.ts';
import { noTextRecords, type TextRecords } from '../outgoing/outgoing-dns-text-records.ts';
import type { Sql } from '../store/store-database.ts';
import { createShownMonitors } from '../store/store-remembered-monitors.ts';
import type { ChannelsPart } from './channels/operation-channel-needs.ts';
import type { Door } from './operation-context.ts';
import { createCursors } from './operation-cursors.ts';
import { createGate, type Gate } from './operation-gate.ts';
import type { ProbesPart } from './probes/operation-probe-needs.ts';
import type { TrialsPart } from './trials/operation-trial-needs.ts';

export type { Answered } from './operation-bind.ts';
export type { Named, Outcome } from './operation-done-once.ts';
export type { Gate } from './operation-gate.ts';

export type OperationsParts = MasterKeys & {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly secrets: SecretsAtRest;
  readonly mintToken: () => Promise<MintedToken>;
  readonly probes: ProbesPart;
  readonly trials: TrialsPart;
  readonly channels: ChannelsPart;
  /** From shared/bus, which this room does not know. */
  readonly partitionOf: (monitor: string) => number;
  readonly baseUrl: () => string;
  readonly textRecords?: TextRecords;
  readonly door?: Door;
};

/** Nobody comes in but by an invitation that the inviter passes on. */
const shutDoor: Door = { signUp: 'invited', signUpPlan: 'free', mail: false };

/** The gate with everything behind it. */
export const createOperations = (parts: OperationsParts): Gate => {
  const { sql, clock, secretKey, previousKey, ...instruments } = parts;
  const cursors = createCursors(createKeptKey(sql, { secretKey, previousKey }, 'cursors'));
  const accountSecrets = createAccountSecrets(sql, { secretKey, previousKey });
  return createGate({
    sql,
    clock,
    instruments: {
      door: shutDoor,
      textRecords: noTextRecords,
      ...instruments,
      cursors,
      accountSecrets,
      attempts: createAttempts(sql, clock, accountSecrets),
      shownMonitors: createShownMonitors(),
    },
  });
};
