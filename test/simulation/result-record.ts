import type { Continent } from '../../shared/base/continents.ts';
import type { Outcome } from '../../shared/checks/result.ts';

/** One result as the oracle remembers it: what a probe really did, and what became of it. */
export type Made = {
  readonly monitor: number;
  readonly probe: number;
  readonly continent: Continent;
  readonly version: number;
  /** When the check really started, and by the probe's clock. */
  readonly started: number;
  readonly at: number;
  readonly outcome: Outcome;
  readonly look: string | null;
  readonly order: number;
  /** How often it was committed: once, if all is well. */
  counted: number;
  /** When it was decided on, in the round that was committed. */
  decided_at: number | null;
  quarantined: boolean;
  /** Older than what was decided of its probe before. */
  stale: boolean;
  /** Its spool was lost before it was committed. */
  lost: boolean;
};

/** A message delivered to somebody outside. */
export type Delivered = {
  readonly incident: string;
  readonly event: 'down' | 'up' | 'closed';
  readonly channel: string;
  readonly at: number;
  /** When the incident was confirmed, as known when it left: what left has left, though the incident is dated anew (rule 3). */
  readonly confirmed_at: number | null;
};

export type Record = {
  /** By monitor, in order of making. */
  readonly made: Made[][];
  readonly delivered: Delivered[];
  /** By monitor: stretches that were covered by passes without each being made. */
  readonly calm: { from: number; to: number }[][];
  /** Moments at which the network or the coordinator was found to be unwell. */
  readonly unwell: number[];
  readonly violations: string[];
  checks: number;
  messages: number;
  jumps: number;
  restarts: number;
  fenced: number;
};

export const createRecord = (monitors: number): Record => ({
  made: Array.from({ length: monitors }, () => []),
  delivered: [],
  calm: Array.from({ length: monitors }, () => []),
  unwell: [],
  violations: [],
  checks: 0,
  messages: 0,
  jumps: 0,
  restarts: 0,
  fenced: 0,
});
