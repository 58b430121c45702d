import type { Clock } from '../../shared/base/clock.ts';
import type { Continent } from '../../shared/base/continents.ts';
import type { Log } from '../../shared/base/log.ts';
import type { LookMessage } from '../../shared/bus/messages.ts';
import type { Bus } from '../../shared/bus/nats.ts';
import { subjects } from '../../shared/bus/subjects.ts';
import type { Roster, RosterProbe } from '../../shared/checks/assignment.ts';
import { probeOf } from '../../shared/checks/placement.ts';
import { type Allowances, type Budget, emptyBudget, spend } from '../domain/sampling-budget.ts';
import type { Sql } from '../store/database.ts';
import { type MonitorRow, monitorsById } from '../store/watched.ts';
import type { Assignments } from './assignments.ts';
import { createFirstLooks } from './first-looks.ts';
import type { LookWish } from './partition-round.ts';
import { placedOf } from './placed.ts';

/**
 * Turns the wish that somebody looks now into messages to probes. A look that gets lost is no harm: what is still open asks again.
 * Samples are bought from a budget, so that an outage of everything does not become a flood of checks; first looks wait for room in theirs.
 */
export type Looks = {
  readonly ask: (wishes: readonly LookWish[]) => void;
  /** Settles when nothing is under way. */
  readonly close: () => Promise<void>;
};

const allowed: Allowances = { all: { perSecond: 200, burst: 1_000 }, probe: { perSecond: 50, burst: 200 } };

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

  const send = async (row: MonitorRow, look: string, probe: RosterProbe, continent: Continent): Promise<void> => {
    const place = probe.organisation === null ? ({ is: 'continent', continent } as const) : ({ is: 'probe', probe: probe.id } as const);
    const message: LookMessage = { v: 1, look, asked_at: clock.now(), assignment: await assignments.messageFor(row, place) };
    bus.publish(subjects.look(probe.id), JSON.stringify(message));
  };

  const rowsOf = async (wishes: readonly Pick<LookWish, 'monitor'>[]): Promise<ReadonlyMap<string, MonitorRow>> =>
    new Map((await monitorsById(sql, [...new Set(wishes.map(({ monitor }) => monitor))])).map((row) => [row.id, row]));

  const first = createFirstLooks({ bus, clock, log, roster, rowsOf, send });

  const sendIf = async (row: MonitorRow, { look, when }: LookWish, continent: Continent): Promise<void> => {
    const probe = probeOf(placedOf(row), continent, roster());
    if (probe && (when !== 'sample' || isGranted(probe))) await send(row, look, probe, continent);
  };

  const askAll = async (wishes: readonly LookWish[]): Promise<void> => {
    const rows = await rowsOf(wishes);
    for (const wish of wishes) {
      const row = rows.get(wish.monitor);
      if (!row || row.paused_at !== null) continue;
      await Promise.all(wish.continents.map((continent) => sendIf(row, wish, continent)));
    }
  };

  return {
    ask: (all) => {
      first.wish(all);
      const wishes = all.filter(({ when }) => typeof when === 'string');
      if (!bus.isConnected() || wishes.length === 0) return;
      const asking: Promise<void> = askAll(wishes)
        .catch((error: unknown) => log.warn({ err: error, looks: wishes.length }, 'looks could not be asked for; they are asked for again'))
        .finally(() => underWay.delete(asking));
      underWay.add(asking);
    },
    close: async () => {
      await first.close();
      await Promise.all(underWay);
    },
  };
};
