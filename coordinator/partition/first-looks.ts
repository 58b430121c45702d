import { createTicker } from '../../shared/actor/ticker.ts';
import type { Clock } from '../../shared/base/clock.ts';
import type { Continent } from '../../shared/base/continents.ts';
import type { Log } from '../../shared/base/log.ts';
import type { Bus } from '../../shared/bus/nats.ts';
import type { Roster, RosterProbe } from '../../shared/checks/assignment.ts';
import { probeOf } from '../../shared/checks/placement.ts';
import { type Allowances, type Budget, emptyBudget, spend } from '../domain/sampling-budget.ts';
import { placedOf } from '../probes/placed.ts';
import type { MonitorRow } from '../store/watched.ts';
import type { LookWish } from './decision-batch.ts';

/**
 * First looks at monitors that are new, resumed or changed. Somebody waits for each of them, so none is left out when a thousand are made at
 * once: they wait for room, as fast as one probe does them without letting its turns come late.
 *
 * Modes of a look: waiting (one for each monitor, in the order in which they were wished for) → asked, or needless (its first turn has come,
 * the monitor is gone, nobody can look).
 */
export type FirstLooks = {
  /** Takes those of them that are first looks. */
  readonly wish: (wishes: readonly LookWish[]) => void;
  readonly close: () => Promise<void>;
};

type First = { readonly look: string; readonly before: number };

const allowed: Allowances = { all: { perSecond: 1_000, burst: 1_000 }, probe: { perSecond: 300, burst: 300 } };
const everyMs = 100;
/** So many of a continent are looked through at most each time: those of a probe that has no room now do not hold up those of others for long. */
const window = 200;
/** So many are read at a time, and no more when nobody had room for any of them: what is read in vain is read again. */
const atOnce = 40;
/** What is wished for beyond this is seen at its turn. */
const most = 200_000;

export const createFirstLooks = (parts: {
  readonly bus: Bus;
  readonly clock: Clock;
  readonly log: Log;
  readonly roster: () => Roster;
  readonly rowsOf: (wishes: readonly Pick<LookWish, 'monitor'>[]) => Promise<ReadonlyMap<string, MonitorRow>>;
  readonly send: (row: MonitorRow, look: string, probe: RosterProbe, continent: Continent) => Promise<void>;
}): FirstLooks => {
  const { bus, clock, log, roster, rowsOf, send } = parts;
  const waiting = new Map<Continent, Map<string, First>>();
  let budget: Budget = emptyBudget;

  const hasRoom = (probe: RosterProbe): boolean => {
    const spent = spend(budget, probe.id, clock.now(), allowed);
    budget = spent.budget;
    return spent.granted;
  };

  const ask = async (continent: Continent, queue: Map<string, First>): Promise<void> => {
    const all = [...queue.entries().take(window)].map(([monitor, first]) => ({ monitor, first }));
    for (let from = 0; from < all.length; from += atOnce) {
      const next = all.slice(from, from + atOnce);
      const rows = await rowsOf(next);
      let left = 0;
      for (const { monitor, first } of next) {
        const row = rows.get(monitor);
        const probe = row && row.paused_at === null && clock.now() < first.before ? probeOf(placedOf(row), continent, roster()) : undefined;
        if (row && probe && !hasRoom(probe)) left += 1;
        else {
          if (queue.get(monitor) === first) queue.delete(monitor);
          if (row && probe) await send(row, first.look, probe, continent);
        }
      }
      if (left === next.length) break;
    }
    if (queue.size === 0) waiting.delete(continent);
  };

  const ticker = createTicker({
    everyMs,
    tick: async () => {
      if (!bus.isConnected()) return;
      for (const [continent, queue] of waiting) await ask(continent, queue);
    },
    onFailure: (error) => log.warn({ err: error, waiting: waiting.size }, 'first looks could not be asked for; they are tried again'),
  });

  return {
    wish: (wishes) => {
      let isNew = false;
      for (const { monitor, look, continents, when } of wishes) {
        if (typeof when === 'string') continue;
        // Wished for anew, perhaps elsewhere: the roster has changed. Where it waits already it keeps its place.
        for (const [continent, queue] of waiting) if (!continents.includes(continent)) queue.delete(monitor);
        for (const continent of continents) {
          const queue = waiting.get(continent) ?? new Map<string, First>();
          if (queue.size >= most && !queue.has(monitor)) continue;
          waiting.set(continent, queue);
          queue.set(monitor, { look, before: when.before });
          isNew = true;
        }
      }
      if (isNew) ticker.hurry();
    },
    close: ticker.stop,
  };
};
