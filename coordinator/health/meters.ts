import type { Unit } from '../engine/commit.ts';

export type RecheckReason = 'now' | 'sample' | 'first';

/** What became of the wish: a probe was asked, none is there to ask, this monitor was asked about too lately, or samples cost too much now. */
export type RecheckOutcome = 'asked' | 'no_probe' | 'too_soon' | 'over_budget';

/**
 * What parts say of their work as they do it, for whoever counts. Most installations count nothing: then nothing is done here, and nobody may do more for
 * a figure than name what is at hand.
 */
export type Figures = {
  /** So much was committed in one transaction. */
  readonly committed: (units: readonly Unit[], tookMs: number, now: number) => void;
  /** A partition's checkpoint was packed and committed. */
  readonly checkpointed: (tookMs: number) => void;
  /** A partition stood and was given up. */
  readonly gaveUp: () => void;
  readonly refused: (reason: string, count: number) => void;
  /** Somebody wished that a probe looked. */
  readonly asked: (why: RecheckReason, outcome: RecheckOutcome) => void;
  /** A message was tried; `lateMs` after it was due. */
  readonly told: (kind: string, verdict: string, lateMs: number) => void;
};

export const noFigures: Figures = {
  committed: () => undefined,
  checkpointed: () => undefined,
  gaveUp: () => undefined,
  refused: () => undefined,
  asked: () => undefined,
  told: () => undefined,
};
