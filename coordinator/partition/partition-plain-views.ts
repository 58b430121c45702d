import type { Gap, Observer, ProbeView } from '../domain/decision-types.ts';

/**
 * Views of monitors that are well, as numbers: so many places for each slot, and more of them once a monitor has more views. Each is a pass, so
 * that who saw it and when says all. And their gaps, which nearly every monitor has one of: the time from its making to its first result.
 */
export type Views = {
  readonly read: (slot: number) => readonly ProbeView[];
  readonly write: (slot: number, views: readonly ProbeView[]) => void;
  readonly count: (slot: number) => number;
  /** Whether one of them is of this probe. */
  readonly has: (slot: number, probe: string) => boolean;
  /** A pass of a probe that has a view: see() in numbers. */
  readonly pass: (slot: number, from: Observer, at: number) => void;
  readonly grow: (capacity: number) => void;
};

/** Views beyond these are for objects. */
export const mostViews = 16;

const fewViews = 4;

/** Whether this view is told by who saw it and when. */
export const isPlainPass = ({ at, ok, ok_at, failure }: ProbeView): boolean => ok && ok_at === at && failure === null;

type Columns = {
  readonly count: Uint8Array;
  readonly observer: Uint16Array;
  readonly at: Float64Array;
};

const columnsFor = (capacity: number, width: number): Columns => ({
  count: new Uint8Array(capacity),
  observer: new Uint16Array(capacity * width),
  at: new Float64Array(capacity * width),
});

export const createViews = (initial: number): Views => {
  const observers: Observer[] = [];
  const indexes = new Map<Observer, number>();
  let capacity = initial;
  let width = fewViews;
  let columns = columnsFor(capacity, width);

  const indexOf = (observer: Observer): number => {
    const known = indexes.get(observer);
    if (known !== undefined) return known;
    indexes.set(observer, observers.length);
    return observers.push(observer) - 1;
  };

  const placeOf = (slot: number, probe: string): number => {
    const { count, observer } = columns;
    const first = slot * width;
    for (let place = first; place < first + (count[slot] ?? 0); place += 1)
      if (observers[observer[place] ?? 0]?.probe === probe) return place;
    return -1;
  };

  const rearrange = (toCapacity: number, toWidth: number): void => {
    const older = columns;
    const made = columnsFor(toCapacity, toWidth);
    made.count.set(older.count);
    for (const name of ['observer', 'at'] as const) {
      if (toWidth === width) made[name].set(older[name]);
      else
        for (let slot = 0; slot < capacity; slot += 1)
          made[name].set(older[name].subarray(slot * width, slot * width + width), slot * toWidth);
    }
    [columns, capacity, width] = [made, toCapacity, toWidth];
  };

  return {
    read: (slot) => {
      const { count, observer, at } = columns;
      const views: ProbeView[] = [];
      const first = slot * width;
      for (let place = first; place < first + (count[slot] ?? 0); place += 1) {
        const from = observers[observer[place] ?? 0];
        const passed = at[place] ?? 0;
        if (from) views.push({ from, at: passed, ok: true, ok_at: passed, failure: null });
      }
      return views;
    },
    write: (slot, views) => {
      while (views.length > width) rearrange(capacity, width * 2);
      const { count, observer, at } = columns;
      count[slot] = views.length;
      let place = slot * width;
      for (const view of views) {
        observer[place] = indexOf(view.from);
        at[place] = view.at;
        place += 1;
      }
    },
    count: (slot) => columns.count[slot] ?? 0,
    has: (slot, probe) => placeOf(slot, probe) >= 0,
    pass: (slot, from, at) => {
      const place = placeOf(slot, from.probe);
      if (place < 0) return;
      if (at <= (columns.at[place] ?? 0)) return;
      columns.at[place] = at;
      columns.observer[place] = indexOf(from);
    },
    grow: (to) => rearrange(to, width),
  };
};

/** The end of a gap that lasts. */
const noTime = Number.NaN;

/** Three numbers for each gap: from, to (none while it lasts), interval. An array of numbers alone takes a third of what objects take. */
export type FlatGaps = readonly number[];

const none: readonly Gap[] = [];

const isFlatOf = (flat: FlatGaps, gaps: readonly Gap[]): boolean => {
  if (flat.length !== 3 * gaps.length) return false;
  let place = 0;
  for (const { from, to, interval_ms } of gaps) {
    if (flat[place] !== from || !Object.is(flat[place + 1], to ?? noTime) || flat[place + 2] !== interval_ms) return false;
    place += 3;
  }
  return true;
};

/** `before`: what they were; nearly always they still are. */
export const flatGaps = (gaps: readonly Gap[], before: FlatGaps | undefined): FlatGaps | undefined => {
  const [first] = gaps;
  if (!first) return undefined;
  if (before && isFlatOf(before, gaps)) return before;
  if (gaps.length === 1) return [first.from, first.to ?? noTime, first.interval_ms];
  // What was pushed to keeps room for many more: a slice does not.
  return gaps.flatMap(({ from, to, interval_ms }) => [from, to ?? noTime, interval_ms]).slice();
};

export const gapsOf = (flat: FlatGaps | undefined): readonly Gap[] => {
  if (!flat) return none;
  const gaps: Gap[] = [];
  for (let place = 0; place < flat.length; place += 3) {
    const [from = 0, to = noTime, interval_ms = 0] = [flat[place], flat[place + 1], flat[place + 2]];
    gaps.push({ from, to: Number.isNaN(to) ? null : to, interval_ms });
  }
  return gaps;
};
