import {
  type Batch,
  lastSeqOf,
  resultAt,
  seqAt,
  startAt,
  tookAt,
  versionAt,
} from '../../shared/bus/batch.ts';
import { proofOf, type Signed } from '../../shared/bus/identity.ts';
import type { ReceiptMessage } from '../../shared/bus/messages.ts';
import { subjects } from '../../shared/bus/subjects.ts';
import type { Result } from '../../shared/checks/result.ts';
import { byStart } from '../core/backlog.ts';
import { nextTick } from '../core/decide.ts';
import type { SeenResult } from '../core/types.ts';
import { countsAs, mayCheck } from '../core/views.ts';
import type { RefusedReason } from '../health/refusals.ts';
import type { Accepted } from '../probes/directory.ts';
import type { ProbeRow } from '../probes/queries.ts';
import { observingProbeOf } from '../probes/roster.ts';
import { hourOf } from '../results/chunk.ts';
import { takenInto } from '../results/hours.ts';
import { packBatch, takeBatch } from '../results/packed-batch.ts';
import { type Packed, pack } from './checkpoint.ts';
import { emptyUnit, type Unit } from './commit.ts';
import {
  assertOpen,
  beginDecisions,
  buildState,
  commitTo,
  committedTo,
  type DecisionBatch,
  decideOn,
  type Entry,
  entryOf,
  incidentOf,
  rowOf,
  settingsOf,
  takeRoutine,
} from './decision-batch.ts';
import type { PartitionDependencies } from './dependencies.ts';
import { type MonitorSettings, type Monitors, type Passes, passAll } from './monitor-memory.ts';
import type { PartitionState } from './state.ts';

/**
 * A batch with the slot of each result's monitor by its place, −1 for unknown monitors. It is valid
 * until a monitor is added or removed.
 */
export type LocatedBatch = Pick<Accepted, 'probe' | 'batch'> & {
  readonly delivered: Signed;
  readonly slots: Int32Array;
};

/** The new part of it: from this place on. */
type Fresh = LocatedBatch & { readonly first: number };

type Receipt = {
  readonly generation: string;
  readonly probe: string;
  committed: number;
  again: boolean;
};

/** What one batch of decisions makes of a set of batches. */
export type Decided = {
  readonly decisions: DecisionBatch;
  /** Results that were decided, without those on the fast path. */
  readonly judged: readonly SeenResult[];
  readonly refused: readonly { readonly probe: string; readonly reason: RefusedReason }[];
  readonly receipts: readonly (readonly [subject: string, receipt: ReceiptMessage])[];
};

type DecidingDependencies = Pick<
  PartitionDependencies,
  'clock' | 'timing' | 'oldestAccepted' | 'roster' | 'needsPasses'
>;

/** Decides a set of batches, in order of start. Nothing is written yet. */
export function decideBatches(
  state: PartitionState,
  batches: readonly LocatedBatch[],
  deps: DecidingDependencies,
): Decided {
  const { clock, roster } = deps;
  const now = clock.now();
  const decisions = beginDecisions(state, roster(), now);
  const fresh: Fresh[] = [];
  const answers = new Map<string, Receipt>();

  for (const found of batches) {
    const { probe, batch } = found;
    const { generation } = batch;
    const committed = committedTo(decisions, probe.key, generation);
    const name = `${probe.id} ${generation}`;
    const answer = answers.get(name) ?? { generation, probe: probe.id, committed, again: false };
    answers.set(name, answer);
    const isGap = batch.after !== null && batch.after > committed;
    if (isGap) answer.again = true;
    const last = lastSeqOf(batch);
    if (isGap || last <= committed) continue;
    answer.committed = last;
    // A later batch fills the gap that an earlier batch of this set had shown.
    answer.again = false;
    fresh.push({ ...found, first: firstAfter(batch, committed) });
    commitTo(decisions, {
      probe_key: probe.key,
      generation,
      partition: state.lease.partition,
      seq: last,
    });
  }

  const { routine, judged, refused, taken } = splitResults(state, fresh, now, deps);
  for (const one of taken) keepInJournal(decisions, one);
  for (const passes of routine) takeRoutine(decisions, passes);
  decideResults(decisions, judged, now);

  const { partition } = state.lease;
  const receipts = [...answers.values()].map(
    ({ probe, generation, committed, again }): [string, ReceiptMessage] => [
      subjects.receipt(probe),
      { v: 1, generation, committed: { [partition]: committed }, again: again ? [partition] : [] },
    ],
  );
  return { decisions, judged, refused, receipts };
}

function firstAfter(batch: Batch, seq: number): number {
  let place = 0;
  while (seqAt(batch, place) <= seq) place += 1;
  return place;
}

/** A batch with what was taken of it, by place. */
type Taken = Fresh & {
  /** The key of the monitor whose result was taken, else 0. */
  readonly keys: readonly number[];
  /** What counts as unknown, whatever its probe says. */
  readonly unknown: ReadonlySet<number>;
};

/** A set of batches, split by how its results are decided. */
type SplitResults = {
  readonly taken: readonly Taken[];
  /** By their place: passes that may take the fast path, whatever else is in the set. */
  readonly routine: readonly Passes[];
  readonly judged: SeenResult[];
  readonly refused: { probe: string; reason: RefusedReason }[];
};

/**
 * Separates passes for the fast path from all other results. Either all results of a monitor take
 * it or none, because decisions go in order of start.
 */
function splitResults(
  state: PartitionState,
  fresh: readonly Fresh[],
  now: number,
  deps: DecidingDependencies,
): SplitResults {
  const { timing, oldestAccepted, needsPasses: attends, roster } = deps;
  const { monitors } = state;
  const moment = { now, oldest: oldestAccepted(now), network: roster() };
  const others = new Set<number>();
  const routine: (Passes & Fresh)[] = [];
  const judged: SeenResult[] = [];
  const refused: SplitResults['refused'] = [];
  const taken: Taken[] = [];
  const decideAt = ({ probe, batch }: Fresh, place: number): void => {
    judged.push(seenResult(probe, resultAt(batch, place), now, timing.lateMs));
  };

  for (const one of fresh) {
    const { probe, batch, first } = one;
    const pass = passOf(probe);
    const mayPass = !attends(probe.id);
    const slots = new Int32Array(batch.monitors.length).fill(-1);
    const keys = Array.from(slots, () => 0);
    const unknown = new Set<number>();
    taken.push({ ...one, keys, unknown });
    for (let place = first; place < slots.length; place += 1) {
      const slot = one.slots[place] ?? -1;
      // Deleted meanwhile, or never known: nothing to decide.
      if (slot < 0) continue;
      pass.config_version = versionAt(batch, place);
      pass.at = startAt(batch, place);
      const { terms, version } = monitors.termsAt(slot);
      if (!terms) continue;
      const reason = refusedReason(probe, pass, terms, version, moment);
      if (reason) {
        refused.push({ probe: probe.id, reason });
        continue;
      }
      keys[place] = monitors.rowAt(slot).key;
      if (countsAs(pass, now) === 'unknown') unknown.add(place);
      if (mayPass && !batch.whole.has(place) && monitors.isRoutinePassAt(slot, pass, moment))
        slots[place] = slot;
      else {
        others.add(slot);
        decideAt(one, place);
      }
    }
    routine.push({ ...one, from: pass.from, slots });
  }
  if (others.size > 0)
    for (const one of routine)
      for (const [place, slot] of one.slots.entries()) {
        if (slot < 0 || !others.has(slot)) continue;
        one.slots[place] = -1;
        decideAt(one, place);
      }
  return { routine, judged, refused, taken };
}

/** A batch of which nothing was taken is no news. */
function keepInJournal(
  { journal, partition, now }: DecisionBatch,
  { probe, batch, delivered, keys, unknown }: Taken,
): void {
  const counts = { ok: 0, fail: 0, unknown: 0 };
  let oldest = Number.POSITIVE_INFINITY;
  for (let place = 0; place < keys.length; place += 1) {
    if (keys[place] === 0) continue;
    counts[unknown.has(place) ? 'unknown' : (batch.whole.get(place)?.outcome ?? 'ok')] += 1;
    oldest = Math.min(oldest, startAt(batch, place) + tookAt(batch, place));
  }
  if (oldest === Number.POSITIVE_INFINITY) return;
  const proof = proofOf(delivered);
  journal.push({
    // Also when the clock was set back: what arrived before is in chunks already.
    arrival: Math.max(hourOf(now), partition.hours.until),
    partition: partition.lease.partition,
    probe: probe.key,
    data: packBatch(delivered.data, batch, keys, unknown),
    take: (taken) => takeBatch(batch, keys, unknown, taken),
    counts,
    oldest,
    signature: proof?.signature ?? null,
    digests: proof?.digests ?? null,
  });
}

/** A result as the core takes it. */
export function seenResult(
  probe: ProbeRow,
  result: Result,
  now: number,
  lateMs: number,
): SeenResult {
  return {
    ...result,
    from: observingProbeOf(probe),
    quarantined: probe.quarantined_at !== null,
    handed_over: now - (result.at + result.took_ms) > lateMs,
  };
}

type Writable<Value> = { -readonly [Key in keyof Value]: Value[Key] };

/** One object for all passes of a probe, to test each for the fast path. */
function passOf(probe: ProbeRow): Writable<SeenResult> {
  return {
    seq: 0,
    monitor: '',
    config_version: 0,
    at: 0,
    took_ms: 0,
    outcome: 'ok',
    cause: null,
    phases: null,
    evidence: null,
    look: null,
    from: observingProbeOf(probe),
    quarantined: probe.quarantined_at !== null,
    handed_over: false,
  };
}

/** A clock that is wrong by more than this gives no usable time. */
const futureMs = 120_000;

export function refusedReason(
  probe: ProbeRow,
  { config_version, at }: Pick<Result, 'config_version' | 'at'>,
  terms: MonitorSettings,
  version: number,
  { now, oldest }: { now: number; oldest: number },
): RefusedReason | undefined {
  if (!mayHold(probe, terms, version, config_version)) return 'not_its_monitor';
  if (config_version > version) return 'unknown_config_version';
  if (at > now + futureMs) return 'from_the_future';
  return at < oldest ? 'too_old' : undefined;
}

/**
 * Whether this probe could have held this monitor. A result of an earlier config may have been right
 * when it was made: it goes to the samples only.
 */
function mayHold(
  probe: ProbeRow,
  watched: MonitorSettings,
  version: number,
  configVersion: number,
): boolean {
  if (probe.organisation_id !== null) {
    if (probe.organisation_id !== watched.organisation) return false;
    if (configVersion < version) return true;
    return isOwnChoice(watched, true) && mayCheck(watched, observingProbeOf(probe));
  }
  if (configVersion < version) return true;
  return isOwnChoice(watched, false) && mayCheck(watched, observingProbeOf(probe));
}

/** Without chosen places either private probes check it or public ones. */
function isOwnChoice({ places, probe }: MonitorSettings, isPrivate: boolean): boolean {
  return Boolean(places) || (probe !== null) === isPrivate;
}

/** Decides results that may count, in order of start. */
export function decideResults(
  decisions: DecisionBatch,
  judged: readonly SeenResult[],
  now: number,
): void {
  const late = new Set<string>();
  for (const seen of judged.toSorted(byStart)) {
    decideOn(decisions, seen.monitor, {
      is: 'result',
      result: seen.look === null ? seen : { ...seen, look: recheckAnswered(seen, decisions) },
    });
    const { certificate, served, monitor, at } = seen;
    const isOfNow = () => seen.config_version === settingsOf(decisions, monitor)?.version;
    if ((certificate || served) && countsAs(seen, now) === 'ok' && isOfNow()) {
      if (certificate) decisions.rows.certificates.push({ ...certificate, monitor, at });
      if (served) decisions.rows.served.push({ ...served, monitor, at });
    }
    if (seen.handed_over) late.add(seen.monitor);
  }
  // The past causes no rechecks; incidents that are open after it are continued now.
  for (const monitor of late)
    if (incidentOf(decisions, monitor)) decideOn(decisions, monitor, { is: 'tick' });
}

/** The one of a check's rechecks that its incident waits for. */
function recheckAnswered(
  { monitor, look: recheck, other_looks = [] }: SeenResult,
  decisions: DecisionBatch,
): string | null {
  const awaited = incidentOf(decisions, monitor)?.progress.matrix?.look;
  return other_looks.find((other) => other === awaited) ?? recheck;
}

/** Commits a batch of decisions, then changes memory and has its rechecks sent. */
export async function settle(decisions: DecisionBatch, deps: PartitionDependencies): Promise<void> {
  const committed = commit(decisions, deps);
  if (decisions.rechecks.length > 0) deps.requestRechecks(decisions.rechecks, committed);
  await committed;
  adopt(decisions);
}

/** In one transaction. A batch of decisions without rows only changes memory. */
export async function commit(
  decisions: DecisionBatch,
  { writer, clock }: PartitionDependencies,
): Promise<void> {
  if (hasConfigChanges(decisions)) await writer.commit(unitWithCheckpoint(decisions, clock.now()));
  else if (hasRows(decisions)) await writer.commit(unitOf(decisions));
}

/**
 * Whether a monitor's checked config changed. Then the checkpoint is committed too, because results
 * do not say which version they checked.
 */
function hasConfigChanges({ entries }: DecisionBatch): boolean {
  for (const { held } of entries.values())
    if (held.is === 'object' && held.isChanged && held.state) return true;
  return false;
}

/** The unit, with a checkpoint of the partition as it will be. */
export function unitWithCheckpoint(batch: DecisionBatch, takenAt: number): Unit {
  assertOpen(batch);
  return { ...unitOf(batch), checkpoint: { takenAt, state: pack(future(batch)) } };
}

export function unitOf(batch: DecisionBatch): Unit {
  const { partition, rows, journal, marks } = batch;
  return {
    ...emptyUnit(partition.lease),
    ...rows,
    journal,
    watermarks: [...marks.values()],
  };
}

/** The partition's monitors as they will be. */
function* future(batch: DecisionBatch): Generator<Packed> {
  const { entries, routine, partition } = batch;
  const { monitors } = partition;
  for (const slot of monitors.slots()) {
    const id = monitors.idAt(slot) ?? '';
    const entry = entries.get(id) ?? (routine.length > 0 ? entryOf(batch, id) : undefined);
    const state = entry ? buildState(batch, entry).state : monitors.stateAt(slot);
    const { key, changedAt } = monitors.rowAt(slot);
    if (state) yield { key, changedAt: entry ? changedAtOf(batch, entry) : changedAt, state };
  }
  for (const entry of entries.values()) {
    const { slot, held } = entry;
    if (slot === null && held.is === 'object' && held.state)
      yield {
        key: rowOf(batch, entry).key,
        changedAt: changedAtOf(batch, entry),
        state: held.state,
      };
  }
}

function changedAtOf({ now, partition }: DecisionBatch, { slot, held }: Entry): number {
  if (held.is === 'object' && held.isChanged) return now;
  return slot === null ? 0 : partition.monitors.rowAt(slot).changedAt;
}

function hasRows({ marks, journal, rows }: DecisionBatch): boolean {
  return (
    marks.size > 0 || journal.length > 0 || Object.values(rows).some((list) => list.length > 0)
  );
}

/** The batch is committed: the state takes its changes over. */
export function adopt(batch: DecisionBatch): void {
  assertOpen(batch);
  batch.mode = 'adopted';
  const { partition, network, routine, entries, marks, journal } = batch;
  const { monitors } = partition;
  for (const taken of routine)
    partition.nextDue = Math.min(partition.nextDue, passAll(monitors, taken));
  for (const [monitor, entry] of entries) {
    const { slot, held } = entry;
    if (held.is === 'numbers') continue;
    if (!held.state) monitors.remove(monitor);
    else if (held.isMoved) {
      const due = nextTick(held.state, network) ?? Number.POSITIVE_INFINITY;
      const { key, target } = rowOf(batch, entry);
      monitors.put(held.state, { key, target, changedAt: changedAtOf(batch, entry), due }, slot);
      partition.nextDue = Math.min(partition.nextDue, due);
    }
  }
  for (const [name, { seq }] of marks) partition.watermarks.set(name, seq);
  for (const row of journal) row.take(takenInto(partition.hours, row));
}

/** Committed results say something about their probes. */
export function observeAll(
  state: PartitionState,
  judged: readonly SeenResult[],
  { observe }: PartitionDependencies,
): void {
  // One object for all of them: no one keeps it.
  let monitor = '';
  const observed = {
    target: () => state.monitors.targetOf(monitor),
    state: () => state.monitors.stateOf(monitor),
    unwell: () => state.monitors.unwellOf(monitor),
  };
  for (const seen of judged) {
    monitor = seen.monitor;
    observe(seen, observed);
  }
}

export function locate<From extends Omit<LocatedBatch, 'slots'>>(
  from: From,
  monitors: Monitors,
): From & LocatedBatch {
  const { monitors: ids } = from.batch;
  const slots = new Int32Array(ids.length);
  for (let place = 0; place < ids.length; place += 1)
    slots[place] = monitors.slotOf(ids[place] ?? '') ?? -1;
  return { ...from, slots };
}
