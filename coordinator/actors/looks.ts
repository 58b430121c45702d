import type { Clock } from '../../shared/base/clock.ts';
import type { Continent } from '../../shared/base/continents.ts';
import type { Log } from '../../shared/base/log.ts';
import type { LookMessage } from '../../shared/bus/messages.ts';
import type { Bus } from '../../shared/bus/nats.ts';
import { subjects } from '../../shared/bus/subjects.ts';
import type { Roster, RosterProbe } from '../../shared/checks/assignment.ts';
import { insideOf } from '../../shared/checks/inside.ts';
import { type Placed, probeOf } from '../../shared/checks/placement.ts';
import { type Allowances, type Budget, emptyBudget, spend } from '../domain/sampling-budget.ts';
import type { Sql } from '../store/database.ts';
import { continentsIn, type MonitorRow, monitorsById, probeIn } from '../store/watched.ts';
import type { Assignments } from './assignments.ts';
import type { LookWish } from './partition-round.ts';

/**
 * Turns the wish that somebody looks now into messages to probes. A look that gets lost is no harm: what is still open asks again.
 * Samples are bought from a budget, so that an outage of everything does not become a flood of checks.
 */
export type Looks = {
  readonly ask: (wishes: readonly LookWish[]) => void;
  /** Settles when nothing is under way. */
  readonly close: () => Promise<void>;
};

const allowed: Allowances = { all: { perSecond: 200, burst: 1_000 }, probe: { perSecond: 50, burst: 200 } };

export const placedOf = (row: MonitorRow): Placed => ({
  monitor: row.id,
  interval_ms: row.interval_s * 1_000,
  ordinal: row.key,
  continents: continentsIn(row.config),
  probe: probeIn(row.config),
  inside: insideOf(row.type, row.target, row.config)?.addresses,
});

type Parts = {
  readonly sql: Sql;
  readonly bus: Bus;
  readonly clock: Clock;
  readonly log: Log;
  readonly roster: () => Roster;
  readonly assignments: Assignments;
};

export const createLooks = ({ sql, bus, clock, log, roster, assignments }: Parts): Looks => {
  let budget: Budget = emptyBudget;
  const underWay = new Set<Promise<void>>();

  const isGranted = (probe: RosterProbe): boolean => {
    const spent = spend(budget, probe.id, clock.now(), allowed);
    budget = spent.budget;
    return spent.granted;
  };

  const send = async (row: MonitorRow, wish: LookWish, continent: Continent): Promise<void> => {
    const probe = probeOf(placedOf(row), continent, roster());
    if (!probe || (wish.sample && !isGranted(probe))) return;
    const place = probe.organisation === null ? ({ is: 'continent', continent } as const) : ({ is: 'probe', probe: probe.id } as const);
    const message: LookMessage = { v: 1, look: wish.look, asked_at: clock.now(), assignment: await assignments.messageFor(row, place) };
    bus.publish(subjects.look(probe.id), JSON.stringify(message));
  };

  const askAll = async (wishes: readonly LookWish[]): Promise<void> => {
    const rows = new Map((await monitorsById(sql, [...new Set(wishes.map(({ monitor }) => monitor))])).map((row) => [row.id, row]));
    for (const wish of wishes) {
      const row = rows.get(wish.monitor);
      if (!row || row.paused_at !== null) continue;
      await Promise.all(wish.continents.map((continent) => send(row, wish, continent)));
    }
  };

  return {
    ask: (wishes) => {
      if (!bus.isConnected()) return;
      const asking: Promise<void> = askAll(wishes)
        .catch((error: unknown) => log.warn({ err: error, looks: wishes.length }, 'looks could not be asked for; they are asked for again'))
        .finally(() => underWay.delete(asking));
      underWay.add(asking);
    },
    close: async () => {
      await Promise.all(underWay);
    },
  };
};
