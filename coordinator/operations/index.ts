import type { Clock } from '../../shared/base/clock.ts';
import type { ProbesPart } from '../access/probes.ts';
import type { SecretsAtRest } from '../access/secrets.ts';
import type { MintedToken } from '../access/tokens.ts';
import type { Sql } from '../store/database.ts';
import { createShownMonitors } from '../store/shown-monitors.ts';
import { createCursors } from './cursors.ts';
import { createGate, type Gate } from './execute.ts';

export type { Gate } from './execute.ts';
export type { Answered } from './handlers.ts';

export type OperationsParts = {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly secretKey: string;
  readonly secrets: SecretsAtRest;
  readonly mintToken: () => MintedToken;
  readonly probes: ProbesPart;
  /** From shared/bus, which this room does not know. */
  readonly partitionOf: (monitor: string) => number;
  readonly baseUrl: () => string;
};

/** The gate with everything behind it. */
export const createOperations = (parts: OperationsParts): Gate => {
  const { sql, clock, secretKey, ...instruments } = parts;
  return createGate({
    sql,
    clock,
    instruments: { ...instruments, cursors: createCursors(secretKey), shownMonitors: createShownMonitors() },
  });
};
