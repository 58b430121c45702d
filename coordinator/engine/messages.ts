import type { Delivered } from '../../shared/bus/nats.ts';
import type { Backlog, Late } from '../core/backlog.ts';
import type { SeenPing } from '../core/types.ts';
import type { Waiting } from './early-decisions.ts';
import type { ReconcileAnswer, ReconcileTurn } from './reconcile.ts';

/** What a partition is told, and what it answers: data, never a function to call. */
export type PartitionMessage =
  /** Nothing but to be there, and to have done all that came before. */
  | { readonly is: 'warm' }
  /** Answered by `waits` when what is in them was kept, and others may have kept as much. */
  | { readonly is: 'deliveries'; readonly deliveries: readonly Delivered[]; readonly handover: Backlog }
  /** These wait; what of them need not is decided. */
  | ({ readonly is: 'waiting' } & Waiting)
  /** `only`: all others wait for what is handed over. */
  | { readonly is: 'tick'; readonly only?: ReadonlySet<string> }
  | { readonly is: 'outbox' }
  /** Answered by `reconciled` or `failed`: what fails in it takes no state with it. */
  | { readonly is: 'reconcile'; readonly turn: ReconcileTurn }
  | { readonly is: 'pings'; readonly pings: readonly { readonly monitor: string; readonly ping: SeenPing }[] }
  | { readonly is: 'quarantined'; readonly probe: string }
  | { readonly is: 'checkpoint' };

export type PartitionAnswer =
  | { readonly is: 'done' }
  /** Nothing has been done with any of the deliveries: what probes kept is decided when those have handed over who may have kept as much. */
  | ({ readonly is: 'waits' } & Late)
  | ({ readonly is: 'reconciled' } & ReconcileAnswer)
  | { readonly is: 'failed'; readonly error: unknown };

export const done: PartitionAnswer = { is: 'done' };
