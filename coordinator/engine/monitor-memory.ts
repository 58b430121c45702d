import { createShared } from '../../shared/base/async.ts';
import { type Batch, resultAt, startAt } from '../../shared/bus/batch.ts';
import type { Roster } from '../../shared/checks/assignment.ts';
import { coveredByPass, isRoutinePass, tickOfRoutine } from '../core/decide.ts';
import type {
  Gap,
  MonitorState,
  ObservingProbe,
  Outage,
  ProbeView,
  SeenResult,
  Watched,
} from '../core/types.ts';
import { reachOf } from '../core/views.ts';
import { noWarnings } from '../core/warnings.ts';

/** The numbers of a partition's up monitors, one column for each. */

/** The columns of an up monitor. */
export const columnNames = [
  'key',
  'target',
  'version',
  'changedAt',
  'due',
  'created',
  'paused',
  'clock',
  'covered',
  'from',
  'ping',
  'downFrom',
  'downTo',
] as const;
export type Column = (typeof columnNames)[number];

export const noTime = Number.NaN;

/**
 * Three numbers for each gap: from, to (none while it is open), interval. An array of numbers takes
 * a third of the memory of objects.
 */
export type FlatGaps = readonly number[];

/**
 * What is kept beside a monitor's state. `target`: a hash of the target's host, which tells
 * distinct targets apart. `changedAt`: when its config last changed, as far as results read after a
 * start depend on it; 0 when unknown.
 */
export type MonitorRow = {
  readonly key: number;
  readonly target: number;
  readonly changedAt: number;
};

/**
 * The monitors of a partition, in memory. An up monitor is a row of numbers; its state is built
 * from it on demand. As objects, 10,000 of them take 2 to 7 % more of the process, a hundred
 * thousand four times the memory, and at full speed a result takes twice the CPU (11.3 µs, and so
 * 5.5). Tests compare both forms.
 */
export type Monitors = {
  readonly size: () => number;
  /**
   * A monitor's slot, for callers that read several things about it. It is valid until the monitor
   * is removed.
   */
  readonly slotOf: (monitor: string) => number | undefined;
  readonly idAt: (slot: number) => string | undefined;
  readonly rowAt: (slot: number) => MonitorRow;
  readonly stateAt: (slot: number) => MonitorState | undefined;
  /** Whether it is held as numbers: then it is up and has no problem. */
  readonly isRoutineAt: (slot: number) => boolean;
  readonly areAllRoutine: () => boolean;
  /** What decisions need, without building a state. */
  readonly termsAt: (slot: number) => {
    readonly terms: MonitorSettings | undefined;
    readonly version: number;
  };
  /** Whether this result may use `pass`, because that does everything that it would do. */
  readonly isRoutinePassAt: (
    slot: number,
    result: SeenResult,
    moment: { readonly now: number; readonly network: Roster },
  ) => boolean;
  /** Applies such a pass and returns when the monitor needs its next tick. */
  readonly pass: (slot: number, result: Pick<SeenResult, 'at' | 'from'>) => number;
  readonly stateOf: (monitor: string) => MonitorState | undefined;
  /**
   * The state of a monitor that is held as an object because something is wrong; undefined for all
   * others.
   */
  readonly unwellOf: (monitor: string) => MonitorState | undefined;
  /** How many of this organisation's monitors have an open incident. */
  readonly openOf: (organisation: string) => number;
  readonly keyOf: (monitor: string) => number | undefined;
  /** The version of its config that decisions use; undefined for an unknown monitor. */
  readonly versionOf: (monitor: string) => number | undefined;
  readonly targetOf: (monitor: string) => number;
  /**
   * `due`: when it needs its next tick; infinity when only an event can change it. `slot`: its
   * slot, if the caller knows it.
   */
  readonly put: (
    state: MonitorState,
    of: MonitorRow & { readonly due: number },
    slot?: number | null,
  ) => void;
  readonly remove: (monitor: string) => void;
  readonly postpone: (monitor: string, due: number) => void;
  readonly dueBy: (now: number) => string[];
  readonly nextDue: () => number;
  readonly seenBy: (probe: string) => string[];
  readonly slots: () => Iterable<number>;
};

/** What many have in common. */
export type MonitorSettings = Omit<Watched, 'id' | 'config_version' | 'created_at' | 'paused_at'>;

export function createMonitors(): Monitors {
  const slots = new Map<string, number>();
  const ids: (string | undefined)[] = [];
  const free: number[] = [];
  const full = new Map<number, MonitorState>();
  const terms: (MonitorSettings | undefined)[] = [];
  const gaps: (FlatGaps | undefined)[] = [];
  let capacity = 64;
  let columns = makeColumns(capacity);
  const views = createViews(capacity);

  const grow = (): void => {
    capacity = Math.ceil(capacity * 1.5);
    const older = columns;
    columns = makeColumns(capacity);
    for (const name of columnNames) columns[name].set(older[name]);
    views.grow(capacity);
  };

  const slotFor = (monitor: string): number => {
    const known = slots.get(monitor);
    if (known !== undefined) return known;
    const slot = free.pop() ?? slots.size;
    while (slot >= capacity) grow();
    slots.set(monitor, slot);
    ids[slot] = monitor;
    return slot;
  };

  const routineAt = (slot: number): MonitorState | undefined => {
    const [id, common] = [ids[slot], terms[slot]];
    if (id === undefined || !common) return undefined;
    return {
      watched: {
        ...common,
        id,
        config_version: columns.version[slot] ?? 0,
        created_at: columns.created[slot] ?? 0,
        paused_at: timeOf(columns.paused[slot]),
      },
      views: views.read(slot),
      clock: columns.clock[slot] ?? 0,
      covered_until: columns.covered[slot] ?? 0,
      gaps: gapsOf(gaps[slot]),
      incident: null,
      observations: [],
      closed: [],
      last_down: outageOf(columns.downFrom[slot], columns.downTo[slot]),
      decides_from: columns.from[slot] ?? 0,
      beat_at: timeOf(columns.ping[slot]),
      warnings: noWarnings,
      restored: false,
    };
  };

  const keepRoutine = (slot: number, state: MonitorState): void => {
    const { watched } = state;
    const common = terms[slot];
    if (!common || !areSettingsOf(watched, common)) terms[slot] = settingsOf(watched);
    columns.created[slot] = watched.created_at;
    columns.paused[slot] = watched.paused_at ?? noTime;
    columns.clock[slot] = state.clock;
    columns.covered[slot] = state.covered_until;
    columns.from[slot] = state.decides_from;
    columns.ping[slot] = state.beat_at ?? noTime;
    columns.downFrom[slot] = state.last_down?.from ?? noTime;
    columns.downTo[slot] = state.last_down?.to ?? noTime;
    gaps[slot] = flatGaps(state.gaps, gaps[slot]);
    views.write(slot, state.views);
  };

  /**
   * How many places can check monitors with these settings, cached while the roster is the
   * same.
   */
  let ableIn: Roster | undefined;
  const ables = new Map<MonitorSettings, number>();
  const ableOf = (common: MonitorSettings, network: Roster): number => {
    if (ableIn !== network) ables.clear();
    ableIn = network;
    const known = ables.get(common);
    if (known !== undefined) return known;
    const able = reachOf({ id: '', ...common }, network).places;
    ables.set(common, able);
    return able;
  };

  const gapsUntil = (slot: number): number => {
    const end = gaps[slot]?.at(-2);
    return end === undefined
      ? Number.NEGATIVE_INFINITY
      : Number.isNaN(end)
        ? Number.POSITIVE_INFINITY
        : end;
  };

  const column =
    (name: Column) =>
    (monitor: string): number | undefined => {
      const slot = slots.get(monitor);
      return slot === undefined ? undefined : columns[name][slot];
    };
  const stateAt = (slot: number): MonitorState | undefined => full.get(slot) ?? routineAt(slot);
  const open = new Map<string, number>();
  const hold = (slot: number, state: MonitorState | undefined): void => {
    const before = full.get(slot);
    for (const [one, change] of [
      [before, -1],
      [state, 1],
    ] as const)
      if (one?.incident) {
        const { organisation } = one.watched;
        open.set(organisation, (open.get(organisation) ?? 0) + change);
      }
    if (state) full.set(slot, state);
    else full.delete(slot);
  };
  const idsOf = (isMeant: (slot: number) => boolean): string[] => {
    const found: string[] = [];
    for (const [monitor, slot] of slots) if (isMeant(slot)) found.push(monitor);
    return found;
  };

  return {
    size: () => slots.size,
    slotOf: (monitor) => slots.get(monitor),
    idAt: (slot) => ids[slot],
    rowAt: (slot) => ({
      key: columns.key[slot] ?? 0,
      target: columns.target[slot] ?? 0,
      changedAt: columns.changedAt[slot] ?? 0,
    }),
    stateAt,
    isRoutineAt: (slot) => !full.has(slot),
    areAllRoutine: () => full.size === 0,
    termsAt: (slot) => ({
      terms: full.get(slot)?.watched ?? terms[slot],
      version: columns.version[slot] ?? 0,
    }),
    isRoutinePassAt: (slot, result, { now, network }) => {
      const common = terms[slot];
      if (!common || full.has(slot)) return false;
      const times = {
        config_version: columns.version[slot] ?? 0,
        created_at: columns.created[slot] ?? 0,
        paused_at: timeOf(columns.paused[slot]),
        clock: columns.clock[slot] ?? 0,
        covered_until: columns.covered[slot] ?? 0,
        decides_from: columns.from[slot] ?? 0,
        gaps_until: gapsUntil(slot),
      };
      // Views of probes that have not checked for long must be dropped, which needs the whole
      // state.
      return (
        isRoutinePass(result, common, times, now) &&
        views.has(slot, result.from.probe) &&
        views.count(slot) <= ableOf(common, network)
      );
    },
    pass: (slot, { at, from }) => {
      const common = terms[slot];
      const covered = common ? coveredByPass(at, common, columns.covered[slot] ?? 0) : Number.NaN;
      columns.covered[slot] = covered;
      columns.clock[slot] = Math.max(columns.clock[slot] ?? 0, at);
      views.pass(slot, from, at);
      const due = tickOfRoutine(covered);
      columns.due[slot] = due;
      return due;
    },
    stateOf: (monitor) => {
      const slot = slots.get(monitor);
      return slot === undefined ? undefined : stateAt(slot);
    },
    unwellOf: (monitor) => {
      if (full.size === 0) return undefined;
      const slot = slots.get(monitor);
      return slot === undefined ? undefined : full.get(slot);
    },
    openOf: (organisation) => open.get(organisation) ?? 0,
    keyOf: column('key'),
    versionOf: column('version'),
    targetOf: (monitor) => column('target')(monitor) ?? 0,
    put: (state, { key, target, changedAt, due }, known) => {
      const slot = known ?? slotFor(state.watched.id);
      columns.key[slot] = key;
      columns.version[slot] = state.watched.config_version;
      columns.target[slot] = target;
      columns.changedAt[slot] = changedAt;
      columns.due[slot] = due;
      const isRoutine = isRoutineState(state);
      hold(slot, isRoutine ? undefined : state);
      if (isRoutine) keepRoutine(slot, state);
    },
    remove: (monitor) => {
      const slot = slots.get(monitor);
      if (slot === undefined) return;
      slots.delete(monitor);
      hold(slot, undefined);
      ids[slot] = undefined;
      terms[slot] = undefined;
      gaps[slot] = undefined;
      columns.due[slot] = Number.POSITIVE_INFINITY;
      free.push(slot);
    },
    postpone: (monitor, due) => {
      const slot = slots.get(monitor);
      if (slot !== undefined) columns.due[slot] = due;
    },
    dueBy: (now) => idsOf((slot) => (columns.due[slot] ?? Number.POSITIVE_INFINITY) <= now),
    nextDue: () => {
      let next = Number.POSITIVE_INFINITY;
      for (const due of columns.due) if (due < next) next = due;
      return next;
    },
    seenBy: (probe) =>
      idsOf((slot) => {
        const state = full.get(slot);
        return state
          ? state.views.some(({ from }) => from.probe === probe)
          : views.has(slot, probe);
      }),
    slots: () => slots.values(),
  };
}

export function makeColumns(length: number): Record<Column, Float64Array> {
  return {
    key: new Float64Array(length),
    target: new Float64Array(length),
    version: new Float64Array(length),
    changedAt: new Float64Array(length),
    due: new Float64Array(length).fill(Number.POSITIVE_INFINITY),
    created: new Float64Array(length),
    paused: new Float64Array(length),
    clock: new Float64Array(length),
    covered: new Float64Array(length),
    from: new Float64Array(length),
    ping: new Float64Array(length),
    downFrom: new Float64Array(length).fill(noTime),
    downTo: new Float64Array(length).fill(noTime),
  };
}

/**
 * Views of up monitors, as numbers: a fixed number of places for each slot, more once a monitor has
 * more views. Each is a pass, so that probe and time are all of it. Also their gaps, of which
 * nearly every monitor has one: the time from its creation to its first result.
 */
export type Views = {
  readonly read: (slot: number) => readonly ProbeView[];
  readonly write: (slot: number, views: readonly ProbeView[]) => void;
  readonly count: (slot: number) => number;
  /** Whether one of the views is this probe's. */
  readonly has: (slot: number, probe: string) => boolean;
  /** A pass of a probe that has a view: see() in numbers. */
  readonly pass: (slot: number, from: ObservingProbe, at: number) => void;
  readonly grow: (capacity: number) => void;
};

const fewViews = 4;

export function createViews(initial: number): Views {
  const observers: ObservingProbe[] = [];
  const indexes = new Map<ObservingProbe, number>();
  let capacity = initial;
  let width = fewViews;
  let columns = columnsFor(capacity, width);

  const indexOf = (observer: ObservingProbe): number => {
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
        const ok_at = at[place] ?? 0;
        if (from)
          views.push({ from, at: ok_at, ok: true, ok_at, failing_since: null, failure: null });
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
}

type Columns = {
  readonly count: Uint8Array;
  readonly observer: Uint16Array;
  readonly at: Float64Array;
};

function columnsFor(capacity: number, width: number): Columns {
  return {
    count: new Uint8Array(capacity),
    observer: new Uint16Array(capacity * width),
    at: new Float64Array(capacity * width),
  };
}

export function timeOf(value: number | undefined): number | null {
  return value === undefined || Number.isNaN(value) ? null : value;
}

const none: readonly Gap[] = [];

export function gapsOf(flat: FlatGaps | undefined): readonly Gap[] {
  if (!flat) return none;
  const gaps: Gap[] = [];
  for (let place = 0; place < flat.length; place += 3) {
    const [from = 0, to = noTime, interval_ms = 0] = [
      flat[place],
      flat[place + 1],
      flat[place + 2],
    ];
    gaps.push({ from, to: Number.isNaN(to) ? null : to, interval_ms });
  }
  return gaps;
}

export function outageOf(from: number | undefined, to: number | undefined): Outage | null {
  const [began, ended] = [timeOf(from), timeOf(to)];
  return began === null || ended === null ? null : { from: began, to: ended };
}

/** Whether the state was made with these settings: nearly always, and fast to check. */
function areSettingsOf(watched: Watched, terms: MonitorSettings): boolean {
  return (
    watched.continents === terms.continents &&
    watched.places === terms.places &&
    watched.inside_counts === terms.inside_counts &&
    watched.inside === terms.inside &&
    watched.ability === terms.ability &&
    watched.organisation === terms.organisation &&
    watched.kind === terms.kind &&
    watched.interval_ms === terms.interval_ms &&
    watched.timeout_ms === terms.timeout_ms &&
    watched.probe === terms.probe &&
    watched.alert_after_ms === terms.alert_after_ms &&
    watched.sampled === terms.sampled
  );
}

/** There are few different intervals and the like. */
const sharedSettings = createShared<MonitorSettings>(100_000);

function settingsOf({
  id: _id,
  config_version: _version,
  created_at: _created,
  paused_at: _paused,
  ...terms
}: Watched): MonitorSettings {
  return sharedSettings(JSON.stringify(terms), terms);
}

/** `before`: the earlier array, which nearly always is still right. */
export function flatGaps(gaps: readonly Gap[], before: FlatGaps | undefined): FlatGaps | undefined {
  const [first] = gaps;
  if (!first) return undefined;
  if (before && isFlatOf(before, gaps)) return before;
  if (gaps.length === 1) return [first.from, first.to ?? noTime, first.interval_ms];
  // An array that was pushed to reserves capacity for many more; a slice does not.
  return gaps.flatMap(({ from, to, interval_ms }) => [from, to ?? noTime, interval_ms]).slice();
}

function isFlatOf(flat: FlatGaps, gaps: readonly Gap[]): boolean {
  if (flat.length !== 3 * gaps.length) return false;
  let place = 0;
  for (const { from, to, interval_ms } of gaps) {
    if (
      flat[place] !== from ||
      !Object.is(flat[place + 1], to ?? noTime) ||
      flat[place + 2] !== interval_ms
    )
      return false;
    place += 3;
  }
  return true;
}

/** A monitor with more views is held as an object. */
export const maxViews = 16;

function isRoutineState({ incident, closed, restored, views, warnings }: MonitorState): boolean {
  if (incident !== null || closed.length > 0 || restored || views.length > maxViews) return false;
  if (warnings.length > 0) return false;
  for (const view of views) if (!isPlainPass(view)) return false;
  return true;
}

/** Whether this view consists of its probe and time only. */
export function isPlainPass({ at, ok, ok_at, failure }: ProbeView): boolean {
  return ok && ok_at === at && failure === null;
}

/**
 * Passes of a batch that only move numbers (core/decide.ts), which are most of them: they are
 * decided without an object for each. `slots`: the slot of each result's monitor by its place in
 * the batch, −1 where the result is none of them.
 */
export type Passes = {
  readonly from: ObservingProbe;
  readonly batch: Batch;
  readonly slots: Int32Array;
};

/** Applies them and returns when the first of their monitors needs its next tick. */
export function passAll(monitors: Monitors, { from, batch, slots }: Passes): number {
  let due = Number.POSITIVE_INFINITY;
  for (let place = 0; place < slots.length; place += 1) {
    const slot = slots[place] ?? -1;
    if (slot >= 0) due = Math.min(due, monitors.pass(slot, { from, at: startAt(batch, place) }));
  }
  return due;
}

/**
 * Takes one monitor's passes out, as results, because its state is needed after all.
 */
export function passesOf({ from, batch, slots }: Passes, slot: number): SeenResult[] {
  const results: SeenResult[] = [];
  for (let place = slots.indexOf(slot); place >= 0; place = slots.indexOf(slot, place + 1)) {
    slots[place] = -1;
    results.push({ ...resultAt(batch, place), from, quarantined: false, handed_over: false });
  }
  return results;
}

/** The distinct targets that these monitors' views show a probe to check. */
export function createTargets(
  loaded: ReadonlyMap<number, { readonly monitors: Pick<Monitors, 'seenBy' | 'targetOf'> }>,
): (probe: string) => ReadonlySet<number> {
  return (probe) => {
    const targets = new Set<number>();
    for (const { monitors } of loaded.values())
      for (const monitor of monitors.seenBy(probe)) targets.add(monitors.targetOf(monitor));
    return targets;
  };
}
