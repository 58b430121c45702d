import { newId } from '../../shared/base/crypto.ts';
import { partitionCount } from '../../shared/bus/subjects.ts';
import type { Roster } from '../../shared/checks/assignment.ts';
import type { Place } from '../../shared/checks/places.ts';
import { decide } from '../core/decide.ts';
import { createState } from '../core/lifecycle.ts';
import type { FirstCheck } from '../core/rechecks.ts';
import type { Effect, Incident, MonitorEvent, MonitorState, Watched } from '../core/types.ts';
import type { JournalRow } from '../results/journal.ts';
import type { Taken } from '../results/packed-batch.ts';
import type { Unit } from './commit.ts';
import type { MonitorRow, MonitorSettings } from './monitor-memory.ts';
import { type Passes, passesOf } from './monitor-memory.ts';
import type { Watermark } from './queries.ts';
import { type PartitionState, watermarkName } from './state.ts';

/** A probe must check a monitor now. */
export type RecheckRequest = {
  readonly monitor: string;
  readonly look: string;
  /**
   * `all`: wherever it is checked. `of parents`: instead of the monitor, whatever it depends on,
   * everywhere (rule 47).
   */
  readonly places: readonly Place[] | 'all' | 'of parents';
  /** The probe whose check it follows. */
  readonly from?: string | undefined;
  /**
   * `now`: a user or an incident waits for the answer; `sample` and, of a place that confirms for
   * itself, `confirming`: may be left out; `before`: a first check, which waits in the queue until its turn comes at that time.
   */
  readonly when: 'now' | 'sample' | 'confirming' | { readonly before: number };
};

type Row = Pick<MonitorRow, 'key' | 'target'>;
/**
 * `row`: the row with which this batch adds a monitor; null for a monitor whose row is already
 * kept. `slot` is null for a monitor that is not held yet.
 */
type Slot =
  | { readonly slot: number; readonly row: null }
  | { readonly slot: number | null; readonly row: Row };

/**
 * How this batch holds a monitor: `numbers` (its state was not needed, or numbers contain all of
 * it) → `object` (its state was built; undefined when it was removed). It never goes back.
 */
type Held =
  | { readonly is: 'numbers' }
  | {
      readonly is: 'object';
      state: MonitorState | undefined;
      isMoved: boolean;
      /** Whether the checked config changed. */
      isChanged: boolean;
    };

export type Entry = Slot & { held: Held };

/**
 * A batch of decisions of a partition in progress: the decisions on any number of events, on top of
 * a state that it does not touch. The state follows when the batch is committed
 * (engine/results.ts). A batch that fails is discarded.
 *
 * Modes: `open` → `adopted` (the state has its changes; it takes no more decisions).
 */
export type DecisionBatch = {
  mode: 'open' | 'adopted';
  readonly partition: PartitionState;
  readonly network: Roster;
  readonly now: number;
  /** `take` hands on the checks of a row. */
  readonly journal: (JournalRow & { readonly take: (taken: Taken) => void })[];
  readonly entries: Map<string, Entry>;
  /** While no state was built and all monitors are numbers, no monitor has an incident. */
  hasStates: boolean;
  /** By name: up to where it commits results. */
  readonly marks: Map<string, Watermark>;
  /** Rechecks to request once it is committed. */
  readonly rechecks: RecheckRequest[];
  /** Passes that took the fast path. */
  readonly routine: Passes[];
  /** What it writes; `done`: rows of the outbox that it completes. */
  readonly rows: {
    readonly [Name in
      | 'incidents'
      | 'evidence'
      | 'ledger'
      | 'alerts'
      | 'alone'
      | 'warnings'
      | 'certificates'
      | 'served'
      | 'done']: Unit[Name][number][];
  };
};

export function beginDecisions(
  partition: PartitionState,
  network: Roster,
  now: number,
): DecisionBatch {
  return {
    mode: 'open',
    partition,
    network,
    now,
    journal: [],
    entries: new Map(),
    hasStates: false,
    marks: new Map(),
    rechecks: [],
    routine: [],
    rows: {
      incidents: [],
      evidence: [],
      ledger: [],
      alerts: [],
      alone: [],
      warnings: [],
      certificates: [],
      served: [],
      done: [],
    },
  };
}

export function decideOn(batch: DecisionBatch, monitor: string, event: MonitorEvent): void {
  assertOpen(batch);
  const entry = entryOf(batch, monitor);
  if (!entry) return;
  const made = buildState(batch, entry);
  if (!made.state) return;
  const { now, network, partition } = batch;
  // Monitors are spread evenly over the partitions.
  const crowd = partition.monitors.openOf(made.state.watched.organisation) * partitionCount;
  const { state, effects } = decide(made.state, event, { now, network, newId, crowd });
  made.state = state;
  made.isMoved = true;
  if (event.is === 'edited' && event.changed) made.isChanged = true;
  const from = event.is === 'result' ? event.result.from.probe : undefined;
  if (effects.length > 0) keep(batch, monitor, effects, from);
}

export function assertOpen({ mode, partition }: DecisionBatch): void {
  if (mode !== 'open')
    throw new Error(
      `a batch of decisions of partition ${partition.lease.partition} is ${mode}, and takes no more decisions`,
    );
}

export function entryOf(batch: DecisionBatch, monitor: string): Entry | undefined {
  const known = batch.entries.get(monitor);
  if (known) return known;
  const slot = batch.partition.monitors.slotOf(monitor);
  if (slot === undefined) return undefined;
  const entry: Entry = { slot, row: null, held: { is: 'numbers' } };
  batch.entries.set(monitor, entry);
  return entry;
}

/**
 * Builds the monitor's state from numbers, including its fast-path passes, because the state is
 * needed after all. States are built on every call; the batch keeps the first, so a second call
 * gets the same.
 */
export function buildState(batch: DecisionBatch, entry: Entry): Extract<Held, { is: 'object' }> {
  const { slot, held } = entry;
  if (held.is === 'object') return held;
  if (slot === null) throw new Error('a monitor without a row has no state to build');
  const { now, network, routine } = batch;
  const made: Extract<Held, { is: 'object' }> = {
    is: 'object',
    state: batch.partition.monitors.stateAt(slot),
    isMoved: false,
    isChanged: false,
  };
  for (const result of routine.flatMap((taken) => passesOf(taken, slot))) {
    if (made.state)
      made.state = decide(made.state, { is: 'result', result }, { now, network, newId }).state;
    made.isMoved = true;
  }
  entry.held = made;
  batch.hasStates = true;
  return made;
}

function keep(
  { rows, rechecks }: DecisionBatch,
  monitor: string,
  effects: readonly Effect[],
  from: string | undefined,
): void {
  for (const effect of effects) {
    if (effect.is === 'incident')
      rows.incidents.push({
        monitor,
        opened: effect.change === 'opened',
        incident: effect.incident,
      });
    else if (effect.is === 'evidence') rows.evidence.push(effect);
    else if (effect.is === 'ledger')
      rows.ledger.push({ monitor, kind: effect.kind, put: effect.put, drop: effect.drop });
    else if (effect.is === 'alert') {
      rows.alerts.push(effect);
      if (effect.event === 'down')
        rechecks.push({ monitor, look: newId(), places: 'of parents', when: 'now' });
    } else if (effect.is === 'notice') rows.alone.push(effect.continent);
    else if (effect.is === 'warning') {
      const { change, warning, ended_at } = effect;
      rows.warnings.push({ monitor, change, warning, ended_at });
    } else
      rechecks.push({
        monitor,
        look: effect.look,
        places: effect.places,
        when: effect.why === 'sample' || effect.why === 'confirming' ? effect.why : 'now',
        from,
      });
  }
}

/** A monitor that this partition did not hold before. */
export function addMonitor(
  batch: DecisionBatch,
  key: number,
  watched: Watched,
  target: number,
  coveredUntil?: number,
): void {
  assertOpen(batch);
  batch.hasStates = true;
  batch.entries.set(watched.id, {
    slot: batch.partition.monitors.slotOf(watched.id) ?? null,
    row: { key, target },
    held: {
      is: 'object',
      state: createState(watched, coveredUntil),
      isMoved: true,
      isChanged: false,
    },
  });
}

export function removeMonitor(batch: DecisionBatch, monitor: string): void {
  assertOpen(batch);
  const entry = entryOf(batch, monitor);
  if (entry) buildState(batch, entry).state = undefined;
}

/**
 * Takes passes that may use the fast path (Monitors.isRoutinePassAt). The passes of one monitor come
 * in order of start, unless nothing else of it comes.
 */
export function takeRoutine(batch: DecisionBatch, taken: Passes): void {
  assertOpen(batch);
  batch.routine.push(taken);
}

/** Requests a first check, to be made after the commit as soon as the budget allows. */
export function requestFirstCheck(
  { rechecks }: DecisionBatch,
  monitor: string,
  { place, turn_at }: FirstCheck,
): void {
  rechecks.push({ monitor, look: newId(), places: [place], when: { before: turn_at } });
}

export function stateOf(batch: DecisionBatch, monitor: string): MonitorState | undefined {
  const entry = entryOf(batch, monitor);
  return entry && buildState(batch, entry).state;
}

export function incidentOf(batch: DecisionBatch, monitor: string): Incident | null {
  const { monitors } = batch.partition;
  if (!batch.hasStates && monitors.areAllRoutine()) return null;
  const entry = entryOf(batch, monitor);
  if (!entry) return null;
  // A monitor that is held as numbers has none.
  if (entry.held.is === 'numbers' && entry.slot !== null && monitors.isRoutineAt(entry.slot))
    return null;
  return buildState(batch, entry).state?.incident ?? null;
}

/**
 * The part of its config that says which probes may check it, and its key in the database;
 * undefined when it is not held here.
 */
export function settingsOf(
  batch: DecisionBatch,
  monitor: string,
): { readonly key: number; readonly terms: MonitorSettings; readonly version: number } | undefined {
  const entry = entryOf(batch, monitor);
  if (!entry) return undefined;
  const { slot, held } = entry;
  if (held.is === 'object') {
    const watched = held.state?.watched;
    return (
      watched && { key: rowOf(batch, entry).key, terms: watched, version: watched.config_version }
    );
  }
  if (slot === null) return undefined;
  const { terms, version } = batch.partition.monitors.termsAt(slot);
  return terms && { key: rowOf(batch, entry).key, terms, version };
}

export function rowOf({ partition }: DecisionBatch, { slot, row }: Entry): Row {
  return row === null ? partition.monitors.rowAt(slot) : row;
}

/** All results up to this one are decided in this batch or before. */
export function commitTo(batch: DecisionBatch, mark: Watermark): void {
  assertOpen(batch);
  batch.marks.set(watermarkName(mark.probe_key, mark.generation), mark);
}

/** Up to where results of this generation are committed, or decided in this batch. */
export function committedTo(
  { marks, partition }: DecisionBatch,
  probeKey: number,
  generation: string,
): number {
  const name = watermarkName(probeKey, generation);
  return marks.get(name)?.seq ?? partition.watermarks.get(name) ?? 0;
}
