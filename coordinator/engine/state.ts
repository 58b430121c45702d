import type { AwaitedRecheck } from '../core/rechecks.ts';
import type { Hours, Sealing } from '../results/hours.ts';
import type { Earlier } from '../results/unsealed-hours.ts';
import type { Monitors } from './monitor-memory.ts';
import type { Lease } from './queries.ts';

/** First checks without an answer yet. */
export type PendingFirstChecks = {
  /**
   * Monitors that may have no result yet, and the awaited check of each; undefined when no probe
   * could check, or none has been asked yet.
   */
  readonly awaited: Map<string, AwaitedRecheck | undefined>;
  /** The epoch of the roster at the begin of their last review. */
  epoch: number;
  /** Those that the review has not come to yet. */
  left: readonly string[];
  /** Not later than the earliest timeout of an awaited check. */
  nextEnd: number;
};

export type PartitionState = {
  readonly lease: Lease;
  readonly monitors: Monitors;
  /** `<probe key>:<generation>` → how far its results are committed here. */
  readonly watermarks: Map<string, number>;
  /** Not later than the earliest time at which a monitor needs its tick. */
  nextDue: number;
  /** Rows of the outbox that are decided and committed, but not published: the bus was down. */
  readonly unpublished: Set<number>;
  readonly firstChecks: PendingFirstChecks;
  /** What is committed and in no chunk yet. */
  readonly hours: Hours;
  /** What of it is not read yet; undefined: it is complete. */
  earlier: Earlier | undefined;
  /** The hour whose chunks are being written. */
  sealing: Sealing | undefined;
};

export function watermarkName(probeKey: number, generation: string): string {
  return `${probeKey}:${generation}`;
}
