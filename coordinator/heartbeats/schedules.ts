import type { Clock } from '../../shared/base/time.ts';
import type { Bus } from '../../shared/bus/nats.ts';
import type { PingRecords } from '../../shared/bus/pings.ts';
import { streams, subjects } from '../../shared/bus/subjects.ts';
import { mergePings, withSettings } from '../../shared/checks/heartbeat/state.ts';
import type { Sql } from '../database/connect.ts';
import { inTransaction } from '../database/sql.ts';
import type { MonitorRow } from '../engine/queries.ts';
import type { AssignmentChange, Assignments } from '../probes/assignments.ts';
import { lockedStates, writeStates } from './queries.ts';

type Dependencies = {
  readonly assignments: Assignments;
  readonly sql: Sql;
  readonly bus: Bus;
  readonly records: PingRecords;
  readonly clock: Clock;
};

/**
 * Before a heartbeat's assignment is published, its record on the bus gets the same schedule. A
 * probe must never judge a new schedule by an old deadline, nor a resumed monitor by the silence of
 * its pause.
 */
export const withPingSettings = ({ assignments, sql, bus, records, clock }: Dependencies): Assignments => {
  const follow = async (row: MonitorRow): Promise<void> => {
    const terms = { version: row.config_version, paused: row.paused_at !== null };
    const now = clock.now();
    const state = await inTransaction(sql, async (tx) => {
      const stored = (await lockedStates(tx, [row.id])).get(row.id);
      const next = stored && withSettings(stored, terms, now);
      if (next && next !== stored) await writeStates(tx, new Map([[row.id, next]]));
      return next;
    });
    if (!state) return; // It was deleted just now; the next line says so.
    await records.change(row.organisation_id, row.id, (seen) => {
      const next = seen ? mergePings(state, withSettings(seen, terms, now)) : state;
      return seen && JSON.stringify(next) === JSON.stringify(seen) ? seen : next;
    });
  };

  const follows = async ({ monitor, row }: AssignmentChange): Promise<void> => {
    if (row === null) await bus.purge(streams.lastPings.name, subjects.lastPings('*', monitor));
    else if (row.type === 'heartbeat') await follow(row);
  };

  return {
    ...assignments,
    publish: async (changes) => {
      await Promise.all(changes.map(follows));
      await assignments.publish(changes);
    },
  };
};
