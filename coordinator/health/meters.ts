import type { Queryable } from '../database/connect.ts';
import type { Unit } from '../engine/commit.ts';

/** The identity of this database. */
export async function installationId(sql: Queryable): Promise<string> {
  const [row] = await sql<{ id: string }[]>`select id from installation`;
  if (!row)
    throw new Error('the database has no installation row: it was not made by our migrations');
  return row.id;
}

type RecheckReason = 'now' | 'sample' | 'first';

/**
 * What became of a request: a probe was asked, no probe can be asked, this monitor was rechecked
 * too recently, or the budget is spent.
 */
export type RecheckOutcome = 'asked' | 'no_probe' | 'too_soon' | 'over_budget';

/**
 * What parts report of their work for metrics. Most installations collect none, and these functions
 * then do nothing. A caller must do no extra work for a metric; it passes only what it has.
 */
export type Figures = {
  /** One transaction committed these units. */
  readonly committed: (units: readonly Unit[], tookMs: number, now: number) => void;
  /** A partition's checkpoint was packed and committed. */
  readonly checkpointed: (tookMs: number) => void;
  /** A partition stalled and was given up. */
  readonly gaveUp: () => void;
  /** Partitions were taken. */
  readonly took: (count: number) => void;
  readonly refused: (reason: string, count: number) => void;
  /** A recheck was requested. */
  readonly asked: (why: RecheckReason, outcome: RecheckOutcome) => void;
  /** A message was tried; `lateMs` after it was due. */
  readonly told: (kind: string, verdict: string, lateMs: number) => void;
};

const nothing = () => undefined;

export const noFigures: Figures = {
  committed: nothing,
  checkpointed: nothing,
  gaveUp: nothing,
  took: nothing,
  refused: nothing,
  asked: nothing,
  told: nothing,
};
