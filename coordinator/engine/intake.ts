import { lastSeqOf, seqAt, startAt, tookAt, versionAt } from '../../shared/bus/batch.ts';
import type { Delivered } from '../../shared/bus/nats.ts';
import { type Backlog, keptAfter, type Late, mustWait } from '../core/backlog.ts';
import { isPassing } from '../database/connect.ts';
import type { RefusedReason } from '../health/refusals.ts';
import { type Accepted, judge } from '../probes/directory.ts';
import { beginDecisions, passedTo, passTo } from './decision-batch.ts';
import type { PartitionDependencies } from './dependencies.ts';
import { done, type PartitionAnswer } from './messages.ts';
import type { Monitors } from './monitor-memory.ts';
import { drainOutbox } from './outbox.ts';
import { Fenced, setAside } from './queries.ts';
import { type Found, find, observeAll, receiveBatches, settle } from './results.ts';
import { type PartitionState, watermarkName } from './state.ts';

/**
 * The path of results that the bus delivers: their sender is checked, they are decided and
 * committed, and only then acknowledged.
 */

export async function takeDeliveries(
  state: PartitionState,
  { deliveries, handover }: { readonly deliveries: readonly Delivered[]; readonly handover: Backlog },
  parts: PartitionDependencies,
  goesOn: () => void,
): Promise<PartitionAnswer> {
  const { directory, refusals, clock, words } = parts;
  const accepted: Accepted[] = [];
  const refused: { readonly delivered: Delivered; readonly probe: string; readonly reason: RefusedReason }[] = [];
  for (const delivered of deliveries) {
    const judged = await judge(delivered, state.lease.partition, directory, clock.now());
    if (judged.is === 'accepted') accepted.push(judged.accepted);
    else refused.push({ delivered, probe: judged.probe, reason: judged.reason });
  }
  const kept = keptIn(state, accepted, clock.now());
  if (kept && mustWait(handover, kept, words(), performance.now())) return { is: 'waits', ...kept };
  for (const { delivered, probe, reason } of refused) {
    refusals.count(probe, reason);
    delivered.ack();
  }
  if (accepted.length === 0) return done;
  let found = accepted.map((one) => find(one, state.monitors));
  if (found.some((one) => isEarlierThanBacklog(one, state.monitors))) {
    // The probe received a change before we did: its line is in the outbox.
    await drainOutbox(state, parts, goesOn);
    found = accepted.map((one) => find(one, state.monitors));
  }
  await work(state, found, parts);
  return done;
}

/**
 * Since when and by which probes new results were kept, of monitors that several probes may check.
 * Results that only waited for us on the bus were delivered in time.
 */
function keptIn(state: PartitionState, batches: readonly Accepted[], now: number): Late | undefined {
  const kept = batches.flatMap(({ delivered, probe, batch }) => {
    if (probe.organisation_id !== null) return [];
    const committed = state.watermarks.get(watermarkName(probe.key, batch.generation)) ?? 0;
    let oldest = 0;
    for (let place = 0; place < batch.monitors.length; place += 1)
      if (seqAt(batch, place) > committed) oldest = Math.max(oldest, now - (startAt(batch, place) + tookAt(batch, place)));
    const waitedForUs = Math.max(0, now - delivered.storedAt);
    return oldest - waitedForUs > keptAfter ? [{ probe: probe.id, oldest }] : [];
  });
  if (kept.length === 0) return undefined;
  const ageMs = Math.max(...kept.map(({ oldest }) => oldest));
  return { since: performance.now() - ageMs, from: [...new Set(kept.map(({ probe }) => probe))] };
}

/** Whether it contains a monitor, or a version of one, that is not known here. */
function isEarlierThanBacklog({ batch, slots }: Found, monitors: Monitors): boolean {
  for (let place = 0; place < slots.length; place += 1) {
    const slot = slots[place] ?? -1;
    if (slot < 0 || monitors.termsAt(slot).version < versionAt(batch, place)) return true;
  }
  return false;
}

/**
 * Processes a set of messages. If that fails it processes its halves, until the bad message is
 * found and set aside.
 */
async function work(state: PartitionState, batches: readonly (Accepted & Found)[], parts: PartitionDependencies): Promise<void> {
  const { refusals } = parts;
  try {
    const { decisions, judged, refused, receipts } = receiveBatches(state, batches, parts);
    await settle(decisions, parts);
    for (const { delivered } of batches) delivered.ack();
    for (const [subject, receipt] of receipts) parts.receipts.give(subject, receipt);
    for (const { probe, reason } of refused) refusals.count(probe, reason);
    observeAll(state, judged, parts);
  } catch (error) {
    const [only] = batches;
    if (error instanceof Fenced || isPassing(error) || !only) throw error;
    if (batches.length === 1) return putAside(state, only, error, parts);
    const middle = Math.ceil(batches.length / 2);
    await work(state, batches.slice(0, middle), parts);
    await work(state, batches.slice(middle), parts);
  }
}

async function putAside(
  state: PartitionState,
  { delivered, probe, batch }: Accepted,
  error: unknown,
  parts: PartitionDependencies,
): Promise<void> {
  const { sql, log, clock, roster } = parts;
  log.error({ err: error, subject: delivered.subject, results: batch.monitors.length }, 'a message cannot be worked on and is set aside');
  await setAside(sql, { subject: delivered.subject, reason: error instanceof Error ? error.message : String(error), data: delivered.data });
  const decisions = beginDecisions(state, roster(), clock.now());
  const seq = lastSeqOf(batch);
  if (seq > passedTo(decisions, probe.key, batch.generation))
    passTo(decisions, { probe_key: probe.key, generation: batch.generation, partition: state.lease.partition, seq });
  await settle(decisions, parts);
  delivered.ack();
}
