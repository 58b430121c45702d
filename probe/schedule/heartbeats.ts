import type { Log } from '../../shared/base/log.ts';
import type { Clock } from '../../shared/base/time.ts';
import { longestDialWaitMs } from '../../shared/bus/dialling.ts';
import type { Bus } from '../../shared/bus/nats.ts';
import type { PingSpool } from '../../shared/bus/ping-spool.ts';
import type { PingRecords } from '../../shared/bus/pings.ts';
import type { Assignment, Roster } from '../../shared/checks/assignment.ts';
import { placesOf, probeOf } from '../../shared/checks/placement.ts';
import type { PingView } from '../checks/heartbeat.ts';

type WatchedBus = Pick<Bus, 'isConnected' | 'onStatus'>;

/**
 * What this probe reads of the pings. It reads the record at the moment of judging, so a view is
 * never older than its question.
 *
 * After the bus came back it sees nothing for a while: ping receivers may still be sending their
 * backlog.
 */
export type LivePingView = PingView & {
  readonly attach: (bus: WatchedBus, records: Pick<PingRecords, 'read'>) => void;
  /**
   * Nothing is seen of a monitor while this probe itself has pings of it that the bus does not have
   * yet.
   */
  readonly attachSpool: (spool: Pick<PingSpool, 'holds'>) => void;
  readonly isSeeing: () => boolean;
};

/**
 * A ping receiver with pings on its disk sends them as soon as it is connected. It may dial for the
 * first time this long after the bus came back, and fail once.
 */
export const usualSettlingMs = 2 * longestDialWaitMs + 2_000;

/** A view this old does not count (rule 20). */
const oldestMs = 15_000;

export function createPingView({
  log,
  settlingMs = usualSettlingMs,
}: {
  readonly log: Log;
  readonly settlingMs?: number;
}): LivePingView {
  let attached:
    | { readonly bus: WatchedBus; readonly records: Pick<PingRecords, 'read'> }
    | undefined;
  let spool: Pick<PingSpool, 'holds'> | undefined;
  let seeingFrom = Number.POSITIVE_INFINITY;
  let lostAt: number | undefined;

  const isSeeing = (): boolean =>
    attached?.bus.isConnected() === true && performance.now() >= seeingFrom;

  return {
    attach: (bus, records) => {
      attached = { bus, records };
      seeingFrom = performance.now() + settlingMs;
      bus.onStatus((status) => {
        const now = performance.now();
        if (status === 'connected') {
          seeingFrom = now + settlingAfter(lostAt === undefined ? 0 : now - lostAt, settlingMs);
          lostAt = undefined;
        } else {
          lostAt ??= now;
          seeingFrom = Number.POSITIVE_INFINITY;
        }
      });
    },
    attachSpool: (own) => {
      spool = own;
    },
    isSeeing,
    read: async (organisation, monitor) => {
      if (!isSeeing() || !attached || spool?.holds(monitor)) return undefined;
      const asked = performance.now();
      try {
        const state = await attached.records.read(organisation, monitor);
        return isSeeing() && performance.now() - asked < oldestMs ? state : undefined;
      } catch (error) {
        log.warn({ err: error, monitor }, 'could not read the last pings from the bus');
        return undefined;
      }
    },
  };
}

const maxMore = 30_000;

/**
 * How long the view settles after an absence. The longer the absence, the more pings the ping
 * receivers kept and must send before any job may be called late.
 */
export function settlingAfter(absence_ms: number, shortest_ms: number): number {
  return shortest_ms + Math.min(maxMore, absence_ms / 10);
}

/**
 * The deadlines of the heartbeats that this probe judges. Exactly one probe judges a heartbeat; the
 * others check when asked.
 *
 * Nothing is judged while the view cannot be used. When the clock is set back, all get a new time:
 * their times came from a wrong clock.
 */
export type Heartbeats = {
  readonly put: (assignment: Assignment) => void;
  readonly drop: (monitor: string) => void;
  readonly setRoster: (roster: Roster) => void;
  /** A judgement was made, by a deadline or a recheck; null: the view could not be used. */
  readonly judged: (monitor: string, next: number | null) => void;
  readonly start: () => void;
  readonly stop: () => void;
  readonly count: () => number;
};

type Entry = { readonly assignment: Assignment; mine: boolean; at: number; waiting: boolean };

/** How long pings that reached a ping receiver in time may take to reach the bus. */
const settleMs = 500;
const againMs = 5_000;
/** New ones are judged once soon, to learn their deadlines, but not all at one moment. */
const spreadMs = 2_000;
/**
 * Each is judged at least this often, however far its deadline is, which finds a record that was
 * lost and came back.
 */
const farthestMs = 3_600_000;
const slotMs = 50;
/** A clock that goes back by less is waited for, so nothing is judged twice. */
const setBackMs = 1_000;

export function createHeartbeats(options: {
  readonly self: string;
  readonly clock: Clock;
  readonly isSeeing: () => boolean;
  readonly onDue: (assignment: Assignment, at: number) => void;
}): Heartbeats {
  const { self, clock, isSeeing, onDue } = options;
  const entries = new Map<string, Entry>();
  /**
   * Monitors by the slot of their time. The old slot of a monitor that was armed again still lists
   * it, and is skipped when it comes.
   */
  const slots = new Map<number, string[]>();
  let roster: Roster | undefined;
  let reached = 0;
  let lastNow = 0;
  let timer: NodeJS.Timeout | undefined;
  let isStarted = false;

  const slotOf = (at: number): number => Math.ceil(at / slotMs);

  const arm = (entry: Entry, at: number): void => {
    entry.at = at;
    if (!Number.isFinite(at)) return;
    const slot = Math.max(slotOf(at), reached + 1);
    const beside = slots.get(slot);
    if (beside) beside.push(entry.assignment.monitor);
    else slots.set(slot, [entry.assignment.monitor]);
  };

  const armSoon = (entry: Entry, now: number): void =>
    arm(entry, now + (entry.assignment.ordinal % 20) * (spreadMs / 20));

  const seat = (entry: Entry): void => {
    const mine = roster !== undefined && judgeOf(entry.assignment, roster) === self;
    if (mine && !entry.mine) armSoon(entry, clock.now());
    entry.mine = mine;
  };

  const rearmAll = (now: number): void => {
    slots.clear();
    reached = Math.floor(now / slotMs);
    for (const entry of entries.values()) if (entry.mine) armSoon(entry, now);
  };

  const due = (entry: Entry, at: number): void => {
    const isBlind = entry.waiting && !isSeeing();
    // Always armed, in case the judgement gets lost; a judgement arms it again.
    arm(entry, at + (isBlind ? againMs : Math.max(againMs, entry.assignment.timeout_ms * 2)));
    if (!isBlind) onDue(entry.assignment, at);
  };

  const tick = (): void => {
    const now = clock.now();
    if (now < lastNow - setBackMs) rearmAll(now);
    lastNow = now;
    const until = Math.floor(now / slotMs);
    // After a long sleep most slots in between are empty, so only the existing ones are visited.
    const passed =
      until - reached > slots.size
        ? [...slots.keys()].filter((slot) => slot <= until).toSorted((a, b) => a - b)
        : undefined;
    const step = (slot: number): void => {
      const monitors = slots.get(slot);
      if (!monitors) return;
      slots.delete(slot);
      reached = Math.max(reached, slot);
      for (const monitor of monitors) {
        const entry = entries.get(monitor);
        if (entry?.mine && entry.at <= now) due(entry, now);
      }
    };
    if (passed) for (const slot of passed) step(slot);
    else for (let slot = reached + 1; slot <= until; slot += 1) step(slot);
    reached = Math.max(reached, until);
    timer = entries.size > 0 ? setTimeout(tick, slotMs) : undefined;
  };

  /** A probe without heartbeats does not wake for them. */
  const wake = (): void => {
    if (isStarted && entries.size > 0) timer ??= setTimeout(tick, slotMs);
  };

  return {
    put: (assignment) => {
      if (assignment.kind !== 'heartbeat') return;
      const entry: Entry = {
        assignment,
        mine: false,
        at: Number.POSITIVE_INFINITY,
        waiting: false,
      };
      entries.set(assignment.monitor, entry);
      seat(entry);
      wake();
    },
    drop: (monitor) => void entries.delete(monitor),
    setRoster: (next) => {
      roster = next;
      for (const entry of entries.values()) seat(entry);
    },
    judged: (monitor, next) => {
      const entry = entries.get(monitor);
      if (!entry?.mine) return;
      entry.waiting = next === null;
      arm(
        entry,
        next === null ? clock.now() + againMs : Math.min(next + settleMs, clock.now() + farthestMs),
      );
    },
    start: () => {
      lastNow = clock.now();
      // Times set before may have passed, and no one visits their slots any more.
      rearmAll(lastNow);
      isStarted = true;
      wake();
    },
    stop: () => {
      isStarted = false;
      clearTimeout(timer);
    },
    count: () => entries.values().reduce((sum, { mine }) => sum + (mine ? 1 : 0), 0),
  };
}

/**
 * The one probe that judges this heartbeat. Places take turns by the monitor's number, so each has
 * its share.
 */
function judgeOf(assignment: Assignment, roster: Roster): string | undefined {
  const places = placesOf(assignment, roster);
  const place = places[assignment.ordinal % Math.max(1, places.length)];
  return place === undefined ? undefined : probeOf(assignment, place, roster)?.id;
}
