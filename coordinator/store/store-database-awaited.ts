import { backoff, pause } from '../../shared/base/async.ts';
import type { Log } from '../../shared/base/log.ts';
import { entryFault, mayCome, whyNoEntry } from './store-database-entry.ts';

type Waiting = { readonly url: string; readonly log: Pick<Log, 'info' | 'warn'>; readonly signal: AbortSignal };

const firstPauseMs = 200;
const longestPauseMs = 2_000;
/** Who reads the log hears of it at once, of another reason at once, and of the same one at growing distances. */
const firstDistanceMs = 10_000;
const longestDistanceMs = 600_000;

/** Rejects when the signal ends the waiting. */
const endedBy = (signal: AbortSignal): Promise<never> => {
  const { promise, reject } = Promise.withResolvers<never>();
  const end = () => reject(signal.reason);
  if (signal.aborted) end();
  else signal.addEventListener('abort', end, { once: true });
  // It may end when nobody waits any more.
  promise.catch(() => undefined);
  return promise;
};

/**
 * Enters the database, trying again as long as it may still come. `enter` is begun anew from its beginning.
 * @throws ConfigurationFault when waiting helps nobody, in words; the reason of the signal when that ends it.
 */
export const untilThere = async <Entered>(enter: () => Promise<Entered>, { url, log, signal }: Waiting): Promise<Entered> => {
  const begin = performance.now();
  const ended = endedBy(signal);
  let said: string | undefined;
  let lines = 0;
  let dueAt = 0;
  for (let attempt = 0; ; attempt += 1) {
    try {
      const entered = await Promise.race([enter(), ended]);
      if (said !== undefined) log.info({ after_s: Math.round((performance.now() - begin) / 1_000) }, 'the database is there');
      return entered;
    } catch (error) {
      signal.throwIfAborted();
      if (!mayCome(error)) throw entryFault(error, url);
      const why = whyNoEntry(error, url) ?? String(error);
      if (why !== said || performance.now() >= dueAt) {
        log.warn({ why, for_s: Math.round((performance.now() - begin) / 1_000) }, 'the coordinator waits for the database');
        dueAt = performance.now() + backoff(lines, firstDistanceMs, longestDistanceMs);
        lines += 1;
        said = why;
      }
    }
    await pause(backoff(attempt, firstPauseMs, longestPauseMs), signal);
  }
};
