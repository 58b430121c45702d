import type { Result } from '../../shared/checks/result.ts';
import type { AwaitedRecheck } from '../core/rechecks.ts';
import type { ProbeRow } from '../probes/queries.ts';
import type { Hours, Sealing } from '../results/hours.ts';
import type { Monitors } from './monitor-memory.ts';
import type { Lease } from './queries.ts';

/** First checks without an answer yet. */
export type Unseen = {
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

/**
 * The results of one hold that wait (rule 4), by monitor, and the monitors that do not wait
 * (engine/early-decisions.ts). Only the partition holds it and changes it. A partition that is
 * loaded again makes it anew from the next message, which carries all that is held.
 *
 * Modes of a monitor: waiting → early (its results are decided as they come, until the hold ends).
 */
export type EarlyQueue = {
  /** The number of the hold. */
  readonly hold: number;
  /** How many of the held messages are taken in. */
  taken: number;
  readonly early: Set<string>;
  readonly waiting: Map<string, WaitingResult[]>;
  /** How many results were taken in; above a limit the rest waits for the end of the hold. */
  size: number;
  /** By name of the watermark: the last result that was taken in without one missing before it. */
  readonly reached: Map<string, number>;
};

export type WaitingResult = {
  readonly probe: ProbeRow;
  readonly generation: string;
  readonly result: Result;
};

export type PartitionState = {
  readonly lease: Lease;
  readonly monitors: Monitors;
  /** `<probe key>:<generation>` → how far its results are committed here. */
  readonly watermarks: Map<string, number>;
  /**
   * The same name → results beyond that which are committed too: they were decided early, before
   * results that waited for other probes (rule 4).
   */
  readonly ahead: Map<string, readonly number[]>;
  /** Not later than the earliest time at which a monitor needs its tick. */
  nextDue: number;
  /** Lines of the outbox that are decided and committed, but not published: the bus was away. */
  readonly unpublished: Set<number>;
  readonly unseen: Unseen;
  /** Undefined while nothing is held. */
  early: EarlyQueue | undefined;
  /** What is committed and in no chunk yet. */
  readonly hours: Hours;
  /** The hour whose chunks are being written. */
  sealing: Sealing | undefined;
};

export const watermarkName = (probeKey: number, generation: string): string =>
  `${probeKey}:${generation}`;
