import type { Ticker } from '../../shared/actor/mailbox.ts';
import { createRetryingTicker } from '../housekeeping/ticker.ts';
import { createComposer } from './compose.ts';
import { createDeliverer, type DelivererDependencies } from './deliver.ts';
import { createOwnerFallback } from './last-resort.ts';
import { createPlanner } from './plan.ts';

/**
 * Tells people. An event of an incident that became due goes this way, each part by itself safe to be cut off at any moment:
 *
 *   alerts (due) → planner → steps, one for each channel → composer → messages, as the bucket allows → courier → attempts
 *
 * Any coordinator does any part of it: rows are held while they are worked on, and others leave them alone. It is woken by the commit that gives it
 * something to do, and looks by itself twice a second for what became due by time alone.
 */
export type Notifier = {
  /** Something became due. */
  readonly hurry: () => void;
  readonly close: () => Promise<void>;
};

export type NotifierDependencies = DelivererDependencies & {
  readonly everyMs: number;
  /** How often it is looked for what nobody took, and for channels that do not deliver. */
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
    // Of many events those planned first leave first: the first message waits for none of the others.
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
