import { lastSeqOf, resultAt } from '../../shared/bus/batch.ts';
import { canDecideEarly, isAwaited } from '../core/backlog.ts';
import { judge } from '../probes/directory.ts';
import {
  beginDecisions,
  type DecisionBatch,
  incidentOf,
  markDecidedEarly,
  settingsOf,
  stateOf,
} from './decision-batch.ts';
import type { PartitionDependencies } from './dependencies.ts';
import type { EarlyAnswer, HeldDeliveries } from './messages.ts';
import {
  decideResults,
  type Judged,
  observeAll,
  refusedReason,
  seenResult,
  settle,
} from './results.ts';
import {
  type EarlyQueue,
  type PartitionState,
  type WaitingResult,
  watermarkName,
} from './state.ts';

/**
 * What need not wait while a partition holds (rule 4, core/backlog.ts):
 *
 *   1 take in   the new ones of the held messages, by monitor
 *   2 choose    the monitors whose results need not wait
 *   3 decide    their results, in order of start
 *   4 settle    commit them with the watermarks, so that their messages may come again later
 *
 * If a step fails, the partition forgets its state, and the queue with it. The messages stay held
 * and unacknowledged: all of them are decided when the hold ends.
 */
export async function decideEarly(
  state: PartitionState,
  held: HeldDeliveries,
  deps: PartitionDependencies,
): Promise<EarlyAnswer> {
  const queue = queueOf(state, held);
  const touched = await takeIn(queue, state, held, deps);
  const decisions = beginDecisions(state, deps.roster(), deps.clock.now());
  const candidates = held.isFewer ? [...queue.waiting.keys()] : [...touched];
  const monitors = candidates.filter((monitor) => needNotWait(queue, held, monitor, decisions));
  const judged = decideWaiting(queue, monitors, decisions, deps);
  if (judged.length > 0) {
    await settle(decisions, deps);
    for (const monitor of monitors) {
      queue.early.add(monitor);
      queue.waiting.delete(monitor);
    }
    observeAll(state, judged, deps);
    deps.log.debug(
      { monitors: monitors.length, results: judged.length },
      'decided before the backlogs of others arrived',
    );
  }
  return { monitors: new Set(queue.early), areOthersWaiting: queue.waiting.size > 0 };
}

function queueOf(state: PartitionState, { hold }: HeldDeliveries): EarlyQueue {
  if (state.early?.hold === hold) return state.early;
  const queue = {
    hold,
    taken: 0,
    early: new Set<string>(),
    waiting: new Map(),
    size: 0,
    reached: new Map(),
  };
  state.early = queue;
  return queue;
}

/** Hours of absence may leave a hundred thousand results; a short glitch leaves fewer than this. */
const maxTaken = 10_000;

/** @returns the monitors with new results. */
async function takeIn(
  queue: EarlyQueue,
  state: PartitionState,
  { deliveries }: HeldDeliveries,
  { directory, clock }: PartitionDependencies,
): Promise<ReadonlySet<string>> {
  const touched = new Set<string>();
  const added = deliveries.slice(queue.taken);
  queue.taken = deliveries.length;
  for (const delivered of added) {
    if (queue.size >= maxTaken) break;
    const verified = await judge(delivered, state.lease.partition, directory, clock.now());
    // A refused result is counted when the hold ends and it is processed.
    if (verified.is !== 'accepted') continue;
    const { probe, batch } = verified.accepted;
    const name = watermarkName(probe.key, batch.generation);
    const reached = queue.reached.get(name) ?? state.watermarks.get(name) ?? 0;
    if (batch.after !== null && batch.after > reached) continue;
    for (let place = 0; place < batch.monitors.length; place += 1) {
      const result = resultAt(batch, place);
      if (result.seq <= reached || state.ahead.get(name)?.includes(result.seq)) continue;
      const waiting = queue.waiting.get(result.monitor) ?? [];
      waiting.push({ probe, generation: batch.generation, result });
      queue.waiting.set(result.monitor, waiting);
      queue.size += 1;
      touched.add(result.monitor);
    }
    queue.reached.set(name, Math.max(reached, lastSeqOf(batch)));
  }
  return touched;
}

function needNotWait(
  queue: EarlyQueue,
  { since, awaited }: HeldDeliveries,
  monitor: string,
  decisions: DecisionBatch,
): boolean {
  if (queue.early.has(monitor)) return true;
  const waiting = queue.waiting.get(monitor) ?? [];
  // Nearly always nothing failed, and the state is not needed.
  const isPrivate = waiting.some(({ probe }) => probe.organisation_id !== null);
  const hasFailed = waiting.some(({ result }) => result.outcome === 'fail');
  if (!isPrivate && incidentOf(decisions, monitor) === null && !hasFailed) return false;
  const state = stateOf(decisions, monitor);
  if (state === undefined) return false;
  // Results that were not taken in may be of any monitor.
  const isMore = queue.size >= maxTaken || isAwaited(state.watched, awaited, decisions.network);
  return canDecideEarly(state, waiting.map(brief), since, isMore);
}

function brief({ probe, result: { at, outcome } }: WaitingResult) {
  return { at, outcome, quarantined: probe.quarantined_at !== null };
}

/** @returns what was decided; a result that cannot count yet is judged again after the hold. */
function decideWaiting(
  queue: EarlyQueue,
  monitors: readonly string[],
  decisions: DecisionBatch,
  { timing, oldestAccepted }: PartitionDependencies,
): readonly Judged[] {
  const { now, partition } = decisions;
  const moment = { now, oldest: oldestAccepted(now) };
  const judged: Judged[] = [];
  const early: WaitingResult[] = [];
  for (const monitor of monitors) {
    const settings = settingsOf(decisions, monitor);
    if (!settings) continue;
    for (const waiting of queue.waiting.get(monitor) ?? []) {
      const { probe, result } = waiting;
      if (refusedReason(probe, result, settings.terms, settings.version, moment)) continue;
      judged.push({
        key: settings.key,
        probe,
        seen: seenResult(probe, result, now, timing.lateMs),
      });
      early.push(waiting);
    }
  }
  decideResults(decisions, judged, now);
  for (const some of Map.groupBy(early, ({ probe, generation }) =>
    watermarkName(probe.key, generation),
  ).values()) {
    const [first] = some;
    if (!first) continue;
    const mark = {
      probe_key: first.probe.key,
      generation: first.generation,
      partition: partition.lease.partition,
    };
    markDecidedEarly(
      decisions,
      mark,
      some.map(({ result }) => result.seq),
    );
  }
  return judged;
}
