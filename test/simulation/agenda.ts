/**
 * What happens when: a heap of things to do under a clock that jumps from one to the next. Equal
 * times go in the order of asking.
 */
export type Agenda = {
  readonly now: () => number;
  /**
   * `routine` things (turns, presence, ticks) are made anew after a jump through a calm time; all
   * others are kept and end it.
   */
  readonly at: (time: number, act: () => void, routine?: boolean) => void;
  readonly step: () => boolean;
  readonly nextUnusual: () => number;
  readonly jump: (time: number) => void;
};

type Entry = {
  readonly time: number;
  readonly order: number;
  readonly act: () => void;
  readonly routine: boolean;
};

const before = (a: Entry, b: Entry): boolean =>
  a.time < b.time || (a.time === b.time && a.order < b.order);

export const createAgenda = (start: number): Agenda => {
  let now = start;
  let order = 0;
  let heap: Entry[] = [];

  /** Puts the entry where it belongs between this place and the root. */
  const rise = (from: number, entry: Entry) => {
    let place = from;
    while (place > 0) {
      const parent = heap[(place - 1) >> 1];
      if (!parent || !before(entry, parent)) break;
      heap[place] = parent;
      place = (place - 1) >> 1;
    }
    heap[place] = entry;
  };
  /** Puts the entry where it belongs below the root, whose place is free. */
  const sink = (entry: Entry) => {
    let place = 0;
    for (;;) {
      const left = 2 * place + 1;
      const [one, other] = [heap[left], heap[left + 1]];
      const least = one && other && before(other, one) ? other : one;
      if (!least || !before(least, entry)) break;
      heap[place] = least;
      place = least === one ? left : left + 1;
    }
    heap[place] = entry;
  };
  const push = (entry: Entry) => {
    heap.push(entry);
    rise(heap.length - 1, entry);
  };

  return {
    now: () => now,
    at: (time, act, routine = false) => {
      order += 1;
      push({ time: Math.max(Math.ceil(time), now), order, act, routine });
    },
    step: () => {
      const first = heap[0];
      const last = heap.pop();
      if (!first || !last) return false;
      if (heap.length > 0) sink(last);
      now = first.time;
      first.act();
      return true;
    },
    nextUnusual: () =>
      heap.reduce(
        (least, { time, routine }) => (routine ? least : Math.min(least, time)),
        Number.POSITIVE_INFINITY,
      ),
    jump: (time) => {
      const kept = heap.filter(({ routine }) => !routine);
      heap = [];
      for (const entry of kept) push(entry);
      now = time;
    },
  };
};
