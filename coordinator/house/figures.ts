import type { Unit } from '../store/commit.ts';

/**
 * What parts say of their work as they do it, for whoever counts. Most installations count nothing: then nothing is done here, and nobody may do more for
 * a figure than name what is at hand.
 */
export type Figures = {
  /** So much was committed in one transaction. */
  readonly committed: (units: readonly Unit[], tookMs: number, now: number) => void;
  /** A partition's checkpoint was packed and committed. */
  readonly checkpointed: (tookMs: number) => void;
  readonly refused: (reason: string, count: number) => void;
  /** A probe was asked to look. */
  readonly asked: (why: 'now' | 'sample' | 'first') => void;
  /** A message was tried; `lateMs` after it was due. */
  readonly told: (kind: string, verdict: string, lateMs: number) => void;
};

export const noFigures: Figures = {
  committed: () => undefined,
  checkpointed: () => undefined,
  refused: () => undefined,
  asked: () => undefined,
  told: () => undefined,
};
