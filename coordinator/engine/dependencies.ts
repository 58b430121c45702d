import type { LimitFunction } from 'p-limit';
import type { Starts } from '../../shared/actor/supervisor.ts';
import type { Log } from '../../shared/base/log.ts';
import type { Clock } from '../../shared/base/time.ts';
import type { Bus } from '../../shared/bus/nats.ts';
import type { Roster } from '../../shared/checks/assignment.ts';
import type { Assignments } from '../assignments/publishing.ts';
import type { LatestPresence } from '../core/backlog.ts';
import type { SeenResult } from '../core/types.ts';
import type { Sql } from '../database/connect.ts';
import type { Figures } from '../health/meters.ts';
import type { Refusals } from '../health/refusals.ts';
import type { Announcements } from '../probes/announcements.ts';
import type { Directory } from '../probes/directory.ts';
import type { Receipts } from '../probes/presence.ts';
import type { ObservedState } from '../probes/trust.ts';
import type { OwnedUnsealedHours } from '../results/unsealed-hours.ts';
import type { AskForRechecks } from './rechecks.ts';
import type { PartitionState } from './state.ts';
import type { Timing } from './timing.ts';
import type { Writer } from './writer.ts';

/** What every partition of a coordinator works with. */
export type PartitionDependencies = {
  readonly supervisor: Starts<'partition' | 'waiting lines'>;
  readonly sql: Sql;
  readonly bus: Bus;
  readonly clock: Clock;
  readonly log: Log;
  readonly timing: Timing;
  readonly figures: Figures;
  readonly writer: Writer;
  readonly directory: Directory;
  readonly announcements: Pick<Announcements, 'read' | 'trust'>;
  readonly refusals: Refusals;
  readonly receipts: Receipts;
  readonly assignments: Assignments;
  readonly installation: string;
  /**
   * What the partitions of this coordinator hold now, for counting. Only their owners change it.
   */
  readonly loaded: Map<number, PartitionState>;
  /** Loading a partition takes memory that is soon free again, so only a few load at a time. */
  readonly loading: LimitFunction;
  /** Many renewals of consumers at once make the bus slow for all of them. */
  readonly renewing: LimitFunction;
  /**
   * All partitions begin at once, which does not make the bus faster. A page waits for its turn in
   * its partition, so some more than the bus keeps busy go on at the same time.
   */
  readonly reconciling: LimitFunction;
  readonly roster: () => Roster;
  /** The last presence of each healthy probe. */
  readonly presences: () => readonly LatestPresence[];
  /** Requests rechecks from probes. */
  readonly requestRechecks: AskForRechecks;
  /** A check counted: the quarantine judges what it shows about its probe. */
  readonly observe: (result: SeenResult, of: ObservedState) => void;
  /** Whether passes of this probe matter too: those of a trusted probe add nothing. */
  readonly needsPasses: (probe: string) => boolean;
  readonly unsealed: OwnedUnsealedHours;
  /** Results that started before this are no longer accepted. */
  readonly oldestAccepted: (now: number) => number;
  /** Results that started before this are kept for nobody. */
  readonly oldestKept: (now: number) => number;
};
