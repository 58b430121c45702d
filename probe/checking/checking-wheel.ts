import { nextTurn, type Turns } from '../../shared/checks/checks-placement.ts';

/**
 * When which monitor is due: one ring of slots of a few milliseconds each, with all entries in typed arrays linked slot by slot. No timer and
 * no object for a monitor, 32 bytes each; time is an argument. Turns are computed from the epoch, so that nothing drifts.
 *
 * An entry's modes: absent → `add` → waiting in the slot of its next turn → (fired) waiting in the slot of the turn after → `remove` → absent.
 * When the clock jumps by more than `stallMs`, or we slept so long, all entries are seated anew from the new time: turns missed by then are not
 * made up for. When it goes back by less, the wheel waits for it, so that no turn is taken twice.
 */
export type Wheel = {
  /**
   * Entry `index` is due at these turns, first at or after `from`. An entry that is there with the same turns keeps its place. Returns the first
   * turn since `from` that was not the entry's before, where its slot has been worked through already: nobody has taken it.
   */
  readonly add: (index: number, turns: Turns, from: number) => number | undefined;
  readonly remove: (index: number) => void;
  /** Calls `due` for every entry whose turn has come by `now`, in order of slots, each at most once. */
  readonly advance: (now: number, due: (index: number, at: number) => void) => void;
  /** When the first slot that was not worked through ends: advancing earlier finds nothing. It may have ended by `now`. */
  readonly nextAt: (now: number) => number;
  readonly count: () => number;
};

export const slotMs = 50;
const slots = 4096;
const stallMs = 5_000;
const none = -1;

type Entries = {
  due: Float64Array;
  period: Float64Array;
  offset: Float64Array;
  next: Int32Array;
  previous: Int32Array;
};

const createEntries = (capacity: number): Entries => ({
  due: new Float64Array(capacity),
  period: new Float64Array(capacity),
  offset: new Float64Array(capacity),
  next: new Int32Array(capacity),
  previous: new Int32Array(capacity),
});

const grown = (old: Entries, capacity: number): Entries => {
  const made = createEntries(capacity);
  made.due.set(old.due);
  made.period.set(old.period);
  made.offset.set(old.offset);
  made.next.set(old.next);
  made.previous.set(old.previous);
  return made;
};

export const createWheel = (initialCapacity = 1024): Wheel => {
  let capacity = initialCapacity;
  let entries = createEntries(capacity);
  const heads = new Int32Array(slots).fill(none);
  let count = 0;
  /** All slots before this one have been worked through; slots are numbered from the epoch. */
  let cursor: number | undefined;

  const slotOf = (at: number): number => Math.floor(at / slotMs);
  const isPresent = (index: number): boolean => index < capacity && (entries.period[index] ?? 0) > 0;

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

  const turnsAt = (index: number): Turns => ({ period_ms: entries.period[index] ?? 0, offset_ms: entries.offset[index] ?? 0 });

  const seatAnew = (now: number): void => {
    heads.fill(none);
    cursor = slotOf(now);
    for (let index = 0; index < capacity; index += 1) {
      if (isPresent(index)) link(index, nextTurn(turnsAt(index), Math.ceil(now)));
    }
  };

  const fire = (slot: number, now: number, fired: number[]): void => {
    let index = heads[slot % slots] ?? none;
    while (index !== none) {
      const after = entries.next[index] ?? none;
      const at = entries.due[index] ?? 0;
      // Entries of later rounds lie in the same slot.
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
        if (before.period_ms === turns.period_ms && before.offset_ms === turns.offset_ms) return undefined;
        unlink(index);
      } else count += 1;
      entries.period[index] = turns.period_ms;
      entries.offset[index] = turns.offset_ms;
      // A slot that has been worked through is not looked at again for a whole round, so nothing may be put into it.
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
      if (Math.abs(until - cursor) > stallMs / slotMs) seatAnew(now);
      const fired: number[] = [];
      for (; cursor < until; cursor += 1) fire(cursor, now, fired);
      // Only now, so that whoever is told may add and remove entries.
      for (let at = 0; at < fired.length; at += 2) due(fired[at] ?? 0, fired[at + 1] ?? 0);
    },
    nextAt: (now) => ((cursor ?? slotOf(now)) + 1) * slotMs,
    count: () => count,
  };
};
