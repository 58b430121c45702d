import { seqAt, startAt, tookAt, versionAt } from '../../shared/bus/batch.ts';
import type { Delivered } from '../../shared/bus/nats.ts';
import { type Late, longestOnTheWay } from '../core/backlog.ts';
import type { RefusedReason } from '../health/refusals.ts';
import { type Accepted, judge } from '../probes/directory.ts';
import type { PartitionDependencies } from './dependencies.ts';
import { drainOutbox } from './outbox.ts';
import { type LocatedBatch, locate } from './results.ts';
import { type PartitionState, watermarkName } from './state.ts';

/** The first two steps of engine/partition.ts: whose results these are, and whether they wait. */

type Refused = {
  readonly delivered: Delivered;
  readonly probe: string;
  readonly reason: RefusedReason;
};

export async function verify(
  deliveries: readonly Delivered[],
  partition: number,
  { directory, clock }: PartitionDependencies,
): Promise<{ readonly accepted: readonly Accepted[]; readonly refused: readonly Refused[] }> {
  const accepted: Accepted[] = [];
  const refused: Refused[] = [];
  for (const delivered of deliveries) {
    const verified = await judge(delivered, partition, directory, clock.now());
    if (verified.is === 'accepted') accepted.push(verified.accepted);
    else refused.push({ delivered, probe: verified.probe, reason: verified.reason });
  }
  return { accepted, refused };
}

/**
 * Since when and by which probes new results were kept, of monitors that several probes may check.
 * Results that only waited for us on the bus were delivered in time.
 */
export function lateResults(
  batches: readonly (Pick<Accepted, 'probe' | 'batch'> & {
    readonly delivered: Pick<Delivered, 'storedAt'>;
  })[],
  watermarks: PartitionState['watermarks'],
  now: number,
): Late | undefined {
  const late = batches.flatMap(({ delivered, probe, batch }) => {
    if (probe.organisation_id !== null) return [];
    const committed = watermarks.get(watermarkName(probe.key, batch.generation)) ?? 0;
    let oldest = 0;
    for (let place = 0; place < batch.monitors.length; place += 1)
      if (seqAt(batch, place) > committed)
        oldest = Math.max(oldest, now - (startAt(batch, place) + tookAt(batch, place)));
    const waitedForUs = Math.max(0, now - delivered.storedAt);
    return oldest - waitedForUs > longestOnTheWay ? [{ probe: probe.id, oldest }] : [];
  });
  if (late.length === 0) return undefined;
  const ageMs = Math.max(...late.map(({ oldest }) => oldest));
  return { since: performance.now() - ageMs, from: [...new Set(late.map(({ probe }) => probe))] };
}

/** Refused results never come again. */
export function countRefused(
  refused: readonly Refused[],
  { refusals }: PartitionDependencies,
): void {
  for (const { delivered, probe, reason } of refused) {
    refusals.count(probe, reason);
    delivered.ack();
  }
}

/**
 * Finds the monitors of these results. A probe may receive a change before we do; its row is in the
 * outbox then.
 */
export async function locateAll(
  state: PartitionState,
  accepted: readonly Accepted[],
  deps: PartitionDependencies,
  reportProgress: () => void,
): Promise<readonly (Accepted & LocatedBatch)[]> {
  const located = accepted.map((one) => locate(one, state.monitors));
  if (!located.some((one) => isNewerThanMemory(one, state))) return located;
  await drainOutbox(state, deps, reportProgress);
  return accepted.map((one) => locate(one, state.monitors));
}

/** Whether it contains a monitor, or a version of one, that is not known here. */
function isNewerThanMemory({ batch, slots }: LocatedBatch, { monitors }: PartitionState): boolean {
  for (let place = 0; place < slots.length; place += 1) {
    const slot = slots[place] ?? -1;
    if (slot < 0 || monitors.termsAt(slot).version < versionAt(batch, place)) return true;
  }
  return false;
}
