import type { Behaviour } from '../../shared/actor/actor.ts';
import { lastSeqOf, seqAt, startAt, tookAt, versionAt } from '../../shared/bus/batch.ts';
import type { Delivered } from '../../shared/bus/nats.ts';
import type { Roster } from '../../shared/checks/assignment.ts';
import { keptAfter } from '../domain/handover.ts';
import type { SeenPing } from '../domain/incident-types.ts';
import type { RefusedReason } from '../house/refusals.ts';
import { type Accepted, judge } from '../probes/sender-check.ts';
import { isPassing } from '../store/database.ts';
import type { Lease } from '../store/leases.ts';
import { Fenced } from '../store/leases.ts';
import { setAside } from '../store/set-aside.ts';
import { adoptAhead, decideAhead, type WaitingRoom } from './ahead-of-handover.ts';
import { createDecisionBatch, type DecisionBatch } from './decision-batch.ts';
import { loadPartition } from './load.ts';
import type { Monitors } from './monitors.ts';
import { readOutbox } from './outbox.ts';
import { pack } from './packed-monitors.ts';
import type { PartitionParts } from './partition-parts.ts';
import { type Found, find, type Received, receiveBatches } from './results.ts';
import { retryAsked } from './retry.ts';
import { type PartitionState, watermarkName } from './state.ts';
import { askUnseen, wantsFirstLooks } from './unanswered-first-looks.ts';

/**
 * The owner of one partition: takes results and changes of its monitors one after the other, decides, has it committed, and only then
 * acknowledges. Its state can be thrown away at any time: the database holds all of it.
 *
 * Modes: as every actor; `cold` means that the next message reads the partition from the database first.
 */
export type PartitionMessage =
  | { readonly is: 'warm' }
  /** `isToWait` is asked about results that were kept; if they are, nothing has been done with any of the deliveries. */
  | { readonly is: 'deliveries'; readonly deliveries: readonly Delivered[]; readonly isToWait: (kept: Kept) => boolean }
  /** These wait; what of them need not is decided. */
  | { readonly is: 'waiting'; readonly deliveries: readonly Delivered[]; readonly room: WaitingRoom }
  /** `only`: all others wait for what is handed over. */
  | { readonly is: 'tick'; readonly only?: ReadonlySet<string> }
  | { readonly is: 'outbox' }
  /** Something that must not be done beside anything else of the partition. It fails by itself. */
  | { readonly is: 'meanwhile'; readonly work: () => Promise<void> }
  | { readonly is: 'pings'; readonly pings: readonly { readonly monitor: string; readonly ping: SeenPing }[] }
  | { readonly is: 'quarantined'; readonly probe: string }
  | { readonly is: 'checkpoint' };

/** Results that are new here and ended a while ago: how old the oldest is, and who kept them. */
export type Kept = { readonly ageMs: number; readonly from: readonly string[] };

const mostTicks = 2_000;
const hopelessMs = 60_000;

/** Commits a batch of decisions, moves memory after it, and asks for the looks that it wants. */
const settle = async (decisions: DecisionBatch, parts: PartitionParts): Promise<void> => {
  const { writer, clock, askLooks } = parts;
  if (decisions.hasConfigChanges()) {
    await writer.commit(decisions.withCheckpoint(clock.now(), pack));
  } else if (decisions.hasRows()) await writer.commit(decisions.unit());
  decisions.adopt();
  if (decisions.looks().length > 0) askLooks(decisions.looks());
};

const putAside = async (
  state: PartitionState,
  { delivered, probe, batch }: Accepted,
  error: unknown,
  parts: PartitionParts,
): Promise<void> => {
  const { sql, log, clock, roster } = parts;
  log.error({ err: error, subject: delivered.subject, results: batch.monitors.length }, 'a message cannot be worked on and is set aside');
  await setAside(sql, { subject: delivered.subject, reason: error instanceof Error ? error.message : String(error), data: delivered.data });
  const decisions = createDecisionBatch(state, roster(), clock.now());
  const seq = lastSeqOf(batch);
  if (seq > decisions.passed(probe.key, batch.generation))
    decisions.pass({ probe_key: probe.key, generation: batch.generation, partition: state.lease.partition, seq });
  await settle(decisions, parts);
  delivered.ack();
};

/** What was committed says something about its probes. */
const observeAll = (state: PartitionState, judged: Received['judged'], { observe }: PartitionParts): void => {
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

/** Works on a set of messages; when it cannot be, on its halves, until the one that cannot is found and set aside. */
const work = async (state: PartitionState, batches: readonly (Accepted & Found)[], parts: PartitionParts): Promise<void> => {
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
};

const drainOutbox = async (state: PartitionState, parts: PartitionParts, goesOn?: () => void): Promise<void> => {
  for (;;) {
    goesOn?.();
    const found = await readOutbox(state, parts);
    if (!found) return;
    const { decisions, lines, changes, more } = found;
    const publishing = parts.bus.isConnected() ? parts.assignments.publish(changes) : Promise.reject(new Error('the bus is away'));
    const isPublished = await publishing.then(
      () => true,
      (error: unknown) => {
        parts.log.warn({ err: error, lines: lines.length }, 'assignments could not be published; they wait in the outbox');
        return false;
      },
    );
    if (isPublished) for (const line of lines) decisions.done(line);
    await settle(decisions, parts);
    for (const line of lines) {
      if (isPublished) state.unpublished.delete(line);
      else state.unpublished.add(line);
    }
    if (!more || !isPublished) return;
  }
};

/** What was kept of monitors that several may check. What only waits for us on the bus was handed over in time. */
const keptIn = (state: PartitionState, batches: readonly Accepted[], now: number): Kept | undefined => {
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
  return { ageMs: Math.max(...kept.map(({ oldest }) => oldest)), from: [...new Set(kept.map(({ probe }) => probe))] };
};

/** Whether it tells of a monitor, or of a version of one, that is not known here. */
const isAhead = ({ batch, slots }: Found, monitors: Monitors): boolean => {
  for (let place = 0; place < slots.length; place += 1) {
    const slot = slots[place] ?? -1;
    if (slot < 0 || monitors.termsAt(slot).version < versionAt(batch, place)) return true;
  }
  return false;
};

const takeDeliveries = async (
  state: PartitionState,
  deliveries: readonly Delivered[],
  isToWait: (kept: Kept) => boolean,
  parts: PartitionParts,
  goesOn: () => void,
): Promise<void> => {
  const { directory, refusals, clock } = parts;
  const accepted: Accepted[] = [];
  const refused: { readonly delivered: Delivered; readonly probe: string; readonly reason: RefusedReason }[] = [];
  for (const delivered of deliveries) {
    const judged = await judge(delivered, state.lease.partition, directory, clock.now());
    if (judged.is === 'accepted') accepted.push(judged.accepted);
    else refused.push({ delivered, probe: judged.probe, reason: judged.reason });
  }
  const kept = keptIn(state, accepted, clock.now());
  if (kept && isToWait(kept)) return;
  for (const { delivered, probe, reason } of refused) {
    refusals.count(probe, reason);
    delivered.ack();
  }
  if (accepted.length === 0) return;
  let found = accepted.map((one) => find(one, state.monitors));
  if (found.some((one) => isAhead(one, state.monitors))) {
    // The probe heard of a change before we did: its line is in the outbox.
    await drainOutbox(state, parts, goesOn);
    found = accepted.map((one) => find(one, state.monitors));
  }
  await work(state, found, parts);
};

const lookAhead = async (
  state: PartitionState,
  deliveries: readonly Delivered[],
  room: WaitingRoom,
  parts: PartitionParts,
): Promise<void> => {
  const gone = await decideAhead(room, state, deliveries, parts);
  if (!gone) return;
  await settle(gone.decisions, parts);
  adoptAhead(room, gone.monitors);
  observeAll(state, gone.judged, parts);
  parts.log.debug({ monitors: gone.monitors.size, results: gone.judged.length }, 'decided ahead of what others hand over');
};

/** Whether a tick would find anything to do, or nobody knows. Nearly all find nothing, and to be woken for them costs a coordinator at rest a fifth. */
export const isTickDue = (state: PartitionState | undefined, roster: Roster, now: number): boolean =>
  state === undefined || now >= state.nextDue || wantsFirstLooks(state.unseen, roster, now);

const tick = async (state: PartitionState, parts: PartitionParts, only?: ReadonlySet<string>): Promise<void> => {
  const now = parts.clock.now();
  const roster = parts.roster();
  if (!only && wantsFirstLooks(state.unseen, roster, now))
    await decideEach(state, parts, (decisions) => askUnseen(state.unseen, decisions, roster, now));
  if (now < state.nextDue) return;
  const decisions = createDecisionBatch(state, parts.roster(), now);
  const due = state.monitors.dueBy(now).filter((monitor) => only?.has(monitor) ?? true);
  for (const monitor of due.slice(0, mostTicks)) {
    try {
      decisions.decide(monitor, { is: 'tick' });
    } catch (error) {
      // One monitor that cannot be decided about must not stop the others.
      parts.log.error({ err: error, monitor }, 'a monitor cannot be decided about');
      state.monitors.postpone(monitor, now + hopelessMs);
    }
  }
  await settle(decisions, parts);
  state.nextDue = state.monitors.nextDue();
};

const checkpoint = async (state: PartitionState, parts: PartitionParts): Promise<void> => {
  const takenAt = parts.clock.now();
  const began = performance.now();
  const decisions = createDecisionBatch(state, parts.roster(), takenAt);
  await parts.writer.commit(decisions.withCheckpoint(takenAt, pack));
  parts.figures.checkpointed(performance.now() - began);
};

const decideEach = async (state: PartitionState, parts: PartitionParts, each: (decisions: DecisionBatch) => void): Promise<void> => {
  const decisions = createDecisionBatch(state, parts.roster(), parts.clock.now());
  each(decisions);
  await settle(decisions, parts);
};

/** @param leaseToRead the lease under which it may be read, and all that was sent before can write nothing any more. */
export const createPartition = (
  partition: number,
  leaseToRead: () => Promise<Lease>,
  parts: PartitionParts,
): Behaviour<PartitionState, PartitionMessage> => ({
  name: `partition ${partition}`,
  init: async () => {
    const { sql, directory, roster, clock } = parts;
    const lease = await leaseToRead();
    const state = await parts.loading(() => loadPartition(lease, { sql, directory, roster, now: clock.now() }));
    await drainOutbox(state, parts);
    parts.loaded.set(partition, state);
    return state;
  },
  close: async () => {
    parts.loaded.delete(partition);
  },
  receive: async (state, message, goesOn) => {
    if (message.is === 'deliveries') await takeDeliveries(state, message.deliveries, message.isToWait, parts, goesOn);
    else if (message.is === 'waiting') await lookAhead(state, message.deliveries, message.room, parts);
    else if (message.is === 'tick') await tick(state, parts, message.only);
    else if (message.is === 'outbox') {
      await drainOutbox(state, parts, goesOn);
      await retryAsked(state, parts, settle);
    } else if (message.is === 'meanwhile') await message.work();
    else if (message.is === 'checkpoint') await checkpoint(state, parts);
    else if (message.is === 'pings')
      await decideEach(state, parts, (decisions) => {
        for (const { monitor, ping } of message.pings) decisions.decide(monitor, { is: 'ping', ping });
      });
    else if (message.is === 'quarantined')
      await decideEach(state, parts, (decisions) => {
        const at = parts.clock.now();
        for (const monitor of state.monitors.seenBy(message.probe))
          decisions.decide(monitor, { is: 'quarantined', at, probe: message.probe });
      });
    return state;
  },
});
