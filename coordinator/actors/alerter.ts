import type { Clock } from '../../shared/base/clock.ts';
import type { Log } from '../../shared/base/log.ts';
import { release } from '../domain/alerting.ts';
import { heldAlerts, releaseAlerts } from '../store/alerts-release.ts';
import { coverOfMonitors } from '../store/cover.ts';
import type { Sql } from '../store/database.ts';

/**
 * Lets held alerts go when they are due and nothing covers the monitor (rule 25). Every coordinator does it: a row changes its state
 * once, whoever is quicker.
 */
export type Alerter = { readonly tick: () => Promise<void> };

const page = 500;
/** A covered alert is looked at again after this, so that one whose window was deleted goes out at once. */
const againMs = 1_000;

export const createAlerter = ({ sql, clock, log }: { readonly sql: Sql; readonly clock: Clock; readonly log: Log }): Alerter => {
  let lookAt = 0;

  const releasePage = async (now: number, after: number): Promise<{ last: number | undefined; held: number }> => {
    const waiting = await heldAlerts(sql, now, after, page);
    const monitors = [...new Set(waiting.map(({ monitor_id }) => monitor_id))];
    const covers = await coverOfMonitors(sql, monitors, { from: now - 1, to: now + 1 });
    const due = waiting.filter(({ monitor_id, due_at }) => release(due_at.getTime(), covers.get(monitor_id) ?? [], now).is === 'due');
    const released = await releaseAlerts(
      sql,
      due.map(({ id }) => id),
    );
    if (released > 0) log.info({ alerts: released }, 'alerts are due');
    return { last: waiting.at(-1)?.id, held: waiting.length - due.length };
  };

  return {
    tick: async () => {
      const now = clock.now();
      // While covered ones wait, all are asked about once a second; else the question costs next to nothing.
      if (now < lookAt) return;
      let held = 0;
      for (let after: number | undefined = 0; after !== undefined; ) {
        const found = await releasePage(now, after);
        held += found.held;
        after = found.last;
      }
      lookAt = held > 0 ? now + againMs : 0;
    },
  };
};
