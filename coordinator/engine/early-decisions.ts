import { lastSeqOf, resultAt } from '../../shared/bus/batch.ts';
import type { Delivered } from '../../shared/bus/nats.ts';
import type { Roster } from '../../shared/checks/assignment.ts';
import type { Result } from '../../shared/checks/result.ts';
import { canDecideEarly, isAwaited } from '../core/backlog.ts';
import { judge } from '../probes/directory.ts';
import type { ProbeRow } from '../probes/queries.ts';
import { beginDecisions, type DecisionBatch, decideNow, incidentOf, settingsOf, stateOf } from './decision-batch.ts';
import type { PartitionDependencies } from './dependencies.ts';
import { decideAbout, type Judged, reasonAgainst, seenBy } from './results.ts';
import { type PartitionState, watermarkName } from './state.ts';

type InHand = { readonly probe: ProbeRow; readonly generation: string; readonly result: Result };

/**
 * Results that wait while a partition holds (rule 4), by monitor, and the monitors that do not wait
 * (core/backlog.ts). There is one queue for each hold. Early decisions are remembered with the
 * watermarks, so that messages may be delivered again any number of times.
 *
 * Modes of a monitor: waiting → ahead (its results are decided as they come, until the hold ends).
 *
 * Only the partition changes it, when it goes through the waiting results.
 */
export type WaitingQueue = {
  /** Since when the past is awaited. */
  readonly began: number;
  readonly ahead: Set<string>;
  readonly about: Map<string, InHand[]>;
  /** How many results are in hand. Beyond `most` no more are taken in, and the rest wait. */
  size: number;
  /** `<probe key>:<generation>` → the last result in hand without a missing one before it. */
  readonly reached: Map<string, number>;
};

export const createWaitingQueue = (began: number): WaitingQueue => ({
  began,
  ahead: new Set(),
  about: new Map(),
  size: 0,
  reached: new Map(),
});

/** What came since the last call, and which probes are still awaited. */
export type Waiting = {
  readonly room: WaitingQueue;
  readonly deliveries: readonly Delivered[];
  /** Probes that may still deliver results. */
  readonly awaited: ReadonlySet<string>;
  /** Whether a probe is no longer awaited since the results in hand were last examined. */
  readonly isFewer: boolean;
};

type EarlyDecided = { readonly decisions: DecisionBatch; readonly judged: readonly Judged[]; readonly monitors: ReadonlySet<string> };

/**
 * Decides the waiting results that need not wait. Undefined when all of them wait. Nothing is
 * written yet.
 */
export async function decideEarly(
  waiting: Waiting,
  state: PartitionState,
  parts: PartitionDependencies,
): Promise<EarlyDecided | undefined> {
  const { room, deliveries, isFewer } = waiting;
  const touched = await takeIn(room, state, deliveries, parts);
  const { clock, timing, oldestKept, roster } = parts;
  const { partition } = state.lease;
  const now = clock.now();
  const network = roster();
  const decisions = beginDecisions(state, network, now);
  const candidates = isFewer ? [...room.about.keys()] : [...touched];
  const monitors = new Set(candidates.filter((monitor) => mayGo(waiting, monitor, decisions, network)));
  const judged: Judged[] = [];
  const seqs = new Map<string, { readonly of: { readonly probe_key: number; readonly generation: string }; readonly seqs: number[] }>();
  for (const monitor of monitors) {
    const known = settingsOf(decisions, monitor);
    for (const { probe, generation, result } of room.about.get(monitor) ?? []) {
      // A result that cannot count yet is judged again when the hold ends.
      if (!known || reasonAgainst(probe, result, known.terms, known.version, { now, oldest: oldestKept(now) })) continue;
      judged.push({ key: known.key, probe, seen: seenBy(probe, result, now, timing.lateMs) });
      const name = watermarkName(probe.key, generation);
      const entry = seqs.get(name) ?? { of: { probe_key: probe.key, generation }, seqs: [] };
      entry.seqs.push(result.seq);
      seqs.set(name, entry);
    }
  }
  if (judged.length === 0) return undefined;
  decideAbout(decisions, judged, now);
  for (const { of, seqs: gone } of seqs.values()) decideNow(decisions, { ...of, partition }, gone);
  return { decisions, judged, monitors };
}

/** Hours of absence may leave a hundred thousand results; a short glitch leaves fewer than this. */
const most = 10_000;

/** Takes in what came since the last call. @returns the monitors with new results. */
async function takeIn(
  room: WaitingQueue,
  state: PartitionState,
  deliveries: readonly Delivered[],
  { directory, clock }: PartitionDependencies,
): Promise<ReadonlySet<string>> {
  const touched = new Set<string>();
  for (const delivered of deliveries) {
    if (room.size >= most) break;
    const judged = await judge(delivered, state.lease.partition, directory, clock.now());
    // A refused result is counted when the hold ends and it is processed.
    if (judged.is !== 'accepted') continue;
    const { probe, batch } = judged.accepted;
    const name = watermarkName(probe.key, batch.generation);
    const reached = room.reached.get(name) ?? state.watermarks.get(name) ?? 0;
    if (batch.after !== null && batch.after > reached) continue;
    for (let place = 0; place < batch.monitors.length; place += 1) {
      const result = resultAt(batch, place);
      if (result.seq <= reached || state.ahead.get(name)?.includes(result.seq)) continue;
      const inHand = room.about.get(result.monitor) ?? [];
      inHand.push({ probe, generation: batch.generation, result });
      room.about.set(result.monitor, inHand);
      room.size += 1;
      touched.add(result.monitor);
    }
    room.reached.set(name, Math.max(reached, lastSeqOf(batch)));
  }
  return touched;
}

function mayGo({ room, awaited }: Waiting, monitor: string, decisions: DecisionBatch, roster: Roster): boolean {
  if (room.ahead.has(monitor)) return true;
  const inHand = room.about.get(monitor) ?? [];
  // Nearly always nothing failed, and the state is not needed.
  const isPrivate = inHand.some(({ probe }) => probe.organisation_id !== null);
  if (!isPrivate && incidentOf(decisions, monitor) === null && !inHand.some(({ result }) => result.outcome === 'fail')) return false;
  const known = stateOf(decisions, monitor);
  const seen = inHand.map(({ probe, result: { at, outcome } }) => ({ at, outcome, quarantined: probe.quarantined_at !== null }));
  if (known === undefined) return false;
  // Results that were not taken in may be of any monitor.
  const isMore = room.size >= most || isAwaited(known.watched, awaited, roster);
  return canDecideEarly(known, seen, room.began, isMore);
}

/** The early decisions are committed. */
export function adoptEarly(room: WaitingQueue, monitors: ReadonlySet<string>): void {
  for (const monitor of monitors) {
    room.ahead.add(monitor);
    room.about.delete(monitor);
  }
}
