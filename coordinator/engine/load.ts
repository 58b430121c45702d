import { createShared } from '../../shared/base/async.ts';
import { nextTick } from '../core/decide.ts';
import { maxClosed } from '../core/incident.ts';
import { restore } from '../core/lifecycle.ts';
import { maxObservations, observedIn } from '../core/observations.ts';
import type { Incident, ObservingProbe, SeenResult } from '../core/types.ts';
import { noWarnings } from '../core/warnings.ts';
import {
  type KeptFailure,
  keptFailures,
  lastClosed,
  lastDowns,
  openIncidents,
  recentGaps,
} from '../incidents/writes.ts';
import { observingProbeOf } from '../probes/roster.ts';
import type { Check } from '../results/check.ts';
import { checksIn, type Hours, newestIn } from '../results/hours.ts';
import { createResults, type UnsealedHours } from '../results/reading.ts';
import { openWarnings } from '../warnings/writes.ts';
import { unpack } from './checkpoint.ts';
import type { PartitionDependencies } from './dependencies.ts';
import { createMonitors } from './monitor-memory.ts';
import {
  type Lease,
  lastPauses,
  type MonitorRow,
  monitorsOfPartition,
  readCheckpoint,
  targetHash,
  watchedOf,
  watermarksOfPartition,
} from './queries.ts';
import { noPendingFirstChecks, notePendingFirstCheck } from './rechecks.ts';
import { type PartitionState, watermarkName } from './state.ts';

export type Loading = Pick<
  PartitionDependencies,
  'sql' | 'directory' | 'roster' | 'unsealed' | 'clock' | 'log'
>;

/**
 * Results may be committed this long after others that started later; without a checkpoint this
 * much is read.
 */
const slackMs = 30_000;
const withoutCheckpointMs = 2 * 3_600_000;
/** By its probe's clock, a result may have started this long after now. */
const earlyMs = 120_000;
const gapsBackMs = 8 * 86_400_000;
/** More of its checks may not retime an incident. */
const maxChecks = 5 * maxObservations;

/** One string for all monitors of an organisation. */
const shared = createShared<string>(100_000);

/** Rebuilds from the database alone everything that the owner of a partition must know. */
export async function loadPartition(
  lease: Lease,
  { sql, directory, roster, unsealed, clock, log }: Loading,
): Promise<PartitionState> {
  const { partition } = lease;
  const now = clock.now();
  const [written, incidents, kept, closed, downs, gaps, pauses, marks, warned] = await Promise.all([
    readCheckpoint(sql, partition),
    openIncidents(sql, partition),
    keptFailures(sql, partition),
    lastClosed(sql, partition, { after: now - gapsBackMs, most: maxClosed }),
    lastDowns(sql, partition, now - gapsBackMs),
    recentGaps(sql, partition, now - gapsBackMs),
    lastPauses(sql, partition),
    watermarksOfPartition(sql, partition),
    openWarnings(sql, partition),
  ]);
  const existing =
    written &&
    unpack(written.state, (observer) =>
      observingProbeOf({
        id: observer.probe,
        name: observer.name,
        continent: observer.continent,
        place_id: observer.place ?? null,
      }),
    );
  const known = written && existing ? written : null;
  const hours = await unsealed.read(partition, known?.journal ?? 0);
  const stored = createResults({ unsealed: only(hours), log });
  const since = known ? known.takenAt - slackMs : now - withoutCheckpointMs;
  const state: PartitionState = {
    lease,
    monitors: createMonitors(),
    watermarks: new Map(
      marks.map(({ probe_key, generation, seq }) => [watermarkName(probe_key, generation), seq]),
    ),
    nextDue: Number.POSITIVE_INFINITY,
    unpublished: new Set(),
    firstChecks: noPendingFirstChecks(),
    hours,
    earlier: known?.journal ? { partition, last: 0, to: known.journal } : undefined,
    sealing: undefined,
  };
  const network = roster();
  for await (const page of monitorsOfPartition(sql, partition)) {
    const results = await stored.within(
      sql,
      page.map(({ key }) => ({ key, partition, from: since, to: now + earlyMs + 1 })),
    );
    for (const [nth, row] of page.entries()) {
      const before = existing?.get(row.key);
      // Views of an earlier config say nothing about this one, but the covered time
      // stays.
      const same = before?.configVersion === row.config_version ? before : undefined;
      const checkpoint =
        same?.checkpoint ?? (before ? { ...before.checkpoint, views: [], observed: null } : null);
      const changedAt = same?.changedAt ?? (before ? now : 0);
      const seen = (check: Check): SeenResult[] => {
        const probe = directory.byKey(check.probe);
        const counts =
          probe &&
          probe.quarantined_at === null &&
          check.at >= changedAt &&
          check.outcome !== 'unknown';
        return counts ? [seenOf(check, row, observingProbeOf(probe))] : [];
      };
      const incident = incidents.get(row.id) ?? null;
      const watched = watchedOf(row);
      const within = incident && observedIn(incident, watched, network);
      // What came late is in no chunk yet.
      const checks = [...checksIn(hours, row.key, 0, since), ...(results[nth] ?? [])];
      // The ledger, which the engine wrote, says whether it is paused. The row may be newer; a line
      // of the outbox will follow.
      const pause = pauses.get(row.id);
      const restored = restore({
        watched: {
          ...watched,
          organisation: shared(watched.organisation, watched.organisation),
          paused_at: pause?.ended_at === null ? pause.began_at : null,
        },
        checkpoint,
        results: newestByProbe(checks).flatMap(seen),
        told: incident
          ? [
              ...keptOf(incident, row, kept.get(incident.id) ?? []),
              ...checks
                .filter(({ at }) => within && at >= within.from && at <= within.to)
                .slice(-maxChecks)
                .flatMap(seen),
            ]
          : [],
        resumed_at: pause?.ended_at ?? null,
        incident,
        closed: closed.get(row.id) ?? [],
        last_down: downs.get(row.id) ?? null,
        warnings: warned.get(row.id) ?? noWarnings,
        gaps: gaps.get(row.id) ?? [],
      });
      const due = nextTick(restored, network) ?? Number.POSITIVE_INFINITY;
      state.monitors.put(restored, { key: row.key, target: targetHash(row), changedAt, due });
      state.nextDue = Math.min(state.nextDue, due);
      notePendingFirstCheck(state.firstChecks, restored);
    }
  }
  return state;
}

/** What was read is asked as it is. */
function only(hours: Hours): UnsealedHours {
  return {
    refresh: async () => undefined,
    checksOf: (_, monitor, from, to) => checksIn(hours, monitor, from, to),
    newestOf: (_, monitor) => newestIn(hours, monitor),
  };
}

/** The newest pass and the newest failure of each probe, of checks in order of start. */
function newestByProbe(checks: readonly Check[]): readonly Check[] {
  const newest = new Map(
    checks.map((check) => [`${check.probe} ${check.outcome}`, check] as const),
  );
  return [...newest.values()];
}

function seenOf(
  check: Pick<Check, 'at' | 'took_ms' | 'outcome' | 'cause'>,
  monitor: MonitorRow,
  observer: ObservingProbe,
): SeenResult {
  return {
    seq: 1,
    monitor: monitor.id,
    config_version: monitor.config_version,
    at: check.at,
    took_ms: check.took_ms,
    outcome: check.outcome,
    cause: check.cause === null ? null : { class: check.cause, params: {} },
    phases: null,
    evidence: null,
    look: null,
    from: observer,
    quarantined: false,
    handed_over: true,
  };
}

/**
 * The observations that opened and confirmed an incident, with details that results do not have.
 */
function keptOf(
  { seen, confirmed }: Incident,
  monitor: MonitorRow,
  failures: readonly KeptFailure[],
): SeenResult[] {
  return failures.flatMap(({ part, at, took_ms, cause, phases, evidence }) => {
    const observer = part === 'seen' ? seen : confirmed;
    if (!observer) return [];
    const bare = seenOf({ at, took_ms, outcome: 'fail', cause: null }, monitor, observer);
    return [{ ...bare, cause, phases, evidence }];
  });
}
