import type { AwaitedRecheck } from '../core/rechecks.ts';
import type { Monitors } from './monitor-memory.ts';
import type { Lease } from './queries.ts';

/** First looks that are not answered yet. */
export type Unseen = {
  /** Monitors that perhaps nobody has seen yet, and of whom that is awaited; undefined when nobody could look, or nobody has been asked yet. */
  readonly awaited: Map<string, AwaitedRecheck | undefined>;
  /** The epoch of the roster by which they were last looked through. */
  epoch: number;
  /** Not later than the earliest end of anybody's patience. */
  nextEnd: number;
};

export type PartitionState = {
  readonly lease: Lease;
  readonly monitors: Monitors;
  /** `<probe key>:<generation>` → how far its results are committed here. */
  readonly watermarks: Map<string, number>;
  /** The same name → results beyond that which are committed too: they went ahead of what waited for others (rule 4). */
  readonly ahead: Map<string, readonly number[]>;
  /** Not later than the earliest time at which a monitor wants its tick. */
  nextDue: number;
  /** Lines of the outbox that are decided and committed, but not yet published: the bus was away. */
  readonly unpublished: Set<number>;
  readonly unseen: Unseen;
};

export const watermarkName = (probeKey: number, generation: string): string => `${probeKey}:${generation}`;
