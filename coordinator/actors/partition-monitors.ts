import type { MonitorState, ProbeView, Seer, Watched } from '../domain/incident-types.ts';

/**
 * The monitors of a partition, in memory. One that is well is told by a row of numbers, from which its state is made whenever it is asked
 * for: as objects, a hundred thousand of them would take four times as much.
 */
export type Monitors = {
  readonly size: () => number;
  readonly stateOf: (monitor: string) => MonitorState | undefined;
  /** The state of one about which something is not well; undefined for all others. */
  readonly unwellOf: (monitor: string) => MonitorState | undefined;
  readonly keyOf: (monitor: string) => number | undefined;
  /** The version of its config that is decided about; undefined for a stranger. */
  readonly versionOf: (monitor: string) => number | undefined;
  /** A hash of the host that it checks: tells distinct targets apart. */
  readonly targetOf: (monitor: string) => number;
  /** When its config last changed, as far as this matters for results read after a start; 0 when not known. */
  readonly changedAtOf: (monitor: string) => number;
  /** `due`: when it wants its next tick; infinite when only an event can change it. */
  readonly put: (
    state: MonitorState,
    of: { readonly key: number; readonly target: number; readonly changedAt: number; readonly due: number },
  ) => void;
  readonly remove: (monitor: string) => void;
  readonly postpone: (monitor: string, due: number) => void;
  readonly dueBy: (now: number) => string[];
  readonly nextDue: () => number;
  readonly seenBy: (probe: string) => string[];
  readonly ids: () => Iterable<string>;
};

/** Views beyond these are kept as objects. */
const mostViews = 4;

/** What many monitors have in common. */
type Terms = Omit<Watched, 'id' | 'config_version' | 'created_at' | 'paused_at'>;

const termsKnown = new Map<string, Terms>();

const termsOf = ({ id: _id, config_version: _version, created_at: _created, paused_at: _paused, ...terms }: Watched): Terms => {
  const name = JSON.stringify(terms);
  const known = termsKnown.get(name);
  if (known) return known;
  // Intervals and the like are few; should they not be, sharing is given up and begun anew.
  if (termsKnown.size > 100_000) termsKnown.clear();
  termsKnown.set(name, terms);
  return terms;
};

const isQuiet = (state: MonitorState): boolean =>
  state.incident === null &&
  state.gaps.length === 0 &&
  !state.restored &&
  state.views.length <= mostViews &&
  state.views.every(({ failure }) => failure === null);

const columnNames = ['key', 'target', 'version', 'changedAt', 'due', 'created', 'paused', 'clock', 'covered', 'from', 'beat'] as const;
type Column = (typeof columnNames)[number];

const noTime = Number.NaN;
const timeOf = (value: number | undefined): number | null => (value === undefined || Number.isNaN(value) ? null : value);

export const createMonitors = (): Monitors => {
  const slots = new Map<string, number>();
  const free: number[] = [];
  const full = new Map<number, MonitorState>();
  const seers: Seer[] = [];
  const seerIndexes = new Map<Seer, number>();
  const terms: (Terms | undefined)[] = [];
  let capacity = 64;
  const make = (length: number): Record<Column, Float64Array> => ({
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
    beat: new Float64Array(length),
  });
  let columns = make(capacity);
  let viewCount = new Uint8Array(capacity);
  let viewSeer = new Uint16Array(capacity * mostViews);
  let viewOk = new Uint8Array(capacity * mostViews);
  let viewAt = new Float64Array(capacity * mostViews);
  let viewOkAt = new Float64Array(capacity * mostViews);

  const grow = (): void => {
    capacity *= 2;
    const older = columns;
    columns = make(capacity);
    for (const name of columnNames) columns[name].set(older[name]);
    const [count, seer, ok, at, okAt] = [viewCount, viewSeer, viewOk, viewAt, viewOkAt];
    viewCount = new Uint8Array(capacity);
    viewSeer = new Uint16Array(capacity * mostViews);
    viewOk = new Uint8Array(capacity * mostViews);
    viewAt = new Float64Array(capacity * mostViews);
    viewOkAt = new Float64Array(capacity * mostViews);
    viewCount.set(count);
    viewSeer.set(seer);
    viewOk.set(ok);
    viewAt.set(at);
    viewOkAt.set(okAt);
  };

  const indexOf = (seer: Seer): number => {
    const known = seerIndexes.get(seer);
    if (known !== undefined) return known;
    seerIndexes.set(seer, seers.length);
    return seers.push(seer) - 1;
  };

  const slotFor = (monitor: string): number => {
    const known = slots.get(monitor);
    if (known !== undefined) return known;
    const slot = free.pop() ?? slots.size;
    while (slot >= capacity) grow();
    slots.set(monitor, slot);
    return slot;
  };

  const viewsAt = (slot: number): ProbeView[] => {
    const views: ProbeView[] = [];
    const first = slot * mostViews;
    for (let at = first; at < first + (viewCount[slot] ?? 0); at += 1) {
      const from = seers[viewSeer[at] ?? 0];
      if (from) views.push({ from, at: viewAt[at] ?? 0, ok: viewOk[at] === 1, ok_at: timeOf(viewOkAt[at]), failure: null });
    }
    return views;
  };

  const quietAt = (monitor: string, slot: number): MonitorState | undefined => {
    const common = terms[slot];
    if (!common) return undefined;
    return {
      watched: {
        id: monitor,
        organisation: common.organisation,
        kind: common.kind,
        interval_ms: common.interval_ms,
        timeout_ms: common.timeout_ms,
        continents: common.continents,
        probe: common.probe,
        config_version: columns.version[slot] ?? 0,
        alert_after_ms: common.alert_after_ms,
        sampled: common.sampled,
        created_at: columns.created[slot] ?? 0,
        paused_at: timeOf(columns.paused[slot]),
      },
      views: viewsAt(slot),
      clock: columns.clock[slot] ?? 0,
      covered_until: columns.covered[slot] ?? 0,
      gaps: [],
      incident: null,
      decides_from: columns.from[slot] ?? 0,
      beat_at: timeOf(columns.beat[slot]),
      restored: false,
    };
  };

  const keepQuiet = (slot: number, { watched, views, clock, covered_until, decides_from, beat_at }: MonitorState): void => {
    terms[slot] = termsOf(watched);
    columns.created[slot] = watched.created_at;
    columns.paused[slot] = watched.paused_at ?? noTime;
    columns.clock[slot] = clock;
    columns.covered[slot] = covered_until;
    columns.from[slot] = decides_from;
    columns.beat[slot] = beat_at ?? noTime;
    viewCount[slot] = views.length;
    let at = slot * mostViews;
    for (const view of views) {
      viewSeer[at] = indexOf(view.from);
      viewOk[at] = view.ok ? 1 : 0;
      viewAt[at] = view.at;
      viewOkAt[at] = view.ok_at ?? noTime;
      at += 1;
    }
  };

  const column =
    (name: Column) =>
    (monitor: string): number | undefined => {
      const slot = slots.get(monitor);
      return slot === undefined ? undefined : columns[name][slot];
    };
  const stateOf: Monitors['stateOf'] = (monitor) => {
    const slot = slots.get(monitor);
    return slot === undefined ? undefined : (full.get(slot) ?? quietAt(monitor, slot));
  };

  return {
    size: () => slots.size,
    stateOf,
    unwellOf: (monitor) => {
      const slot = slots.get(monitor);
      return slot === undefined ? undefined : full.get(slot);
    },
    keyOf: column('key'),
    versionOf: column('version'),
    targetOf: (monitor) => column('target')(monitor) ?? 0,
    changedAtOf: (monitor) => column('changedAt')(monitor) ?? 0,
    put: (state, { key, target, changedAt, due }) => {
      const slot = slotFor(state.watched.id);
      columns.key[slot] = key;
      columns.version[slot] = state.watched.config_version;
      columns.target[slot] = target;
      columns.changedAt[slot] = changedAt;
      columns.due[slot] = due;
      if (isQuiet(state)) {
        full.delete(slot);
        keepQuiet(slot, state);
      } else full.set(slot, state);
    },
    remove: (monitor) => {
      const slot = slots.get(monitor);
      if (slot === undefined) return;
      slots.delete(monitor);
      full.delete(slot);
      terms[slot] = undefined;
      columns.due[slot] = Number.POSITIVE_INFINITY;
      free.push(slot);
    },
    postpone: (monitor, due) => {
      const slot = slots.get(monitor);
      if (slot !== undefined) columns.due[slot] = due;
    },
    dueBy: (now) => [...slots].filter(([, slot]) => (columns.due[slot] ?? Number.POSITIVE_INFINITY) <= now).map(([monitor]) => monitor),
    nextDue: () => {
      let next = Number.POSITIVE_INFINITY;
      for (const due of columns.due) if (due < next) next = due;
      return next;
    },
    seenBy: (probe) => [...slots.keys()].filter((monitor) => stateOf(monitor)?.views.some(({ from }) => from.probe === probe)),
    ids: () => slots.keys(),
  };
};
