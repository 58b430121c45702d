import type { Continent } from '../../shared/base/continents.ts';
import { newId } from '../../shared/base/ids.ts';
import type { Roster } from '../../shared/checks/assignment.ts';
import { decide } from '../domain/decide.ts';
import type { MonitorEvent, MonitorState, Watched } from '../domain/incident-types.ts';
import { createState, nextTick } from '../domain/restore.ts';
import { emptyUnit, type Unit } from '../store/commit.ts';
import { hourOf, type ResultRow } from '../store/results.ts';
import type { Watermark } from '../store/watermarks.ts';
import type { Packed } from './partition-pack.ts';
import { type PartitionState, watermarkName } from './partition-state.ts';

/** Somebody is to look at a monitor now. */
export type LookWish = {
  readonly monitor: string;
  readonly look: string;
  readonly continents: readonly Continent[];
  readonly sample: boolean;
};

/**
 * One round of a partition: decides about as many events as it is given on top of the state, without touching it. The state follows when
 * what was decided is committed; a round that fails is simply forgotten.
 */
export type Round = {
  readonly stateOf: (monitor: string) => MonitorState | undefined;
  readonly decide: (monitor: string, event: MonitorEvent) => void;
  /** A monitor that this partition did not hold yet. */
  readonly add: (key: number, watched: Watched, target: number) => void;
  readonly remove: (monitor: string) => void;
  /** Somebody there is to look at it when this round is committed; left out when too many are asked for. */
  readonly lookAt: (monitor: string, continent: Continent) => void;
  readonly chart: (row: ResultRow) => void;
  readonly pass: (watermark: Watermark) => void;
  /** How far results of this generation are committed, or decided in this round. */
  readonly passed: (probeKey: number, generation: string) => number;
  readonly done: (line: number) => void;
  /** Whether what is checked changed for a monitor: then the checkpoint goes along, because results do not say which version they checked. */
  readonly hasConfigChanges: () => boolean;
  readonly unit: () => Unit;
  /** The unit, with a checkpoint of the partition as it will be. */
  readonly withCheckpoint: (takenAt: number, pack: (monitors: Iterable<Packed>) => Uint8Array) => Unit;
  readonly looks: () => readonly LookWish[];
  /** Whether there is anything to commit; a round without rows only moves what memory holds. */
  readonly hasRows: () => boolean;
  /** The unit is committed: the state is now so. */
  readonly adopt: () => void;
};

type Change = {
  readonly state: MonitorState;
  readonly changed: boolean;
  readonly fresh?: { readonly key: number; readonly target: number };
};

export const createRound = (partition: PartitionState, network: Roster, now: number): Round => {
  const changes = new Map<string, Change>();
  const removed = new Set<string>();
  const marks = new Map<string, Watermark>();
  const hours = new Set<number>();
  const looks: LookWish[] = [];
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
  /** States are made of numbers each time: who asks twice gets the same. */
  const made = new Map<string, MonitorState | undefined>();
  const stateOf = (monitor: string): MonitorState | undefined => {
    if (removed.has(monitor)) return undefined;
    const changed = changes.get(monitor);
    if (changed) return changed.state;
    if (!made.has(monitor)) made.set(monitor, partition.monitors.stateOf(monitor));
    return made.get(monitor);
  };
  const { monitors } = partition;
  const changedAt = (monitor: string): number => (changes.get(monitor)?.changed ? now : monitors.changedAtOf(monitor));

  function* future(): Generator<Packed> {
    for (const monitor of new Set([...monitors.ids(), ...changes.keys()])) {
      const state = stateOf(monitor);
      const key = monitors.keyOf(monitor) ?? changes.get(monitor)?.fresh?.key;
      if (state && key !== undefined) yield { key, changedAt: changedAt(monitor), state };
    }
  }

  const round: Round = {
    stateOf,
    decide: (monitor, event) => {
      const before = stateOf(monitor);
      if (!before) return;
      const { state, effects } = decide(before, event, moment);
      const known = changes.get(monitor);
      changes.set(monitor, { ...known, state, changed: known?.changed === true || (event.is === 'edited' && event.changed) });
      for (const effect of effects) {
        if (effect.is === 'incident') rows.incidents.push({ monitor, opened: effect.change === 'opened', incident: effect.incident });
        else if (effect.is === 'evidence') rows.evidence.push(effect);
        else if (effect.is === 'ledger') rows.ledger.push({ monitor, kind: effect.kind, put: effect.put, drop: effect.drop });
        else if (effect.is === 'alert') rows.alerts.push(effect);
        else if (effect.is === 'notice') rows.alone.push(effect.continent);
        else looks.push({ monitor, look: effect.look, continents: effect.continents, sample: effect.why === 'sample' });
      }
    },
    add: (key, watched, target) => {
      removed.delete(watched.id);
      changes.set(watched.id, { state: createState(watched), changed: false, fresh: { key, target } });
    },
    remove: (monitor) => {
      changes.delete(monitor);
      removed.add(monitor);
    },
    lookAt: (monitor, continent) => looks.push({ monitor, look: newId(), continents: [continent], sample: true }),
    chart: (row) => {
      rows.results.push(row);
      hours.add(hourOf(row.at));
    },
    pass: (watermark) => marks.set(watermarkName(watermark.probe_key, watermark.generation), watermark),
    passed: (probeKey, generation) => {
      const name = watermarkName(probeKey, generation);
      return marks.get(name)?.seq ?? partition.watermarks.get(name) ?? 0;
    },
    done: (line) => rows.done.push(line),
    hasConfigChanges: () => [...changes.values()].some(({ changed }) => changed),
    unit: () => ({ ...unit, ...rows, staleHours: [...hours], watermarks: [...marks.values()] }),
    withCheckpoint: (takenAt, pack) => ({ ...round.unit(), checkpoint: { takenAt, state: pack(future()) } }),
    looks: () => looks,
    hasRows: () => marks.size > 0 || Object.values(rows).some((list) => list.length > 0),
    adopt: () => {
      for (const monitor of removed) monitors.remove(monitor);
      for (const [monitor, { state, fresh }] of changes) {
        const key = monitors.keyOf(monitor) ?? fresh?.key;
        if (key === undefined) continue;
        const target = fresh?.target ?? monitors.targetOf(monitor);
        const due = nextTick(state, network) ?? Number.POSITIVE_INFINITY;
        monitors.put(state, { key, target, changedAt: changedAt(monitor), due });
        partition.nextDue = Math.min(partition.nextDue, due);
      }
      for (const [name, { seq }] of marks) partition.watermarks.set(name, seq);
    },
  };
  return round;
};
