import type { MonitorState } from '../domain/incident-types.ts';
import type { Lease } from '../store/leases.ts';

/** A monitor as its partition's owner holds it in memory. Replaced in place when a decision about it is committed. */
export type Held = {
  readonly key: number;
  /** A hash of the host that it checks: tells distinct targets apart. */
  readonly target: number;
  state: MonitorState;
  /** When it wants its next tick; infinite when only an event can change it. */
  due: number;
  /** When its config last changed, as far as this matters for results read after a start; 0 when not known. */
  changedAt: number;
};

export type PartitionState = {
  readonly lease: Lease;
  readonly monitors: Map<string, Held>;
  /** `<probe key>:<generation>` → how far its results are committed here. */
  readonly watermarks: Map<string, number>;
  /** Not later than the earliest `due` of all monitors. */
  nextDue: number;
  /** Lines of the outbox that are decided and committed, but not yet published: the bus was away. */
  readonly unpublished: Set<number>;
  /** When the newest checkpoint was written. */
  checkpointAt: number;
};

export const watermarkName = (probeKey: number, generation: string): string => `${probeKey}:${generation}`;
