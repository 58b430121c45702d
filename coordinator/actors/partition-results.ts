import type { BatchMessage, ReceiptMessage } from '../../shared/bus/messages.ts';
import { subjects } from '../../shared/bus/subjects.ts';
import type { Result } from '../../shared/checks/result.ts';
import { inOrderOfTelling } from '../domain/ahead.ts';
import type { SeenResult } from '../domain/incident-types.ts';
import { countsAs } from '../domain/views.ts';
import type { ProbeRow } from '../store/probes.ts';
import type { Accepted } from './intake.ts';
import type { PartitionParts } from './partition-parts.ts';
import { createRound, type Round } from './partition-round.ts';
import type { PartitionState } from './partition-state.ts';
import type { RefusedReason } from './refusals.ts';
import { seerOf } from './seers.ts';

/** Clocks that are wrong by more than this tell of no time that ever was. */
const futureMs = 120_000;

type Known = NonNullable<ReturnType<Round['termsOf']>>;

/** Whether this probe could have held this monitor. A result of an older version may have been right when it was made: it goes to the charts only. */
const mayHold = (probe: ProbeRow, { terms: watched, version }: Known, configVersion: number): boolean => {
  if (probe.organisation_id !== null) {
    if (probe.organisation_id !== watched.organisation) return false;
    return watched.probe === probe.id || configVersion < version;
  }
  if (configVersion < version) return true;
  return watched.probe === null && (watched.continents === null || watched.continents.includes(probe.continent));
};

export type Judged = { readonly key: number; readonly probe: ProbeRow; readonly seen: SeenResult };
type Answer = { readonly generation: string; readonly probe: string; committed: number; again: boolean };

/** What one round makes of a set of batches. */
export type Received = {
  readonly round: Round;
  readonly judged: readonly Judged[];
  readonly refused: readonly { readonly probe: string; readonly reason: RefusedReason }[];
  readonly receipts: readonly (readonly [subject: string, receipt: ReceiptMessage])[];
};

export const reasonAgainst = (
  probe: ProbeRow,
  result: Result,
  known: Known,
  { now, oldest }: { now: number; oldest: number },
): RefusedReason | undefined => {
  if (!mayHold(probe, known, result.config_version)) return 'not_its_monitor';
  if (result.config_version > known.version) return 'unknown_config_version';
  if (result.at > now + futureMs) return 'from_the_future';
  return result.at < oldest ? 'too_old' : undefined;
};

/** The results of a batch that are new here; undefined when an earlier batch is missing (a gap). */
const freshOf = (batch: BatchMessage, committed: number): readonly Result[] | undefined =>
  batch.after !== null && batch.after > committed ? undefined : batch.results.filter(({ seq }) => seq > committed);

/** Of the looks that one check answered, the one that its incident waits for. */
const lookAnswered = ({ monitor, look, other_looks = [] }: SeenResult, round: Round): string | null => {
  const awaited = round.incidentOf(monitor)?.progress.matrix?.look;
  return other_looks.find((other) => other === awaited) ?? look;
};

/** A result as the core takes it. */
export const seenBy = (probe: ProbeRow, result: Result, now: number, lateMs: number): SeenResult => ({
  ...result,
  from: seerOf(probe),
  quarantined: probe.quarantined_at !== null,
  handed_over: now - (result.at + result.took_ms) > lateMs,
});

/** Decides about results that may count, in order of start, and puts them in the charts. */
export const decideAbout = (round: Round, judged: readonly Judged[], now: number): void => {
  const late = new Set<string>();
  for (const { key, probe, seen } of inOrderOfTelling(judged, round.incidentOf, now)) {
    round.decide(seen.monitor, { is: 'result', result: seen.look === null ? seen : { ...seen, look: lookAnswered(seen, round) } });
    const outcome = countsAs(seen, now);
    const { at, took_ms, phases } = seen;
    round.chart({ monitor_key: key, probe_key: probe.key, at, took_ms, outcome, cause_class: seen.cause?.class ?? null, phases });
    if (seen.handed_over) late.add(seen.monitor);
  }
  // The past asks nobody; what is left open when it has been decided is looked after now.
  for (const monitor of late) if (round.incidentOf(monitor)) round.decide(monitor, { is: 'tick' });
};

/** Decides about a set of batches, in order of start. Nothing is written yet. */
export const receiveBatches = (
  state: PartitionState,
  batches: readonly Pick<Accepted, 'probe' | 'batch'>[],
  parts: PartitionParts,
): Received => {
  const { clock, timing, oldestKept, roster } = parts;
  const now = clock.now();
  const oldest = oldestKept(now);
  const round = createRound(state, roster(), now);
  const judged: Judged[] = [];
  const refused: { probe: string; reason: RefusedReason }[] = [];
  const answers = new Map<string, Answer>();

  for (const { probe, batch } of batches) {
    const committed = round.passed(probe.key, batch.generation);
    const fresh = freshOf(batch, committed);
    const last = fresh?.at(-1)?.seq;
    const ahead = new Set(round.wentAhead(probe.key, batch.generation));
    const answer = answers.get(`${probe.id} ${batch.generation}`) ?? {
      generation: batch.generation,
      probe: probe.id,
      committed,
      again: false,
    };
    answers.set(`${probe.id} ${batch.generation}`, answer);
    if (!fresh) answer.again = true;
    if (last === undefined) continue;
    answer.committed = last;
    // What came in between closes the gap that an earlier batch of this set had shown.
    answer.again = false;
    round.pass({ probe_key: probe.key, generation: batch.generation, partition: state.lease.partition, seq: last });
    for (const result of fresh ?? []) {
      if (ahead.has(result.seq)) continue;
      const known = round.termsOf(result.monitor);
      // Deleted in the meantime, or never there: nothing to decide about.
      if (!known) continue;
      const reason = reasonAgainst(probe, result, known, { now, oldest });
      if (reason) refused.push({ probe: probe.id, reason });
      else judged.push({ key: known.key, probe, seen: seenBy(probe, result, now, timing.lateMs) });
    }
  }

  decideAbout(round, judged, now);

  const { partition } = state.lease;
  const receipts = [...answers.values()].map(({ probe, generation, committed, again }): [string, ReceiptMessage] => [
    subjects.receipt(probe),
    { v: 1, generation, committed: { [partition]: committed }, again: again ? [partition] : [] },
  ]);
  return { round, judged, refused, receipts };
};
