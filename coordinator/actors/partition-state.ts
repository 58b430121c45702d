import type { Lease } from '../store/leases.ts';
import type { Monitors } from './partition-monitors.ts';

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
  /** Monitors that perhaps nobody has seen yet, and the epoch of the roster by which somebody was last asked to look at them. */
  readonly unseen: Set<string>;
  lookedBy: number;
};

export const watermarkName = (probeKey: number, generation: string): string => `${probeKey}:${generation}`;
