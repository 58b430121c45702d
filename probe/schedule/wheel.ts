import type { Clock } from '../../shared/base/time.ts';
import type { Assignment, Roster } from '../../shared/checks/assignment.ts';
import {
  abilityFor,
  insideOf,
  nextTurn,
  type Placed,
  shareOf,
  type Turns,
} from '../../shared/checks/placement.ts';

export const slotMs = 50;

/**
 * Which assignments this probe checks, and when: the pure placement over the roster, kept in the
 * wheel.
 *
 * Without a roster nothing is ours. Heartbeats take no turns: they are deadlines, and their watcher
 * asks `isMine`.
 *
 * All probes apply a roster from the same moment on, a second after it was published. So exactly
 * one of them takes each turn, whoever receives the roster first. One that receives it later takes
 * the turns that were its own by then, at once.
 */
export type Schedule = {
  readonly put: (assignment: Assignment) => void;
  readonly drop: (monitor: string) => void;
  readonly setRoster: (roster: Roster) => void;
  readonly start: () => void;
  readonly stop: () => void;
  /** Whether it uses a roster in which others take this probe's turns. */
  readonly isHandedOver: () => boolean;
};

/** The longest time until a clock that was set back is noticed. */
const maxMs = 1_000;
/** A roster has reached every continent after this time. */
const heededAfterMs = 1_000;
/** Turns missed before that have been taken by others (rule 7), or were not due. */
const maxMissedMs = 15_000;

type Coming = { readonly roster: Roster; readonly from: number };

export function createSchedule(options: {
  readonly self: string;
  readonly clock: Clock;
  /** A turn has come; `at` is when it was due. */
  readonly onDue: (assignment: Assignment, at: number) => void;
  /** When this probe last stopped taking its turns: it takes those since then at the start. */
  readonly stoppedAt?: number | undefined;
}): Schedule {
  const { self, clock, onDue, stoppedAt } = options;
  const wheel = createWheel();
  const indexes = new Map<string, number>();
  const assignments: (Assignment | undefined)[] = [];
  const free: number[] = [];
  let roster: Roster | undefined;
  let coming: Coming[] = [];
  let timer: NodeJS.Timeout | undefined;
  /** Before the start and after the stop nothing wakes it. */
  let wakesAt = Number.NEGATIVE_INFINITY;

  const due = (index: number, at: number): void => {
    const assignment = assignments[index];
    if (assignment) onDue(assignment, at);
  };

  /** Before the start there is no turn: what the disk says first may no longer hold. */
  const seat = (index: number, assignment: Assignment, from: number): void => {
    if (!timer) return;
    const turns =
      roster && assignment.kind !== 'heartbeat'
        ? shareOf(placed(assignment), self, roster)
        : undefined;
    const at = turns && wheel.add(index, turns, from);
    if (!turns) wheel.remove(index);
    if (at !== undefined) onDue(assignment, at);
  };

  const heed = ({ roster: next, from }: Coming): void => {
    roster = next;
    for (const [index, assignment] of assignments.entries())
      if (assignment) seat(index, assignment, from);
  };

  const advance = (now: number): void => {
    while (coming[0] && coming[0].from <= now) {
      const [next, ...later] = coming;
      coming = later;
      wheel.advance(next.from, due);
      heed(next);
    }
    wheel.advance(now, due);
  };

  const tick = (): void => {
    advance(clock.now());
    wakesAt = Number.POSITIVE_INFINITY;
    sleep();
  };

  /** Until the next turn: what has changed may have made that an earlier one than was slept for. */
  const sleep = (): void => {
    const now = clock.now();
    const next = Math.min(wheel.nextAt(now, maxMs), coming[0]?.from ?? Number.POSITIVE_INFINITY);
    if (next >= wakesAt) return;
    wakesAt = next;
    clearTimeout(timer);
    timer = setTimeout(tick, Math.min(maxMs, Math.max(1, next - now)));
  };

  return {
    put: (assignment) => {
      let index = indexes.get(assignment.monitor);
      if (index === undefined) {
        index = free.pop() ?? assignments.length;
        indexes.set(assignment.monitor, index);
      }
      assignments[index] = assignment;
      seat(index, assignment, clock.now());
      sleep();
    },
    drop: (monitor) => {
      const index = indexes.get(monitor);
      if (index === undefined) return;
      wheel.remove(index);
      indexes.delete(monitor);
      assignments[index] = undefined;
      free.push(index);
    },
    setRoster: (next) => {
      const now = clock.now();
      // No probe waits longer, whatever the publisher's clock says. Rounded to whole slots, because
      // a slot is processed as a whole.
      const from = Math.ceil((Math.min(next.epoch, now) + heededAfterMs) / slotMs) * slotMs;
      if (!timer || (roster === undefined && from <= now)) heed({ roster: next, from: now });
      else if (from > now)
        coming = [...coming, { roster: next, from: Math.max(from, coming.at(-1)?.from ?? 0) }];
      else {
        advance(now);
        coming = [];
        heed({ roster: next, from: Math.max(from, now - maxMissedMs) });
      }
      sleep();
    },
    start: () => {
      if (timer) return;
      timer = setTimeout(tick, 1);
      const now = clock.now();
      // An entry added after this cannot be due in an earlier slot.
      wheel.advance(now, due);
      if (roster) heed({ roster, from: Math.max(stoppedAt ?? now, now - maxMissedMs) });
    },
    stop: () => {
      clearTimeout(timer);
      wakesAt = Number.NEGATIVE_INFINITY;
    },
    isHandedOver: () => roster?.probes.every(({ id, healthy }) => id !== self || !healthy) ?? false,
  };
}

/**
 * When each monitor is due: one ring of slots of a few milliseconds each, with all entries in typed
 * arrays linked slot by slot. A monitor needs no timer and no object, only 32 bytes; time is an
 * argument. Turns are computed from the epoch, so nothing drifts.
 *
 * An entry's modes: absent → `add` → waiting in the slot of its next turn → (fired) waiting in the
 * slot of the turn after → `remove` → absent. When the clock jumps by more than `stallMs`, or the
 * process slept that long, all entries are placed again from the new time: turns missed until then
 * are not made up for, but those of the moment for which the wheel may have slept since the jump. When the clock goes back by less, the wheel waits for it, so no turn is
 * taken twice.
 */
export type Wheel = {
  /**
   * Makes entry `index` due at these turns, first at or after `from`. An existing entry with the
   * same turns keeps its place. Returns the first turn since `from` that did not belong to the
   * entry before, if its slot has already been processed: no one has taken it.
   */
  readonly add: (index: number, turns: Turns, from: number) => number | undefined;
  readonly remove: (index: number) => void;
  /**
   * Calls `due` for every entry whose turn has come by `now`, in order of slots, each at most once.
   */
  readonly advance: (now: number, due: (index: number, at: number) => void) => void;
  /**
   * When the first unprocessed slot that has entries ends, or one about `within` from now: advancing
   * earlier finds nothing. It may have ended by `now`.
   */
  readonly nextAt: (now: number, within: number) => number;
  readonly count: () => number;
};

const slots = 4096;
const stallMs = 5_000;
const none = -1;

export function createWheel(initialCapacity = 1024): Wheel {
  let capacity = initialCapacity;
  let entries = createEntries(capacity);
  const heads = new Int32Array(slots).fill(none);
  let count = 0;
  /** All slots before this one have been processed; slots are numbered from the epoch. */
  let cursor: number | undefined;

  const slotOf = (at: number): number => Math.floor(at / slotMs);
  const isPresent = (index: number): boolean =>
    index < capacity && (entries.period[index] ?? 0) > 0;

  const link = (index: number, due: number): void => {
    const { next, previous } = entries;
    const slot = slotOf(due) % slots;
    const head = heads[slot] ?? none;
    entries.due[index] = due;
    next[index] = head;
    previous[index] = none;
    if (head !== none) previous[head] = index;
    heads[slot] = index;
  };

  const unlink = (index: number): void => {
    const { due, next, previous } = entries;
    const after = next[index] ?? none;
    const before = previous[index] ?? none;
    if (after !== none) previous[after] = before;
    if (before === none) heads[slotOf(due[index] ?? 0) % slots] = after;
    else next[before] = after;
  };

  const turnsAt = (index: number): Turns => ({
    period_ms: entries.period[index] ?? 0,
    offset_ms: entries.offset[index] ?? 0,
  });

  const reseat = (from: number): void => {
    heads.fill(none);
    cursor = slotOf(from);
    for (let index = 0; index < capacity; index += 1) {
      if (isPresent(index)) link(index, nextTurn(turnsAt(index), Math.ceil(from)));
    }
  };

  const fire = (slot: number, now: number, fired: number[]): void => {
    let index = heads[slot % slots] ?? none;
    while (index !== none) {
      const after = entries.next[index] ?? none;
      const at = entries.due[index] ?? 0;
      // Entries of later rounds are in the same slot.
      if (slotOf(at) <= slot) {
        unlink(index);
        link(index, nextTurn(turnsAt(index), Math.max(at + 1, slotOf(now) * slotMs)));
        fired.push(index, at);
      }
      index = after;
    }
  };

  return {
    add: (index, turns, from) => {
      cursor ??= slotOf(from);
      while (index >= capacity) {
        entries = grown(entries, capacity * 2);
        capacity *= 2;
      }
      let before: Turns | undefined;
      if (isPresent(index)) {
        before = turnsAt(index);
        if (before.period_ms === turns.period_ms && before.offset_ms === turns.offset_ms)
          return undefined;
        unlink(index);
      } else count += 1;
      entries.period[index] = turns.period_ms;
      entries.offset[index] = turns.offset_ms;
      // A processed slot is not visited again for a whole round, so nothing may be put into it.
      const reached = cursor * slotMs;
      link(index, nextTurn(turns, Math.max(Math.ceil(from), reached)));
      const first = nextTurn(turns, Math.ceil(from));
      return first >= reached || (before && nextTurn(before, first) === first) ? undefined : first;
    },
    remove: (index) => {
      if (!isPresent(index)) return;
      unlink(index);
      entries.period[index] = 0;
      count -= 1;
    },
    advance: (now, due) => {
      const until = slotOf(now);
      cursor ??= until;
      if (Math.abs(until - cursor) > stallMs / slotMs) reseat(now - maxMs);
      const fired: number[] = [];
      for (; cursor < until; cursor += 1) fire(cursor, now, fired);
      // Only now, because the callbacks may add and remove entries.
      for (let at = 0; at < fired.length; at += 2) due(fired[at] ?? 0, fired[at + 1] ?? 0);
    },
    nextAt: (now, within) => {
      const from = cursor ?? slotOf(now);
      const end = slotOf(now + within);
      let slot = from;
      while (slot < end && heads[slot % slots] === none) slot += 1;
      return (slot + 1) * slotMs;
    },
    count: () => count,
  };
}

type Entries = {
  due: Float64Array;
  period: Float64Array;
  offset: Float64Array;
  next: Int32Array;
  previous: Int32Array;
};

function createEntries(capacity: number): Entries {
  return {
    due: new Float64Array(capacity),
    period: new Float64Array(capacity),
    offset: new Float64Array(capacity),
    next: new Int32Array(capacity),
    previous: new Int32Array(capacity),
  };
}

function grown(old: Entries, capacity: number): Entries {
  const made = createEntries(capacity);
  made.due.set(old.due);
  made.period.set(old.period);
  made.offset.set(old.offset);
  made.next.set(old.next);
  made.previous.set(old.previous);
  return made;
}

/** The assignment as placement sees it. */
function placed(assignment: Assignment): Placed {
  const { kind, target, config } = assignment;
  const [inside, ability] = [insideOf(kind, target, config), abilityFor(kind, config)];
  return inside || ability ? { ...assignment, inside: inside?.addresses, ability } : assignment;
}
