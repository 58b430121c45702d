/** What happens when: a heap of things to do under a clock that jumps from one to the next. Equal times go in the order of asking. */
export type Agenda = {
  readonly now: () => number;
  /** `routine` things (turns, presence, ticks) are made anew after a jump through a calm time; all others are kept and end it. */
  readonly at: (time: number, act: () => void, routine?: boolean) => void;
  readonly step: () => boolean;
  readonly nextUnusual: () => number;
  readonly jump: (time: number) => void;
};

type Entry = { readonly time: number; readonly order: number; readonly act: () => void; readonly routine: boolean };

const before = (a: Entry, b: Entry): boolean => a.time < b.time || (a.time === b.time && a.order < b.order);

export const createAgenda = (start: number): Agenda => {
  let now = start;
  let order = 0;
  let heap: Entry[] = [];

  const swap = (a: number, b: number) => {
    const [one, other] = [heap[a], heap[b]];
    if (one && other) [heap[a], heap[b]] = [other, one];
  };
  const isBefore = (a: number, b: number): boolean => {
    const [one, other] = [heap[a], heap[b]];
    return one !== undefined && other !== undefined && before(one, other);
  };
  const rise = (from: number) => {
    for (let index = from; index > 0; ) {
      const parent = (index - 1) >> 1;
      if (!isBefore(index, parent)) return;
      swap(index, parent);
      index = parent;
    }
  };
  const sink = () => {
    for (let index = 0; ; ) {
      let least = index;
      for (const child of [2 * index + 1, 2 * index + 2]) if (isBefore(child, least)) least = child;
      if (least === index) return;
      swap(index, least);
      index = least;
    }
  };
  const push = (entry: Entry) => {
    heap.push(entry);
    rise(heap.length - 1);
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
      if (heap.length > 0) {
        heap[0] = last;
        sink();
      }
      now = first.time;
      first.act();
      return true;
    },
    nextUnusual: () => heap.reduce((least, { time, routine }) => (routine ? least : Math.min(least, time)), Number.POSITIVE_INFINITY),
    jump: (time) => {
      const kept = heap.filter(({ routine }) => !routine);
      heap = [];
      for (const entry of kept) push(entry);
      now = time;
    },
  };
};
