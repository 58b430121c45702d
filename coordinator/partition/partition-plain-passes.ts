import { type Batch, column, phaseAt, resultAt, startAt, tookAt } from '../../shared/bus/batch.ts';
import type { Observer, SeenResult } from '../domain/decision-types.ts';
import type { PassColumns } from '../store/store-results.ts';
import type { Monitors } from './partition-monitors.ts';

/**
 * Passes of a batch that only move numbers (domain/plain-pass.ts), by far the most of what comes: they are decided about without an object for each.
 * `slots`: by their place in the batch where their monitors are kept, −1 for what is none of them.
 */
export type Passes = { readonly probe_key: number; readonly from: Observer; readonly batch: Batch; readonly slots: Int32Array };

/** Does what they do, and says when the first of their monitors wants its next tick. */
export const passAll = (monitors: Monitors, { from, batch, slots }: Passes): number => {
  let due = Number.POSITIVE_INFINITY;
  for (let place = 0; place < slots.length; place += 1) {
    const slot = slots[place] ?? -1;
    if (slot >= 0) due = Math.min(due, monitors.pass(slot, { from, at: startAt(batch, place) }));
  }
  return due;
};

/** Puts them into the charts. */
export const chartPasses = (columns: PassColumns, { probe_key, batch, slots }: Passes, monitors: Monitors): void => {
  for (let place = 0; place < slots.length; place += 1) {
    const slot = slots[place] ?? -1;
    if (slot < 0) continue;
    columns.monitor_key.push(monitors.rowAt(slot).key);
    columns.probe_key.push(probe_key);
    columns.at.push(startAt(batch, place));
    columns.took_ms.push(tookAt(batch, place));
    columns.dns.push(phaseAt(batch, place, column.dns));
    columns.tcp.push(phaseAt(batch, place, column.tcp));
    columns.tls.push(phaseAt(batch, place, column.tls));
    columns.first_byte.push(phaseAt(batch, place, column.first_byte));
    columns.total.push(phaseAt(batch, place, column.total));
  }
};

/** Takes those of one monitor out, as results, because its state is asked for after all. They stay in the charts. */
export const takeBack = ({ from, batch, slots }: Passes, slot: number): SeenResult[] => {
  const results: SeenResult[] = [];
  for (let place = slots.indexOf(slot); place >= 0; place = slots.indexOf(slot, place + 1)) {
    slots[place] = -1;
    results.push({ ...resultAt(batch, place), from, quarantined: false, handed_over: false });
  }
  return results;
};
