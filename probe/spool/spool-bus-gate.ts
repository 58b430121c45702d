import type { Log } from '../../shared/base/log.ts';
import { backoff } from '../../shared/base/retry.ts';
import type { Bus } from '../../shared/bus/bus-nats.ts';

/**
 * Whether anything may be sent: there is a bus, and it did not refuse lately.
 *
 * Modes: `none` → `open` ↔ `resting` (after a refusal, ever longer).
 */
export type ReporterGate = {
  readonly attach: (bus: Bus) => void;
  /** There is a new connection: what was refused before is no matter. */
  readonly opened: () => void;
  /** The bus, if anything may be sent now. */
  readonly open: () => Bus | undefined;
  readonly accepted: () => void;
  readonly refused: (error: unknown, partition: number) => void;
};

const now = (): number => performance.now();

export const createReporterGate = (log: Log): ReporterGate => {
  let bus: Bus | undefined;
  let failures = 0;
  let retryAt = 0;
  const isResting = (): boolean => now() < retryAt;
  return {
    attach: (to) => {
      bus = to;
    },
    opened: () => {
      failures = 0;
      retryAt = 0;
    },
    open: () => (bus?.isConnected() && !isResting() ? bus : undefined),
    accepted: () => {
      failures = 0;
    },
    refused: (error, partition) => {
      if (isResting()) return;
      failures += 1;
      retryAt = now() + backoff(failures, 100, 10_000);
      log.warn({ err: error, partition, failures }, 'results could not be handed to the bus; they wait');
    },
  };
};
