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
  | { readonly is: 'tick' }
  | { readonly is: 'outbox' }
  /** Answered by `reconciled` or `failed`: a failure in it does not discard the state. */
  | { readonly is: 'reconcile'; readonly turn: ReconcileTurn }
  | {
      readonly is: 'pings';
      readonly pings: readonly { readonly monitor: string; readonly ping: SeenPing }[];
    }
  | { readonly is: 'quarantined'; readonly probe: string }
  | { readonly is: 'checkpoint' }
  /** Writes a batch of chunks of hours that are over; answered by `sealed` or `failed`. */
  | { readonly is: 'seal' };

export type PartitionAnswer =
  | { readonly is: 'done' }
  /**
   * None of the deliveries was processed. Kept results are decided once the probes that may have
   * kept as many have delivered them.
   */
  | ({ readonly is: 'waits' } & Late)
  | ({ readonly is: 'reconciled' } & ReconcileAnswer)
  | { readonly is: 'sealed'; readonly isMore: boolean }
  | { readonly is: 'failed'; readonly error: unknown };

export const done: PartitionAnswer = { is: 'done' };
