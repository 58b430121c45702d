import { createShared } from '../../shared/base/async.ts';
import type { Roster } from '../../shared/checks/assignment.ts';
import { reachOf } from '../domain/continent-reach.ts';
import type { MonitorState, SeenResult, Watched } from '../domain/decision-types.ts';
import { coveredByPass, goesWithoutSaying, tickOfQuiet } from '../domain/plain-pass.ts';
import { type Column, columnNames, makeColumns, noTime, outageOf, timeOf } from './partition-monitor-columns.ts';
import { createViews, type FlatGaps, flatGaps, gapsOf, isPlainPass, mostViews } from './partition-plain-views.ts';

/**
 * What is kept beside a monitor's state. `target` is a hash of the host that it checks and tells distinct targets apart; `changedAt` is when
 * its config last changed, as far as this matters for results read after a start, 0 when not known.
 */
export type MonitorRow = { readonly key: number; readonly target: number; readonly changedAt: number };

/**
 * The monitors of a partition, in memory. One that is well is told by a row of numbers, from which its state is made whenever it is asked
 * for: as objects, a hundred thousand of them would take four times as much.
 */
export type Monitors = {
  readonly size: () => number;
  /** Where a monitor is kept, for who wants to know several things about it; good until it is removed. */
  readonly slotOf: (monitor: string) => number | undefined;
  readonly idAt: (slot: number) => string | undefined;
  readonly rowAt: (slot: number) => MonitorRow;
  readonly stateAt: (slot: number) => MonitorState | undefined;
  /** Whether it is told by numbers: then nothing about it is not well. */
  readonly isQuietAt: (slot: number) => boolean;
  readonly areAllQuiet: () => boolean;
  /** What is decided about, without the making of a state. */
  readonly termsAt: (slot: number) => { readonly terms: Terms | undefined; readonly version: number };
  /** Whether this result may be left to `pass`: all that it would do is what that does. */
  readonly passesQuietly: (slot: number, result: SeenResult, moment: { readonly now: number; readonly network: Roster }) => boolean;
  /** Takes such a pass, and says when the monitor wants its next tick. */
  readonly pass: (slot: number, result: Pick<SeenResult, 'at' | 'from'>) => number;
  readonly stateOf: (monitor: string) => MonitorState | undefined;
  /** The state of one about which something is not well; undefined for all others. */
  readonly unwellOf: (monitor: string) => MonitorState | undefined;
  readonly keyOf: (monitor: string) => number | undefined;
  /** The version of its config that is decided about; undefined for a stranger. */
  readonly versionOf: (monitor: string) => number | undefined;
  readonly targetOf: (monitor: string) => number;
  /** `due`: when it wants its next tick; infinite when only an event can change it. `slot`: where it is kept, for who knows. */
  readonly put: (state: MonitorState, of: MonitorRow & { readonly due: number }, slot?: number | null) => void;
  readonly remove: (monitor: string) => void;
  readonly postpone: (monitor: string, due: number) => void;
  readonly dueBy: (now: number) => string[];
  readonly nextDue: () => number;
  readonly seenBy: (probe: string) => string[];
  readonly slots: () => Iterable<number>;
};

/** What many monitors have in common. */
export type Terms = Omit<Watched, 'id' | 'config_version' | 'created_at' | 'paused_at'>;

/** Intervals and the like are few. */
const sharedTerms = createShared<Terms>(100_000);

const termsOf = ({ id: _id, config_version: _version, created_at: _created, paused_at: _paused, ...terms }: Watched): Terms =>
  sharedTerms(JSON.stringify(terms), terms);

/** Whether these are the terms that the state was made with: nearly always, and to be told in no time. */
const areTermsOf = (watched: Watched, terms: Terms): boolean =>
  watched.continents === terms.continents &&
  watched.inside === terms.inside &&
  watched.organisation === terms.organisation &&
  watched.kind === terms.kind &&
  watched.interval_ms === terms.interval_ms &&
  watched.timeout_ms === terms.timeout_ms &&
  watched.probe === terms.probe &&
  watched.alert_after_ms === terms.alert_after_ms &&
  watched.sampled === terms.sampled;

const isQuiet = ({ incident, closed, restored, views }: MonitorState): boolean => {
  if (incident !== null || closed.length > 0 || restored || views.length > mostViews) return false;
  for (const view of views) if (!isPlainPass(view)) return false;
  return true;
};

export const createMonitors = (): Monitors => {
  const slots = new Map<string, number>();
  const ids: (string | undefined)[] = [];
  const free: number[] = [];
  const full = new Map<number, MonitorState>();
  const terms: (Terms | undefined)[] = [];
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

  const quietAt = (slot: number): MonitorState | undefined => {
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
      sightings: [],
      closed: [],
      last_down: outageOf(columns.downFrom[slot], columns.downTo[slot]),
      decides_from: columns.from[slot] ?? 0,
      beat_at: timeOf(columns.ping[slot]),
      restored: false,
    };
  };

  const keepQuiet = (slot: number, state: MonitorState): void => {
    const { watched } = state;
    const common = terms[slot];
    if (!common || !areTermsOf(watched, common)) terms[slot] = termsOf(watched);
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

  /** How many continents can check monitors of these terms, as long as the roster is the same. */
  let ableIn: Roster | undefined;
  const ables = new Map<Terms, number>();
  const ableOf = (common: Terms, network: Roster): number => {
    if (ableIn !== network) ables.clear();
    ableIn = network;
    const known = ables.get(common);
    if (known !== undefined) return known;
    const able = reachOf({ id: '', ...common }, network).able.length;
    ables.set(common, able);
    return able;
  };

  const gapsUntil = (slot: number): number => {
    const end = gaps[slot]?.at(-2);
    return end === undefined ? Number.NEGATIVE_INFINITY : Number.isNaN(end) ? Number.POSITIVE_INFINITY : end;
  };

  const column =
    (name: Column) =>
    (monitor: string): number | undefined => {
      const slot = slots.get(monitor);
      return slot === undefined ? undefined : columns[name][slot];
    };
  const stateAt = (slot: number): MonitorState | undefined => full.get(slot) ?? quietAt(slot);
  const idsOf = (isMeant: (slot: number) => boolean): string[] => {
    const found: string[] = [];
    for (const [monitor, slot] of slots) if (isMeant(slot)) found.push(monitor);
    return found;
  };

  return {
    size: () => slots.size,
    slotOf: (monitor) => slots.get(monitor),
    idAt: (slot) => ids[slot],
    rowAt: (slot) => ({ key: columns.key[slot] ?? 0, target: columns.target[slot] ?? 0, changedAt: columns.changedAt[slot] ?? 0 }),
    stateAt,
    isQuietAt: (slot) => !full.has(slot),
    areAllQuiet: () => full.size === 0,
    termsAt: (slot) => ({ terms: full.get(slot)?.watched ?? terms[slot], version: columns.version[slot] ?? 0 }),
    passesQuietly: (slot, result, { now, network }) => {
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
      // Views of probes that long checked nothing are to be forgotten, which needs all of the state.
      return (
        goesWithoutSaying(result, common, times, now) && views.has(slot, result.from.probe) && views.count(slot) <= ableOf(common, network)
      );
    },
    pass: (slot, { at, from }) => {
      const common = terms[slot];
      const covered = common ? coveredByPass(at, common, columns.covered[slot] ?? 0) : Number.NaN;
      columns.covered[slot] = covered;
      columns.clock[slot] = Math.max(columns.clock[slot] ?? 0, at);
      views.pass(slot, from, at);
      const due = tickOfQuiet(covered);
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
        return state ? state.views.some(({ from }) => from.probe === probe) : views.has(slot, probe);
      }),
    slots: () => slots.values(),
  };
};
