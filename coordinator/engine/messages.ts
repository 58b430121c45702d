import type { Delivered } from '../../shared/bus/nats.ts';
import type { Backlog, Late } from '../core/backlog.ts';
import type { SeenPing } from '../core/types.ts';
import type { ReconcileAnswer, ReconcileTurn } from './reconcile.ts';

/** Messages to a partition and its answers: data, never a function to call. */
export type PartitionMessage =
  /** Only loads the partition, after all earlier messages. */
  | { readonly is: 'warm' }
  /** Answered by `waits` when its results were kept and other probes may have kept as many. */
  | {
      readonly is: 'deliveries';
      readonly deliveries: readonly Delivered[];
      readonly backlog: Backlog;
    }
  /** All that is held. What need not wait is decided; answered by `early`. */
  | ({ readonly is: 'waiting' } & HeldDeliveries)
  /** `only`: all other monitors wait for the backlog. */
  | { readonly is: 'tick'; readonly only?: ReadonlySet<string> }
  | { readonly is: 'outbox' }
  /** Answered by `reconciled` or `failed`: a failure in it does not discard the state. */
  | { readonly is: 'reconcile'; readonly turn: ReconcileTurn }
  | {
      readonly is: 'pings';
      readonly pings: readonly { readonly monitor: string; readonly ping: SeenPing }[];
    }
  | { readonly is: 'quarantined'; readonly probe: string }
  | { readonly is: 'checkpoint' }
  /** Writes a bite of chunks of hours that are over; answered by `sealed` or `failed`. */
  | { readonly is: 'seal' };

export type PartitionAnswer =
  | { readonly is: 'done' }
  /**
   * None of the deliveries was processed. Kept results are decided once the probes that may have
   * kept as many have delivered them.
   */
  | ({ readonly is: 'waits' } & Late)
  | ({ readonly is: 'early' } & EarlyAnswer)
  | ({ readonly is: 'reconciled' } & ReconcileAnswer)
  | { readonly is: 'sealed'; readonly isMore: boolean }
  | { readonly is: 'failed'; readonly error: unknown };

/** What is held since a hold began (rule 4), and for whom. */
export type HeldDeliveries = {
  /** The number of the hold. */
  readonly hold: number;
  /** When it began, by the clock of results. */
  readonly since: number;
  readonly deliveries: readonly Delivered[];
  /** Probes that may still deliver results. */
  readonly awaited: ReadonlySet<string>;
  /** Whether a probe is no longer awaited since the last such message of this hold. */
  readonly isFewer: boolean;
};

/** Which monitors are decided early, and whether results of others wait. */
export type EarlyAnswer = {
  readonly monitors: ReadonlySet<string>;
  readonly areOthersWaiting: boolean;
};

export const done: PartitionAnswer = { is: 'done' };
