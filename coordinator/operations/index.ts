import type { Clock } from '../../shared/base/clock.ts';
import { createAccountSecrets } from '../access/account-secrets.ts';
import { createAttempts } from '../access/attempts.ts';
import { createKeptKey, type MasterKeys } from '../access/master-keys.ts';
import type { SecretsAtRest } from '../access/secrets-at-rest.ts';
import type { MintedToken } from '../access/tokens.ts';
import { noTextRecords, type TextRecords } from '../outgoing/dns-text-records.ts';
import type { Sql } from '../store/database.ts';
import { createShownMonitors } from '../store/shown-monitors.ts';
import type { ChannelsPart } from './channels/channels-part.ts';
import type { Door } from './context.ts';
import { createCursors } from './cursors.ts';
import { createGate, type Gate } from './execute.ts';
import type { ProbesPart } from './probes/probes-part.ts';
import type { TrialsPart } from './trials/running-trials.ts';

export type { Answered } from './bind.ts';
export type { Gate } from './execute.ts';
export type { Named, Outcome } from './once.ts';

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
