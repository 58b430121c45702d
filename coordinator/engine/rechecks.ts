import type { Starts } from '../../shared/actor/supervisor.ts';
import { newId } from '../../shared/base/crypto.ts';
import type { Log } from '../../shared/base/log.ts';
import type { Clock } from '../../shared/base/time.ts';
import type { RecheckMessage } from '../../shared/bus/messages.ts';
import type { Bus } from '../../shared/bus/nats.ts';
import { subjects } from '../../shared/bus/subjects.ts';
import type { Roster, RosterProbe } from '../../shared/checks/assignment.ts';
import {
  abilityFor,
  confirmerOf,
  insideOf,
  type Placed,
  placesOf,
  probeOf,
} from '../../shared/checks/placement.ts';
import type { Place } from '../../shared/checks/places.ts';
import { type Assignments, placeOfProbe } from '../assignments/publishing.ts';
import {
  type Allowance,
  firstCheck,
  isForgotten,
  isUnseen,
  mayAsk,
  type Purse,
  type RecheckBudget,
  samplesPerSecond,
  spend,
  unusedBudget,
} from '../core/rechecks.ts';
import type { MonitorState } from '../core/types.ts';
import type { Sql } from '../database/connect.ts';
import { type Figures, noFigures, type RecheckOutcome } from '../health/meters.ts';
import {
  type DecisionBatch,
  type RecheckRequest,
  requestFirstCheck,
  settingsOf,
  stateOf,
} from './decision-batch.ts';
import { continentsIn, type MonitorRow, monitorsById, parentsToAskOf, placeIn } from './queries.ts';
import type { PendingFirstChecks } from './state.ts';

/**
 * Turns requests for rechecks into messages to probes. A lost recheck does no harm: an open
 * incident requests it again. Samples have a budget, so that a total outage does not cause a flood
 * of checks. First checks have another budget, which they wait for. And each monitor has a limit,
 * because a state that was loaded again does not know which probes it asked.
 */
type Rechecks = {
  readonly ask: AskForRechecks;
  /**
   * Connects and prepares the statements that it reads with, because a user or an incident waits
   * for each answer.
   */
  readonly prepare: () => Promise<void>;
  /** Settles when nothing is in progress. */
  readonly close: () => Promise<void>;
};

/**
 * Reads at once what it needs, and sends only what is committed: nobody is asked about a decision
 * that failed.
 */
export type AskForRechecks = (
  requests: readonly RecheckRequest[],
  committed: Promise<unknown>,
) => void;

/** Beyond this many monitors, expired records are removed. */
const maxRemembered = 10_000;
/** The same for the purses of organisations, which are full again after a while. */
const maxPurses = 1_000;
const fullAfterMs = 60_000;

const allowed = {
  all: { perSecond: 200, burst: 1_000 },
  probe: { perSecond: 50, burst: 200 },
  organisation: { perSecond: samplesPerSecond, burst: 100 },
};

type Dependencies = {
  readonly supervisor: Starts<'first checks'>;
  readonly sql: Sql;
  readonly bus: Bus;
  readonly clock: Clock;
  readonly log: Log;
  readonly roster: () => Roster;
  readonly assignments: Assignments;
  readonly figures?: Figures;
};

export function createRechecks({
  supervisor,
  sql,
  bus,
  clock,
  log,
  roster,
  assignments,
  figures = noFigures,
}: Dependencies): Rechecks {
  const slot = sql.access.openSlot();
  const budget = openBudget();
  const underWay = new Set<Promise<void>>();

  const isGranted = (probe: RosterProbe, organisation: string | null): boolean => {
    const whose = new Map([
      ['all', allowed.all],
      [probe.id, allowed.probe],
    ]);
    if (organisation !== null) whose.set(organisation, allowed.organisation);
    return budget(whose, clock.now());
  };

  const asked = new Map<string, RecheckBudget>();
  const isAllowed = (monitor: string, isSample: boolean): boolean => {
    const now = clock.now();
    const { asked: after, granted } = mayAsk(asked.get(monitor) ?? unusedBudget, isSample, now);
    if (asked.size >= maxRemembered && !asked.has(monitor))
      for (const [other, before] of asked) if (isForgotten(before, now)) asked.delete(other);
    asked.set(monitor, after);
    return granted;
  };

  const send = async (row: MonitorRow, recheck: string, probe: RosterProbe): Promise<void> => {
    const message: RecheckMessage = {
      v: 1,
      look: recheck,
      asked_at: clock.now(),
      assignment: await assignments.messageFor(row, placeOfProbe(probe)),
    };
    bus.publish(subjects.look(probe.id), JSON.stringify(message));
  };

  const rowsOf = async (
    requests: readonly Pick<RecheckRequest, 'monitor'>[],
  ): Promise<ReadonlyMap<string, MonitorRow>> => {
    const ids = [...new Set(requests.map(({ monitor }) => monitor))];
    const rows = ids.length === 0 ? [] : await slot.ask((by) => monitorsById(by, ids));
    return new Map(rows.map((row) => [row.id, row]));
  };

  const first = createFirstChecks({
    supervisor,
    bus,
    clock,
    roster,
    rowsOf,
    send: async (row, ...rest) => {
      const isGranted = isAllowed(row.id, false);
      figures.asked('first', isGranted ? 'asked' : 'too_soon');
      if (isGranted) await send(row, ...rest);
    },
  });

  const outcomeFor = (
    row: MonitorRow,
    probe: RosterProbe | undefined,
    when: RecheckRequest['when'],
  ): RecheckOutcome => {
    if (!probe) return 'no_probe';
    const isSample = when !== 'now';
    if (!isAllowed(row.id, isSample)) return 'too_soon';
    const organisation = when === 'sample' ? row.organisation_id : null;
    return isSample && !isGranted(probe, organisation) ? 'over_budget' : 'asked';
  };

  const sendIf = async (
    row: MonitorRow,
    { look: recheck, when, from }: Pick<RecheckRequest, 'look' | 'when' | 'from'>,
    place: Place,
  ): Promise<void> => {
    const probe = confirmerOf(placedOf(row), place, roster(), from);
    const outcome = outcomeFor(row, probe, when);
    figures.asked(when === 'now' ? 'now' : 'sample', outcome);
    if (probe && outcome === 'asked') await send(row, recheck, probe);
  };

  const askAll = async (
    requests: readonly RecheckRequest[],
    isCommitted: Promise<boolean>,
  ): Promise<void> => {
    const dependent = requests.filter(({ places }) => places === 'of parents');
    const own = requests.filter(({ places }) => places !== 'of parents');
    const [rows, parents] = await Promise.all([rowsOf(own), parentsOf(dependent)]);
    if (!(await isCommitted)) return;
    for (const row of parents) {
      const request = { look: newId(), when: 'now' } as const;
      const places = placesOf(placedOf(row), roster());
      await Promise.all(places.map((place) => sendIf(row, request, place)));
    }
    for (const request of own) {
      const row = rows.get(request.monitor);
      if (!row || row.paused_at !== null || request.places === 'of parents') continue;
      const places = request.places === 'all' ? placesOf(placedOf(row), roster()) : request.places;
      await Promise.all(places.map((place) => sendIf(row, request, place)));
    }
  };

  const parentsOf = async (requests: readonly RecheckRequest[]): Promise<readonly MonitorRow[]> =>
    requests.length === 0
      ? []
      : await slot.ask((by) =>
          parentsToAskOf(by, [...new Set(requests.map(({ monitor }) => monitor))]),
        );

  return {
    prepare: () => slot.prepare(),
    ask: (all, committed) => {
      const isCommitted = committed.then(
        () => true,
        () => false,
      );
      const isFirst = ({ when }: RecheckRequest) => typeof when !== 'string';
      if (all.some(isFirst))
        void isCommitted.then((is) => {
          if (is) first.add(all);
        });
      const requests = all.filter((request) => !isFirst(request));
      if (!bus.isConnected() || requests.length === 0) return;
      const asking: Promise<void> = askAll(requests, isCommitted)
        .catch((error: unknown) =>
          log.warn(
            { err: error, rechecks: requests.length },
            'could not request rechecks; retrying',
          ),
        )
        .finally(() => underWay.delete(asking));
      underWay.add(asking);
    },
    close: async () => {
      await first.close();
      await Promise.all(underWay);
      await slot.end();
    },
  };
}

type SpendOne = (whose: ReadonlyMap<string, Allowance>, now: number) => boolean;

function openBudget(): SpendOne {
  let purses = new Map<string, Purse>();
  return (whose, now) => {
    const { after, granted } = spend(purses, whose, now);
    if (purses.size >= maxPurses)
      purses = new Map([...purses].filter(([, { at }]) => now - at < fullAfterMs));
    for (const [of, purse] of after) purses.set(of, purse);
    return granted;
  };
}

/**
 * First checks of monitors that are new, resumed or edited. A user waits for each of them, so none
 * is left out when a thousand are made at once. They wait in a queue, and are sent as fast as one
 * probe can do them without delaying its turns.
 *
 * One for each monitor waits, in order of request. It is dropped as needless once its first turn
 * has come, the monitor is gone or no probe can check it.
 */
type FirstChecks = {
  /** Takes the first checks among them. */
  readonly add: (requests: readonly RecheckRequest[]) => void;
  readonly close: () => Promise<void>;
};

type First = { readonly look: string; readonly before: number };

/** The budget of first checks for all probes together and for each one. */
const firstAllowed = {
  all: { perSecond: 1_000, burst: 1_000 },
  probe: { perSecond: 300, burst: 300 },
};
const firstsEveryMs = 100;
const idleEveryMs = 5_000;
/**
 * At most this many first checks of a place are examined each time, so that those of a busy
 * probe do not delay those of others for long.
 */
const firstsWindow = 200;
/**
 * This many rows are read at a time. If the budget allowed none of them, no more are read, because
 * each would be read again.
 */
const firstsAtOnce = 40;
/** Monitors beyond this many are checked at their turn. */
const maxFirsts = 200_000;

function createFirstChecks(deps: {
  readonly supervisor: Starts<'first checks'>;
  readonly bus: Bus;
  readonly clock: Clock;
  readonly roster: () => Roster;
  readonly rowsOf: (
    requests: readonly Pick<RecheckRequest, 'monitor'>[],
  ) => Promise<ReadonlyMap<string, MonitorRow>>;
  readonly send: (row: MonitorRow, recheck: string, probe: RosterProbe) => Promise<void>;
}): FirstChecks {
  const { supervisor, bus, clock, roster, rowsOf, send } = deps;
  const waiting = new Map<Place, Map<string, First>>();
  const budget = openBudget();

  const hasRoom = (probe: RosterProbe): boolean => {
    const whose = new Map([
      ['all', firstAllowed.all],
      [probe.id, firstAllowed.probe],
    ]);
    return budget(whose, clock.now());
  };

  const ask = async (place: Place, queue: Map<string, First>): Promise<void> => {
    const all = [...queue.entries().take(firstsWindow)].map(([monitor, first]) => ({
      monitor,
      first,
    }));
    for (let from = 0; from < all.length; from += firstsAtOnce) {
      const next = all.slice(from, from + firstsAtOnce);
      const rows = await rowsOf(next);
      let left = 0;
      for (const { monitor, first } of next) {
        const row = rows.get(monitor);
        const probe =
          row && row.paused_at === null && clock.now() < first.before
            ? probeOf(placedOf(row), place, roster())
            : undefined;
        if (row && probe && !hasRoom(probe)) left += 1;
        else {
          if (queue.get(monitor) === first) queue.delete(monitor);
          if (row && probe) await send(row, first.look, probe);
        }
      }
      if (left === next.length) break;
    }
    if (queue.size === 0) waiting.delete(place);
  };

  const ticker = supervisor.ticker('first checks', {
    everyMs: () => (waiting.size > 0 ? firstsEveryMs : idleEveryMs),
    tick: async () => {
      if (!bus.isConnected()) return;
      for (const [place, queue] of waiting) await ask(place, queue);
    },
  });

  return {
    add: (requests) => {
      let isNew = false;
      for (const { monitor, look: recheck, places, when } of requests) {
        if (typeof when === 'string' || typeof places === 'string') continue;
        // It was requested again, maybe elsewhere, because the roster has changed. Where it waits
        // already it keeps its place.
        for (const [place, queue] of waiting) if (!places.includes(place)) queue.delete(monitor);
        for (const place of places) {
          const queue = waiting.get(place) ?? new Map<string, First>();
          if (queue.size >= maxFirsts && !queue.has(monitor)) continue;
          waiting.set(place, queue);
          queue.set(monitor, { look: recheck, before: when.before });
          isNew = true;
        }
      }
      if (isNew) ticker.hurry();
    },
    close: ticker.stop,
  };
}

/**
 * First checks that may have been lost: no probe was healthy when the monitor was made, or the
 * check was lost with its probe, the coordinator, or on its way. They are reviewed whenever the
 * roster changes, and when one of them times out, until the monitor has a result.
 */
export function noPendingFirstChecks(): PendingFirstChecks {
  return {
    awaited: new Map(),
    epoch: Number.NaN,
    left: [],
    nextEnd: Number.POSITIVE_INFINITY,
  };
}

/** Remembers the monitor if it has no result yet. */
export function notePendingFirstCheck(pending: PendingFirstChecks, monitor: MonitorState): void {
  if (isUnseen(monitor)) pending.awaited.set(monitor.watched.id, undefined);
}

/**
 * Whether a first check may have to be requested. Those of monitors made from now on are requested
 * at once.
 */
export function needsFirstChecks(
  pending: PendingFirstChecks,
  { epoch }: Roster,
  now: number,
): boolean {
  if (pending.awaited.size === 0) {
    pending.epoch = epoch;
    pending.left = [];
  }
  return pending.epoch !== epoch || pending.left.length > 0 || now >= pending.nextEnd;
}

/** With a million new monitors a review of all of them at once would leave time for nothing else. */
const reviewedAtOnce = 250;

export function reviewFirstChecks(
  pending: PendingFirstChecks,
  decisions: DecisionBatch,
  roster: Roster,
  now: number,
): void {
  const isOtherRoster = pending.epoch !== roster.epoch;
  if (isOtherRoster || pending.left.length === 0) {
    // What a review of before did not come to is first.
    const due = new Set(pending.left);
    pending.epoch = roster.epoch;
    pending.nextEnd = Number.POSITIVE_INFINITY;
    for (const [monitor, awaited] of pending.awaited) {
      if (isOtherRoster || awaited === undefined || now >= awaited.until) due.add(monitor);
      else pending.nextEnd = Math.min(pending.nextEnd, awaited.until);
    }
    pending.left = [...due];
  }
  const [some, left] = [pending.left.slice(0, reviewedAtOnce), pending.left.slice(reviewedAtOnce)];
  pending.left = left;
  for (const monitor of some) {
    const known = stateOf(decisions, monitor);
    if (known && isUnseen(known)) askForFirst(pending, decisions, monitor, roster, now);
    else pending.awaited.delete(monitor);
  }
}

/**
 * Requests a first check of this monitor unless one is awaited, and remembers the monitor until it
 * has a result.
 */
export function askForFirst(
  pending: PendingFirstChecks,
  decisions: DecisionBatch,
  monitor: string,
  roster: Roster,
  now: number,
): void {
  const known = stateOf(decisions, monitor);
  const key = settingsOf(decisions, monitor)?.key;
  if (!known || key === undefined) return;
  const { awaited, look } = firstCheck(
    { ...known.watched, monitor, ordinal: key },
    pending.awaited.get(monitor),
    roster,
    now,
  );
  if (look) requestFirstCheck(decisions, monitor, look);
  if (!isUnseen(known)) return;
  pending.awaited.set(monitor, awaited);
  if (awaited) pending.nextEnd = Math.min(pending.nextEnd, awaited.until);
}

/** A monitor's row reduced to what placement needs. */
export function placedOf(row: MonitorRow): Placed {
  return {
    monitor: row.id,
    interval_ms: row.interval_s * 1_000,
    ordinal: row.key,
    continents: continentsIn(row.config),
    probe: placeIn(row.config),
    places: row.places,
    inside: insideOf(row.type, row.target, row.config)?.addresses,
    kind: row.type,
    ability: abilityFor(row.type, row.config),
  };
}
