import type { Behaviour } from '../../shared/actor/mailbox.ts';
import { lastSeqOf } from '../../shared/bus/batch.ts';
import type { Roster } from '../../shared/checks/assignment.ts';
import { mustWait } from '../core/backlog.ts';
import { isTransient } from '../database/connect.ts';
import type { Accepted } from '../probes/directory.ts';
import {
  beginDecisions,
  commitTo,
  committedTo,
  type DecisionBatch,
  decideOn,
} from './decision-batch.ts';
import type { PartitionDependencies } from './dependencies.ts';
import { countRefused, lateResults, locateAll, verify } from './intake.ts';
import { loadPartition } from './load.ts';
import { done, type PartitionAnswer, type PartitionMessage } from './messages.ts';
import { drainOutbox, retrySetAsideAsked } from './outbox.ts';
import { Fenced, type Lease, setAside } from './queries.ts';
import { needsFirstChecks, reviewFirstChecks } from './rechecks.ts';
import { type ReconcileTurn, takeTurn } from './reconcile.ts';
import {
  decideBatches,
  type LocatedBatch,
  observeAll,
  settle,
  unitWithCheckpoint,
} from './results.ts';
import { sealTurn } from './seal-turn.ts';
import type { PartitionState } from './state.ts';

/**
 * A batch of results, from the bus to memory. The owner of the partition takes it, one message
 * after the other:
 *
 *   1 verify       sender, signature, form; refuse and count the rest              intake.ts
 *   2 wait         late results, for probes that may keep as many, at most 30 s    core/backlog.ts
 *   3 decide       each in order of start: (state, event) → state, effects         results.ts
 *                                                                                  core/decide.ts
 *   4 commit       one fenced transaction: results, incidents, alerts, watermarks  writer.ts
 *   5 adopt        only now memory changes                                         results.ts
 *   6 recheck      other continents are asked at once (rule 9)                     rechecks.ts
 *   7 acknowledge  to the bus, with a receipt for the probe; the quarantine sees what counted
 *
 * What happens when a step fails:
 *   1  a refused message is acknowledged and never comes again
 *   2  `waits` leaves all unacknowledged: engine/bus-deliveries.ts holds it and asks again
 *   3  the message is poison: the batch is halved until it is found, and it is set aside
 *   4  fenced: another coordinator owns the partition, and this one stops. The database is down:
 *      the state is forgotten, and all comes again. Anything else is poison, as in 3
 *   6  a lost recheck is requested again by the open incident, at its next failure
 *   7  a message that comes again is below its watermark, changes nothing, and gets its receipt
 */
export async function receiveResults(
  state: PartitionState,
  { deliveries, backlog }: PartitionMessage & { readonly is: 'deliveries' },
  deps: PartitionDependencies,
  reportProgress: () => void,
): Promise<PartitionAnswer> {
  const { accepted, refused } = await verify(deliveries, state.lease.partition, deps);
  const late = lateResults(accepted, state.watermarks, deps.clock.now());
  if (late && mustWait(backlog, late, deps.presences(), performance.now()))
    return { is: 'waits', ...late };
  countRefused(refused, deps);
  if (accepted.length > 0)
    await processAll(state, await locateAll(state, accepted, deps, reportProgress), deps);
  return done;
}

type Batch = Accepted & LocatedBatch;

/** Steps 3 to 7; if they fail, of one half after the other. */
async function processAll(
  state: PartitionState,
  batches: readonly Batch[],
  deps: PartitionDependencies,
): Promise<void> {
  try {
    const { decisions, judged, refused, receipts } = decideBatches(state, batches, deps);
    await settle(decisions, deps);
    for (const { delivered } of batches) delivered.ack();
    for (const [subject, receipt] of receipts) deps.receipts.give(subject, receipt);
    for (const { probe, reason } of refused) deps.refusals.count(probe, reason);
    observeAll(state, judged, deps);
  } catch (error) {
    const [only] = batches;
    if (error instanceof Fenced || isTransient(error) || !only) throw error;
    if (batches.length === 1) return putAside(state, only, error, deps);
    const middle = Math.ceil(batches.length / 2);
    await processAll(state, batches.slice(0, middle), deps);
    await processAll(state, batches.slice(middle), deps);
  }
}

/** Its results count as committed, so that the probe goes on; an operator may retry them. */
async function putAside(
  state: PartitionState,
  { delivered, probe, batch }: Batch,
  error: unknown,
  deps: PartitionDependencies,
): Promise<void> {
  const { subject, data } = delivered;
  deps.log.error(
    { err: error, subject, results: batch.monitors.length },
    'a message cannot be processed; it is set aside',
  );
  const reason = error instanceof Error ? error.message : String(error);
  await setAside(deps.sql, { subject, reason, data });
  await decide(state, deps, (decisions) => {
    const seq = lastSeqOf(batch);
    const { generation } = batch;
    if (seq > committedTo(decisions, probe.key, generation))
      commitTo(decisions, {
        probe_key: probe.key,
        generation,
        partition: state.lease.partition,
        seq,
      });
  });
  delivered.ack();
}

/**
 * The owner of one partition. It takes results and changes of its monitors one after the other,
 * decides, commits, and only then acknowledges. Its state can be discarded at any time: the
 * database holds all of it.
 *
 * After a failure the next message loads it from the database first.
 *
 * @param leaseToRead the lease to load it under; nothing sent before can write any more.
 */
export function createPartition(
  partition: number,
  leaseToRead: () => Promise<Lease>,
  deps: PartitionDependencies,
): Behaviour<PartitionState, PartitionMessage, PartitionAnswer, 'partition'> {
  return {
    name: 'partition',
    init: async () => {
      const { unsealed, loading, loaded } = deps;
      const lease = await leaseToRead();
      const state = await loading(() => loadPartition(lease, deps));
      await drainOutbox(state, deps);
      loaded.set(partition, state);
      if (!state.earlier) unsealed.own(partition, state.hours);
      return state;
    },
    close: async (state) => unload(state, deps),
    receive: async (state, message, reportProgress) => ({
      state,
      answer: await receive(state, message, deps, reportProgress),
    }),
  };
}

/** This coordinator no longer holds it. */
export function unload(
  { lease: { partition }, hours }: PartitionState,
  { loaded, unsealed }: Pick<PartitionDependencies, 'loaded' | 'unsealed'>,
): void {
  loaded.delete(partition);
  unsealed.leave(partition, hours);
}

async function receive(
  state: PartitionState,
  message: PartitionMessage,
  deps: PartitionDependencies,
  reportProgress: () => void,
): Promise<PartitionAnswer> {
  switch (message.is) {
    case 'warm':
      return done;
    case 'deliveries':
      return receiveResults(state, message, deps, reportProgress);
    case 'reconcile':
      return reconcileIn(state, message.turn, deps);
    case 'tick':
      await tick(state, deps);
      return done;
    case 'outbox':
      await drainOutbox(state, deps, reportProgress);
      await retrySetAsideAsked(state, deps);
      return done;
    case 'checkpoint':
      await checkpoint(state, deps);
      await foldDeltas(state, deps);
      return done;
    case 'seal':
      return sealTurn(state, deps);
    case 'pings':
      await decide(state, deps, (decisions) => {
        for (const { monitor, ping } of message.pings)
          decideOn(decisions, monitor, { is: 'ping', ping });
      });
      return done;
    case 'quarantined':
      await decide(state, deps, (decisions) => {
        const at = deps.clock.now();
        for (const monitor of state.monitors.seenBy(message.probe))
          decideOn(decisions, monitor, { is: 'quarantined', at, probe: message.probe });
      });
      return done;
  }
}

async function decide(
  state: PartitionState,
  deps: PartitionDependencies,
  each: (decisions: DecisionBatch) => void,
): Promise<void> {
  const decisions = beginDecisions(state, deps.roster(), deps.clock.now());
  each(decisions);
  await settle(decisions, deps);
}

/** A failure here does not discard the state. */
function reconcileIn(
  { lease }: PartitionState,
  turn: ReconcileTurn,
  deps: PartitionDependencies,
): Promise<PartitionAnswer> {
  return takeTurn(lease.partition, turn, deps).then(
    (answer) => ({ is: 'reconciled', ...answer }),
    (error: unknown) => ({ is: 'failed', error }),
  );
}

const maxTicks = 2_000;
const hopelessMs = 60_000;

async function tick(state: PartitionState, deps: PartitionDependencies): Promise<void> {
  const now = deps.clock.now();
  const roster = deps.roster();
  if (needsFirstChecks(state.firstChecks, roster, now))
    await decide(state, deps, (decisions) =>
      reviewFirstChecks(state.firstChecks, decisions, roster, now),
    );
  if (now < state.nextDue) return;
  const decisions = beginDecisions(state, deps.roster(), now);
  for (const monitor of state.monitors.dueBy(now).slice(0, maxTicks)) {
    try {
      decideOn(decisions, monitor, { is: 'tick' });
    } catch (error) {
      // One monitor that cannot be decided must not stop the others.
      deps.log.error({ err: error, monitor }, 'could not evaluate a monitor');
      state.monitors.postpone(monitor, now + hopelessMs);
    }
  }
  await settle(decisions, deps);
  state.nextDue = state.monitors.nextDue();
}

async function checkpoint(state: PartitionState, deps: PartitionDependencies): Promise<void> {
  const takenAt = deps.clock.now();
  const began = performance.now();
  const decisions = beginDecisions(state, deps.roster(), takenAt);
  await deps.writer.commit(unitWithCheckpoint(decisions, takenAt));
  deps.figures.checkpointed(performance.now() - began);
}

/** A failure here does not discard the state. */
async function foldDeltas({ lease }: PartitionState, deps: PartitionDependencies): Promise<void> {
  const { partition } = lease;
  await deps.assignments.foldDeltas(partition).catch((error: unknown) => {
    deps.log.warn({ err: error, partition }, 'could not rewrite envelopes; retrying');
  });
}

/**
 * Whether a tick may find anything to do. Nearly all find nothing, and waking up for them costs an
 * idle coordinator a fifth of its time.
 */
export function isTickDue(state: PartitionState | undefined, roster: Roster, now: number): boolean {
  return (
    state === undefined || now >= state.nextDue || needsFirstChecks(state.firstChecks, roster, now)
  );
}
