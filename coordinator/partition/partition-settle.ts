import { nextTick } from '../domain/state-restore.ts';
import { emptyUnit, type Unit } from '../store/store-decision-commit.ts';
import { assertOpen, type DecisionBatch, type Entry, entryOf, objectOf, rowOf } from './partition-decision-batch.ts';
import { type Packed, pack } from './partition-packed-monitors.ts';
import type { PartitionParts } from './partition-parts.ts';
import { passAll } from './partition-plain-passes.ts';
import type { Judged } from './partition-results.ts';
import type { PartitionState } from './partition-state.ts';

/** What of a batch of decisions is written, and what the partition holds once it is. */

/** Whether what is checked changed for a monitor: then the checkpoint goes along, because results do not say which version they checked. */
const hasConfigChanges = ({ entries }: DecisionBatch): boolean => {
  for (const { told } of entries.values()) if (told.is === 'object' && told.isChanged && told.state) return true;
  return false;
};

/** Whether there is anything to commit; a batch of decisions without rows only moves what memory holds. */
const hasRows = ({ marks, passes, rows }: DecisionBatch): boolean =>
  marks.size > 0 || passes.at.length > 0 || Object.values(rows).some((list) => list.length > 0);

export const unitOf = ({ partition, rows, passes, hours, marks }: DecisionBatch): Unit => ({
  ...emptyUnit(partition.lease),
  ...rows,
  passes,
  staleHours: [...hours],
  watermarks: [...marks.values()],
});

const changedAtOf = ({ now, partition }: DecisionBatch, { slot, told }: Entry): number => {
  if (told.is === 'object' && told.isChanged) return now;
  return slot === null ? 0 : partition.monitors.rowAt(slot).changedAt;
};

/** The monitors of the partition as they will be. */
function* future(batch: DecisionBatch): Generator<Packed> {
  const { entries, quiet, partition } = batch;
  const { monitors } = partition;
  for (const slot of monitors.slots()) {
    const id = monitors.idAt(slot) ?? '';
    const entry = entries.get(id) ?? (quiet.length > 0 ? entryOf(batch, id) : undefined);
    const state = entry ? objectOf(batch, entry).state : monitors.stateAt(slot);
    const { key, changedAt } = monitors.rowAt(slot);
    if (state) yield { key, changedAt: entry ? changedAtOf(batch, entry) : changedAt, state };
  }
  for (const entry of entries.values()) {
    const { slot, told } = entry;
    if (slot === null && told.is === 'object' && told.state)
      yield { key: rowOf(batch, entry).key, changedAt: changedAtOf(batch, entry), state: told.state };
  }
}

/** The unit, with a checkpoint of the partition as it will be. */
export const unitWithCheckpoint = (batch: DecisionBatch, takenAt: number): Unit => {
  assertOpen(batch);
  return { ...unitOf(batch), checkpoint: { takenAt, state: pack(future(batch)) } };
};

/** It is committed: the state is now so. */
export const adopt = (batch: DecisionBatch): void => {
  assertOpen(batch);
  batch.mode = 'adopted';
  const { partition, network, quiet, entries, marks } = batch;
  const { monitors } = partition;
  for (const taken of quiet) partition.nextDue = Math.min(partition.nextDue, passAll(monitors, taken));
  for (const [monitor, entry] of entries) {
    const { slot, told } = entry;
    if (told.is === 'numbers') continue;
    if (!told.state) monitors.remove(monitor);
    else if (told.isMoved) {
      const due = nextTick(told.state, network) ?? Number.POSITIVE_INFINITY;
      const { key, target } = rowOf(batch, entry);
      monitors.put(told.state, { key, target, changedAt: changedAtOf(batch, entry), due }, slot);
      partition.nextDue = Math.min(partition.nextDue, due);
    }
  }
  for (const [name, { seq, ahead }] of marks) {
    partition.watermarks.set(name, seq);
    if (ahead.length > 0) partition.ahead.set(name, ahead);
    else partition.ahead.delete(name);
  }
};

/** Commits a batch of decisions, moves memory after it, and asks for the looks that it wants. */
export const settle = async (decisions: DecisionBatch, parts: PartitionParts): Promise<void> => {
  const { writer, clock, askLooks } = parts;
  if (hasConfigChanges(decisions)) {
    await writer.commit(unitWithCheckpoint(decisions, clock.now()));
  } else if (hasRows(decisions)) await writer.commit(unitOf(decisions));
  adopt(decisions);
  if (decisions.looks.length > 0) askLooks(decisions.looks);
};

/** What was committed says something about its probes. */
export const observeAll = (state: PartitionState, judged: readonly Judged[], { observe }: PartitionParts): void => {
  // One for all of them: nobody keeps it.
  let monitor = '';
  const observed = {
    target: () => state.monitors.targetOf(monitor),
    state: () => state.monitors.stateOf(monitor),
    unwell: () => state.monitors.unwellOf(monitor),
  };
  for (const { seen } of judged) {
    monitor = seen.monitor;
    observe(seen, observed);
  }
};
