import type { Log } from '../../shared/base/log.ts';
import type { Bus } from '../../shared/bus/nats.ts';

/**
 * Streams to which the servers would not give their replicas or their place, as servers do that have not all come together yet, are asked for
 * again, at doubling distances.
 *
 * Modes: `kept` (as the settings say) → `wanting` (something was refused) → `kept`.
 */
export type StreamGrowth = { readonly tick: () => Promise<void> };

const firstMs = 10_000;
const mostMs = 600_000;

type Parts = {
  readonly bus: Pick<Bus, 'refusedStreams'>;
  readonly log: Pick<Log, 'info'>;
  readonly ensureStreams: () => Promise<void>;
  /** How long this process runs, in milliseconds: no clock that can be set. */
  readonly elapsed?: () => number;
};

export const createStreamGrowth = ({ bus, log, ensureStreams, elapsed = () => performance.now() }: Parts): StreamGrowth => {
  let askAt: number | undefined;
  let distanceMs = firstMs;
  return {
    tick: async () => {
      const wanting = bus.refusedStreams();
      if (wanting.length === 0) {
        [askAt, distanceMs] = [undefined, firstMs];
        return;
      }
      askAt ??= elapsed() + distanceMs;
      if (elapsed() < askAt) return;
      // Also when it fails otherwise the next asking is further away.
      distanceMs = Math.min(2 * distanceMs, mostMs);
      askAt = elapsed() + distanceMs;
      await ensureStreams();
      if (bus.refusedStreams().length === 0)
        log.info({ streams: wanting }, 'streams have the replicas and the place now that they were refused');
    },
  };
};
