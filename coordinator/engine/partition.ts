import type { Behaviour } from '../../shared/actor/mailbox.ts';
import type { Roster } from '../../shared/checks/assignment.ts';
import { beginDecisions, type DecisionBatch, decideOn } from './decision-batch.ts';
import type { PartitionDependencies } from './dependencies.ts';
import { adoptEarly, decideEarly, type Waiting } from './early-decisions.ts';
import { takeDeliveries } from './intake.ts';
import { loadPartition } from './load.ts';
import { done, type PartitionAnswer, type PartitionMessage } from './messages.ts';
import { drainOutbox, retryAsked } from './outbox.ts';
import type { Lease } from './queries.ts';
import { askUnseen, needsFirstChecks } from './rechecks.ts';
import { type ReconcileTurn, takeTurn } from './reconcile.ts';
import { observeAll, settle, unitWithCheckpoint } from './results.ts';
import type { PartitionState } from './state.ts';

/**
 * Whether a tick may find anything to do. Nearly all find nothing, and waking up for them costs an
 * idle coordinator a fifth of its time.
 */
export const isTickDue = (state: PartitionState | undefined, roster: Roster, now: number): boolean =>
  state === undefined || now >= state.nextDue || needsFirstChecks(state.unseen, roster, now);

/** @param leaseToRead the lease to load it under; nothing sent before can write any more. */
export const createPartition = (
  partition: number,
  leaseToRead: () => Promise<Lease>,
  parts: PartitionDependencies,
): Behaviour<PartitionState, PartitionMessage, PartitionAnswer> => ({
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
  receive: async (state, message, goesOn) => ({ state, answer: await receive(state, message, parts, goesOn) }),
});

async function receive(
  state: PartitionState,
  message: PartitionMessage,
  parts: PartitionDependencies,
  goesOn: () => void,
): Promise<PartitionAnswer> {
  switch (message.is) {
    case 'warm':
      return done;
    case 'deliveries':
      return takeDeliveries(state, message, parts, goesOn);
    case 'reconcile':
      return reconcileIn(state, message.turn, parts);
    case 'waiting':
      await decideWaiting(state, message, parts);
      return done;
    case 'tick':
      await tick(state, parts, message.only);
      return done;
    case 'outbox':
      await drainOutbox(state, parts, goesOn);
      await retryAsked(state, parts);
      return done;
    case 'checkpoint':
      await checkpoint(state, parts);
      return done;
    case 'pings':
      await decideEach(state, parts, (decisions) => {
        for (const { monitor, ping } of message.pings) decideOn(decisions, monitor, { is: 'ping', ping });
      });
      return done;
    case 'quarantined':
      await decideEach(state, parts, (decisions) => {
        const at = parts.clock.now();
        for (const monitor of state.monitors.seenBy(message.probe))
          decideOn(decisions, monitor, { is: 'quarantined', at, probe: message.probe });
      });
      return done;
  }
}

/** A failure here does not discard the state. */
function reconcileIn({ lease }: PartitionState, turn: ReconcileTurn, parts: PartitionDependencies): Promise<PartitionAnswer> {
  return takeTurn(lease.partition, turn, parts).then(
    (answer) => ({ is: 'reconciled', ...answer }),
    (error: unknown) => ({ is: 'failed', error }),
  );
}

async function decideWaiting(state: PartitionState, waiting: Waiting, parts: PartitionDependencies): Promise<void> {
  const gone = await decideEarly(waiting, state, parts);
  if (!gone) return;
  await settle(gone.decisions, parts);
  adoptEarly(waiting.room, gone.monitors);
  observeAll(state, gone.judged, parts);
  parts.log.debug({ monitors: gone.monitors.size, results: gone.judged.length }, 'decided ahead of what others hand over');
}

/**
 * The owner of one partition. It takes results and changes of its monitors one after the other,
 * decides, commits, and only then acknowledges. Its state can be discarded at any time: the
 * database holds all of it.
 *
 * Modes: as every actor; `cold` means that the next message loads the partition from the database
 * first.
 */
const maxTicks = 2_000;
const hopelessMs = 60_000;

async function tick(state: PartitionState, parts: PartitionDependencies, only?: ReadonlySet<string>): Promise<void> {
  const now = parts.clock.now();
  const roster = parts.roster();
  if (!only && needsFirstChecks(state.unseen, roster, now))
    await decideEach(state, parts, (decisions) => askUnseen(state.unseen, decisions, roster, now));
  if (now < state.nextDue) return;
  const decisions = beginDecisions(state, parts.roster(), now);
  const due = state.monitors.dueBy(now).filter((monitor) => only?.has(monitor) ?? true);
  for (const monitor of due.slice(0, maxTicks)) {
    try {
      decideOn(decisions, monitor, { is: 'tick' });
    } catch (error) {
      // One monitor that cannot be decided must not stop the others.
      parts.log.error({ err: error, monitor }, 'a monitor cannot be decided about');
      state.monitors.postpone(monitor, now + hopelessMs);
    }
  }
  await settle(decisions, parts);
  state.nextDue = state.monitors.nextDue();
}

async function decideEach(state: PartitionState, parts: PartitionDependencies, each: (decisions: DecisionBatch) => void): Promise<void> {
  const decisions = beginDecisions(state, parts.roster(), parts.clock.now());
  each(decisions);
  await settle(decisions, parts);
}

async function checkpoint(state: PartitionState, parts: PartitionDependencies): Promise<void> {
  const takenAt = parts.clock.now();
  const began = performance.now();
  const decisions = beginDecisions(state, parts.roster(), takenAt);
  await parts.writer.commit(unitWithCheckpoint(decisions, takenAt));
  parts.figures.checkpointed(performance.now() - began);
}
