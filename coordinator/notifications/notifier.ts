import type { Ticker } from '../../shared/actor/mailbox.ts';
import { createRetryingTicker } from '../housekeeping/ticker.ts';
import { createComposer } from './compose.ts';
import { createDeliverer, type DelivererDependencies } from './deliver.ts';
import { createOwnerFallback } from './last-resort.ts';
import { createPlanner } from './plan.ts';

/**
 * Notifies people. A due event of an incident passes through these parts; each is safe to be
 * interrupted at any moment:
 *
 *   alerts (due) → planner → steps, one per channel → composer → messages, as the bucket allows →
 *   deliverer → attempts
 *
 * Any coordinator may do any part: rows are locked while they are worked on, and others skip them.
 * A commit that creates work wakes it; it also polls twice a second for what became due by time
 * alone.
 */
export type Notifier = {
  /** Call when something became due. */
  readonly hurry: () => void;
  readonly close: () => Promise<void>;
};

export type NotifierDependencies = DelivererDependencies & {
  readonly everyMs: number;
  /** How often it checks for undelivered alerts, and for channels that do not deliver. */
  readonly rescueMs: number;
  /** Whether owners can be mailed. */
  readonly hasMail: boolean;
};

export const createNotifier = (parts: NotifierDependencies): Notifier => {
  const { sql, clock, log, everyMs, rescueMs, kindOf } = parts;
  const planner = createPlanner({ sql, clock, log });
  const composer = createComposer({ sql, clock, isByThread: (kind) => kindOf(kind)?.resolves === true });
  const courier = createDeliverer(parts);
  const rescue = createOwnerFallback({ sql, clock, log, hasMail: parts.hasMail });
  const tick = async (): Promise<void> => {
    // Of many events, those planned first leave first: the first message does not wait for the
    // others.
    for (let isMore = true; isMore; ) {
      const isPlanned = await planner.plan();
      const isComposed = await composer.compose();
      await courier.hurry();
      isMore = isPlanned || isComposed;
    }
  };
  const telling = createRetryingTicker({ name: 'telling', everyMs, tick, log });
  const rescuing: Ticker = createRetryingTicker({ name: 'rescue', everyMs: rescueMs, tick: rescue.tick, log });
  return {
    hurry: telling.hurry,
    close: async () => {
      await telling.stop();
      await rescuing.stop();
      await courier.close();
    },
  };
};
