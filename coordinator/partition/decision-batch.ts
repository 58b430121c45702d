import type { Continent } from '../../shared/base/continents.ts';
import { newId } from '../../shared/base/ids.ts';
import type { Roster } from '../../shared/checks/assignment.ts';
import { decide } from '../domain/decide.ts';
import type { FirstLook } from '../domain/first-look.ts';
import type { Effect, Incident, MonitorEvent, MonitorState, Watched } from '../domain/incident-types.ts';
import { createState, nextTick } from '../domain/restore.ts';
import { emptyUnit, type Unit } from '../store/commit.ts';
import { hourOf, noPasses, type ResultRow } from '../store/results.ts';
import type { Watermark } from '../store/watermarks.ts';
import type { MonitorRow, Terms } from './monitors.ts';
import type { Packed } from './packed-monitors.ts';
import { chartPasses, type Passes, passAll, takeBack } from './passes.ts';
import { type PartitionState, watermarkName } from './state.ts';

/** Somebody is to look at a monitor now. */
export type LookWish = {
  readonly monitor: string;
  readonly look: string;
  readonly continents: readonly Continent[];
  /** `now`: somebody waits for the answer; `sample`: may be left out; or the time of the turn before which a first look waits for room. */
  readonly when: 'now' | 'sample' | { readonly before: number };
};

export type Mark = Omit<Watermark, 'ahead'>;

/**
 * One batch of decisions of a partition: decides about as many events as it is given on top of the state, without touching it. The state follows when
 * what was decided is committed; a batch of decisions that fails is simply forgotten.
 */
export type DecisionBatch = {
  readonly stateOf: (monitor: string) => MonitorState | undefined;
  readonly incidentOf: (monitor: string) => Incident | null;
  /** What of its config says who may check it, and what the database calls it by; undefined when it is not held here. */
  readonly termsOf: (monitor: string) => { readonly key: number; readonly terms: Terms; readonly version: number } | undefined;
  readonly decide: (monitor: string, event: MonitorEvent) => void;
  /** Takes passes that may be left to numbers (Monitors.passesQuietly) and puts them in the charts. Of each monitor they come in order of start, or nothing else of it does. */
  readonly takeQuietly: (passes: Passes) => void;
  /** A monitor that this partition did not hold yet. */
  readonly add: (key: number, watched: Watched, target: number) => void;
  readonly remove: (monitor: string) => void;
  /** Somebody there is to look at it when this batch of decisions is committed, as soon as there is room. */
  readonly lookAt: (monitor: string, first: FirstLook) => void;
  readonly chart: (row: ResultRow) => void;
  readonly pass: (watermark: Mark) => void;
  /** These results beyond the watermark are decided in this batch of decisions, ahead of those before them. */
  readonly goAhead: (of: Omit<Mark, 'seq'>, seqs: readonly number[]) => void;
  /** Results beyond the watermark that are committed, or decided in this batch of decisions. */
  readonly wentAhead: (probeKey: number, generation: string) => readonly number[];
  /** How far results of this generation are committed, or decided in this batch of decisions. */
  readonly passed: (probeKey: number, generation: string) => number;
  readonly done: (line: number) => void;
  /** Whether what is checked changed for a monitor: then the checkpoint goes along, because results do not say which version they checked. */
  readonly hasConfigChanges: () => boolean;
  readonly unit: () => Unit;
  /** The unit, with a checkpoint of the partition as it will be. */
  readonly withCheckpoint: (takenAt: number, pack: (monitors: Iterable<Packed>) => Uint8Array) => Unit;
  readonly looks: () => readonly LookWish[];
  /** Whether there is anything to commit; a batch of decisions without rows only moves what memory holds. */
  readonly hasRows: () => boolean;
  /** The unit is committed: the state is now so. */
  readonly adopt: () => void;
};

type Row = Pick<MonitorRow, 'key' | 'target'>;
/** `row`: what a monitor is added with in this batch of decisions; null for one whose row stands where it is kept. */
type Kept = { readonly slot: number; readonly row: null } | { readonly slot: number | null; readonly row: Row };

/**
 * A monitor in this batch of decisions, and where it is kept; null for one that the partition does not hold yet. Modes: `untouched` (nothing was asked, or
 * it is told by numbers) → `made` (its state is there as an object; undefined when it was removed).
 */
type Entry = Kept & {
  isMade: boolean;
  state: MonitorState | undefined;
  isMoved: boolean;
  /** Whether what is checked changed. */
  isChanged: boolean;
};

export const createDecisionBatch = (partition: PartitionState, network: Roster, now: number): DecisionBatch => {
  const { monitors } = partition;
  const entries = new Map<string, Entry>();
  /** As long as no state was made of numbers, and all are told by numbers, nobody has an incident. */
  let isAnyMade = false;
  const marks = new Map<string, Watermark>();
  let hour = Number.NaN;
  const hours = new Set<number>();
  const looks: LookWish[] = [];
  const quiet: Passes[] = [];
  const passes = noPasses();
  const unit = emptyUnit(partition.lease);
  const rows = {
    results: [...unit.results],
    incidents: [...unit.incidents],
    evidence: [...unit.evidence],
    ledger: [...unit.ledger],
    alerts: [...unit.alerts],
    alone: [...unit.alone],
    done: [...unit.done],
  };
  const moment = { now, network, newId };

  const entryOf = (monitor: string): Entry | undefined => {
    const known = entries.get(monitor);
    if (known) return known;
    const slot = monitors.slotOf(monitor);
    if (slot === undefined) return undefined;
    const entry: Entry = { slot, row: null, isMade: false, state: undefined, isMoved: false, isChanged: false };
    entries.set(monitor, entry);
    return entry;
  };
  /** What was left to numbers of a monitor whose state is asked for after all. */
  const takeOver = (entry: Entry, slot: number): void => {
    for (const result of quiet.flatMap((taken) => takeBack(taken, slot))) {
      if (entry.state) entry.state = decide(entry.state, { is: 'result', result }, moment).state;
      entry.isMoved = true;
    }
  };
  /** States are made of numbers each time: who asks twice gets the same. */
  const stateIn = (entry: Entry): MonitorState | undefined => {
    if (entry.isMade || entry.slot === null) return entry.state;
    entry.isMade = true;
    isAnyMade = true;
    entry.state = monitors.stateAt(entry.slot);
    if (quiet.length > 0) takeOver(entry, entry.slot);
    return entry.state;
  };
  const rowOf = ({ slot, row }: Entry): Row => (row === null ? monitors.rowAt(slot) : row);
  const changedAtOf = ({ slot, isChanged }: Entry): number => (isChanged ? now : slot === null ? 0 : monitors.rowAt(slot).changedAt);

  function* future(): Generator<Packed> {
    for (const slot of monitors.slots()) {
      const id = monitors.idAt(slot) ?? '';
      const entry = entries.get(id) ?? (quiet.length > 0 ? entryOf(id) : undefined);
      const state = entry ? stateIn(entry) : monitors.stateAt(slot);
      const { key, changedAt } = monitors.rowAt(slot);
      if (state) yield { key, changedAt: entry ? changedAtOf(entry) : changedAt, state };
    }
    for (const entry of entries.values())
      if (entry.slot === null && entry.state) yield { key: rowOf(entry).key, changedAt: changedAtOf(entry), state: entry.state };
  }

  /** Neighbours nearly always belong to the same hour. */
  const belongsTo = (at: number): void => {
    if (at >= hour && at < hour + 3_600_000) return;
    hour = hourOf(at);
    hours.add(hour);
  };

  const keep = (monitor: string, effects: readonly Effect[]): void => {
    for (const effect of effects) {
      if (effect.is === 'incident') rows.incidents.push({ monitor, opened: effect.change === 'opened', incident: effect.incident });
      else if (effect.is === 'evidence') rows.evidence.push(effect);
      else if (effect.is === 'ledger') rows.ledger.push({ monitor, kind: effect.kind, put: effect.put, drop: effect.drop });
      else if (effect.is === 'alert') rows.alerts.push(effect);
      else if (effect.is === 'notice') rows.alone.push(effect.continent);
      else looks.push({ monitor, look: effect.look, continents: effect.continents, when: effect.why === 'sample' ? 'sample' : 'now' });
    }
  };

  const decisions: DecisionBatch = {
    stateOf: (monitor) => {
      const entry = entryOf(monitor);
      return entry && stateIn(entry);
    },
    incidentOf: (monitor) => {
      if (!isAnyMade && monitors.areAllQuiet()) return null;
      const entry = entryOf(monitor);
      // A monitor that is told by numbers has none.
      const isQuiet = entry && !entry.isMade && entry.slot !== null && monitors.isQuietAt(entry.slot);
      return isQuiet || !entry ? null : (stateIn(entry)?.incident ?? null);
    },
    termsOf: (monitor) => {
      const entry = entryOf(monitor);
      if (!entry || (entry.isMade && !entry.state)) return undefined;
      if (!entry.isMade && entry.slot !== null) {
        const { terms, version } = monitors.termsAt(entry.slot);
        return terms && { key: rowOf(entry).key, terms, version };
      }
      return entry.state && { key: rowOf(entry).key, terms: entry.state.watched, version: entry.state.watched.config_version };
    },
    decide: (monitor, event) => {
      const entry = entryOf(monitor);
      if (!entry) return;
      const before = stateIn(entry);
      if (!before) return;
      const { state, effects } = decide(before, event, moment);
      entry.state = state;
      entry.isMoved = true;
      if (event.is === 'edited' && event.changed) entry.isChanged = true;
      if (effects.length > 0) keep(monitor, effects);
    },
    add: (key, watched, target) => {
      const slot = monitors.slotOf(watched.id) ?? null;
      isAnyMade = true;
      entries.set(watched.id, {
        slot,
        row: { key, target },
        isMade: true,
        state: createState(watched),
        isMoved: true,
        isChanged: false,
      });
    },
    remove: (monitor) => {
      const entry = entryOf(monitor);
      if (!entry) return;
      stateIn(entry);
      entry.isMade = true;
      entry.state = undefined;
    },
    lookAt: (monitor, { continent, turn_at }) => looks.push({ monitor, look: newId(), continents: [continent], when: { before: turn_at } }),
    takeQuietly: (taken) => {
      quiet.push(taken);
      const from = passes.at.length;
      chartPasses(passes, taken, monitors);
      for (let place = from; place < passes.at.length; place += 1) belongsTo(passes.at[place] ?? 0);
    },
    chart: (row) => {
      rows.results.push(row);
      belongsTo(row.at);
    },
    pass: (mark) => {
      const ahead = decisions.wentAhead(mark.probe_key, mark.generation).filter((seq) => seq > mark.seq);
      marks.set(watermarkName(mark.probe_key, mark.generation), { ...mark, ahead });
    },
    goAhead: (of, seqs) => {
      const { probe_key, generation } = of;
      const ahead = [...decisions.wentAhead(probe_key, generation), ...seqs];
      marks.set(watermarkName(probe_key, generation), { ...of, seq: decisions.passed(probe_key, generation), ahead });
    },
    wentAhead: (probeKey, generation) => {
      const name = watermarkName(probeKey, generation);
      return marks.get(name)?.ahead ?? partition.ahead.get(name) ?? [];
    },
    passed: (probeKey, generation) => {
      const name = watermarkName(probeKey, generation);
      return marks.get(name)?.seq ?? partition.watermarks.get(name) ?? 0;
    },
    done: (line) => rows.done.push(line),
    hasConfigChanges: () => {
      for (const { isChanged, state } of entries.values()) if (isChanged && state) return true;
      return false;
    },
    unit: () => ({ ...unit, ...rows, passes, staleHours: [...hours], watermarks: [...marks.values()] }),
    withCheckpoint: (takenAt, pack) => ({ ...decisions.unit(), checkpoint: { takenAt, state: pack(future()) } }),
    looks: () => looks,
    hasRows: () => marks.size > 0 || passes.at.length > 0 || Object.values(rows).some((list) => list.length > 0),
    adopt: () => {
      for (const taken of quiet) partition.nextDue = Math.min(partition.nextDue, passAll(monitors, taken));
      for (const [monitor, entry] of entries) {
        const { slot, isMade, state, isMoved } = entry;
        if (!isMade) continue;
        if (!state) monitors.remove(monitor);
        else if (isMoved) {
          const due = nextTick(state, network) ?? Number.POSITIVE_INFINITY;
          const { key, target } = rowOf(entry);
          monitors.put(state, { key, target, changedAt: changedAtOf(entry), due }, slot);
          partition.nextDue = Math.min(partition.nextDue, due);
        }
      }
      for (const [name, { seq, ahead }] of marks) {
        partition.watermarks.set(name, seq);
        if (ahead.length > 0) partition.ahead.set(name, ahead);
        else partition.ahead.delete(name);
      }
    },
  };
  return decisions;
};
