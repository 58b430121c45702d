import type { Log } from '../base/log.ts';
import { backoff } from '../base/retry.ts';
import type { FailedDial } from './bus-dialling.ts';

/**
 * Says why the bus cannot be reached, and does not fill the disk with it: the first failed dial, then one at growing distances, with how many
 * there were; a reason that this absence has not had yet at once.
 */
export type DialLog = { readonly failed: FailedDial; readonly reached: () => void };

const firstDistanceMs = 5_000;
const longestDistanceMs = 600_000;
/** Of an absence; a server that says something else each time is no reason to repeat it all. */
const mostReasons = 8;

export const createDialLog = (log: Log, name: string, now: () => number = () => performance.now()): DialLog => {
  let since = 0;
  let failed = 0;
  let lines = 0;
  let dueAt = 0;
  const reasons = new Set<string>();

  return {
    failed: (server, why) => {
      const at = now();
      if (failed === 0) since = at;
      failed += 1;
      const reason = `${server} ${why.message}`;
      const isNew = reasons.size < mostReasons && !reasons.has(reason);
      if (!isNew && at < dueAt) return;
      reasons.add(reason);
      dueAt = at + backoff(lines, firstDistanceMs, longestDistanceMs);
      lines += 1;
      log.error(
        { err: why, server, connection: name, failed_dials: failed, for_s: Math.round((at - since) / 1_000) },
        'the bus cannot be reached',
      );
    },
    reached: () => {
      if (failed > 0)
        log.info({ connection: name, failed_dials: failed, after_s: Math.round((now() - since) / 1_000) }, 'the bus is reached');
      failed = 0;
      lines = 0;
      reasons.clear();
    },
  };
};
