import type { Clock } from '../../shared/base/clock.ts';
import { createKeptKey, type MasterKeys } from '../access/master-keys.ts';
import type { ProbesPart } from '../access/probes.ts';
import type { SecretsAtRest } from '../access/secrets.ts';
import type { MintedToken } from '../access/tokens.ts';
import type { Sql } from '../store/database.ts';
import { createShownMonitors } from '../store/shown-monitors.ts';
import { createCursors } from './cursors.ts';
import { createGate, type Gate } from './execute.ts';

export type { Gate } from './execute.ts';
export type { Answered } from './handlers.ts';

export type OperationsParts = MasterKeys & {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly secrets: SecretsAtRest;
  readonly mintToken: () => Promise<MintedToken>;
  readonly probes: ProbesPart;
  /** From shared/bus, which this room does not know. */
  readonly partitionOf: (monitor: string) => number;
  readonly baseUrl: () => string;
};

/** The gate with everything behind it. */
export const createOperations = (parts: OperationsParts): Gate => {
  const { sql, clock, secretKey, previousKey, ...instruments } = parts;
  const cursors = createCursors(createKeptKey(sql, { secretKey, previousKey }, 'cursors'));
  return createGate({
    sql,
    clock,
    instruments: { ...instruments, cursors, shownMonitors: createShownMonitors() },
  });
};
