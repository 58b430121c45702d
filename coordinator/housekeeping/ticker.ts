import { createTicker, type Ticker } from '../../shared/actor/mailbox.ts';
import { backoff } from '../../shared/base/async.ts';
import type { Log } from '../../shared/base/log.ts';

/**
 * A ticker that pauses after a failure, longer each time: otherwise an unreachable database would
 * fill the log.
 */
export const createRetryingTicker = (options: {
  /** What failed, for the log. */
  readonly name: string;
  readonly everyMs: number;
  readonly tick: () => Promise<unknown>;
  readonly log: Log;
}): Ticker => {
  const { name, everyMs, tick, log } = options;
  let failures = 0;
  let restUntil = 0;
  return createTicker({
    everyMs,
    tick: async () => {
      if (performance.now() < restUntil) return;
      await tick();
      failures = 0;
    },
    onFailure: (error) => {
      restUntil = performance.now() + backoff(failures, 500, 5_000);
      failures += 1;
      log.error({ err: error, part: name, failures }, 'a part of the engine failed; retrying');
    },
  });
};
