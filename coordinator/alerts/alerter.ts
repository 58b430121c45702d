import type { Log } from '../../shared/base/log.ts';
import type { Clock } from '../../shared/base/time.ts';
import { mayTell, release } from '../domain/incident-alerts.ts';
import { type HeldAlert, heldAlerts, releaseAlerts } from '../store/store-alerts.ts';
import type { Sql } from '../store/store-database.ts';
import type { Lease } from '../store/store-leases.ts';
import { coverOfMonitors } from '../store/store-maintenance-cover.ts';

/**
 * Lets held alerts go when they are due and nothing covers the monitor (rule 25). Each coordinator does it for its own partitions, because
 * only who owns one knows whether its past has been decided (rule 4).
 */
export type Alerter = {
  readonly tick: () => Promise<void>;
  /** An alert was written: the next tick looks, though some are held on. */
  readonly wake: () => void;
};

/** What the owner of a partition knows of its past. */
export type Known = {
  readonly lease: Lease;
  /** Whether all that probes kept has been decided. */
  readonly isCaughtUp: boolean;
  /** Whether what tells of this monitor is decided as it comes, while others wait. */
  readonly isAhead: (monitor: string) => boolean;
};

const page = 500;
/** One that is held on is looked at again after this, so that one whose window was deleted goes out at once. */
const againMs = 1_000;
/** However many alerts are written, those that are held on are not all asked about more often than this. */
const leastMs = 100;

type Parts = {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly log: Log;
  readonly owner: string;
  readonly known: () => readonly Known[];
};

export const createAlerter = ({ sql, clock, log, owner, known }: Parts): Alerter => {
  /** By performance.now(): a clock that is set back must not keep all alerts waiting until it is as late again. */
  let lookAt = Number.NEGATIVE_INFINITY;
  let lookedAt = Number.NEGATIVE_INFINITY;

  const releasePage = async (now: number, after: number): Promise<{ last: number | undefined; held: number }> => {
    const partitions = new Map(known().map((each) => [each.lease.partition, each]));
    if (partitions.size === 0) return { last: undefined, held: 0 };
    const owned = { owner, leases: [...partitions.values()].map(({ lease }) => lease) };
    const waiting = await heldAlerts(sql, owned, now, after, page);
    const isOfNow = ({ monitor_id, partition, by_target }: HeldAlert): boolean => {
      const its = partitions.get(partition);
      return its !== undefined && mayTell({ isPastDecided: its.isCaughtUp || its.isAhead(monitor_id), isToldByTarget: by_target });
    };
    const told = waiting.filter(isOfNow);
    const covers = await coverOfMonitors(sql, [...new Set(told.map(({ monitor_id }) => monitor_id))], { from: now - 1, to: now + 1 });
    const due = told.filter(({ monitor_id, due_at }) => release(due_at.getTime(), covers.get(monitor_id) ?? [], now).is === 'due');
    const released = await releaseAlerts(
      sql,
      owned,
      due.map(({ id }) => id),
    );
    if (released > 0) log.info({ alerts: released }, 'alerts are due');
    return { last: waiting.at(-1)?.id, held: waiting.length - due.length };
  };

  return {
    wake: () => {
      lookAt = Math.min(lookAt, lookedAt + leastMs);
    },
    tick: async () => {
      const now = clock.now();
      // While some are held on, all are asked about once a second; else the question costs next to nothing.
      if (performance.now() < lookAt) return;
      lookedAt = performance.now();
      let held = 0;
      for (let after: number | undefined = 0; after !== undefined; ) {
        const found = await releasePage(now, after);
        held += found.held;
        after = found.last;
      }
      lookAt = held > 0 ? performance.now() + againMs : Number.NEGATIVE_INFINITY;
    },
  };
};
