import { createShared } from '../../shared/base/async.ts';
import type { Roster } from '../../shared/checks/assignment.ts';
import { maxClosed } from '../core/incident.ts';
import { nextTick, restore } from '../core/lifecycle.ts';
import { maxObservations, observedIn } from '../core/observations.ts';
import type { Incident, ObservingProbe, SeenResult } from '../core/types.ts';
import { noWarnings } from '../core/warnings.ts';
import type { Sql } from '../database/connect.ts';
import {
  type KeptFailure,
  keptFailures,
  lastClosed,
  lastDowns,
  openIncidents,
  recentGaps,
} from '../incidents/writes.ts';
import type { Directory } from '../probes/directory.ts';
import { observingProbeOf } from '../probes/roster.ts';
import { openWarnings } from '../warnings/writes.ts';
import { createMonitors } from './monitor-memory.ts';
import { unpack } from './packing.ts';
import type { Lease } from './queries.ts';
import {
  lastPauses,
  type MonitorRow,
  monitorsOfPartition,
  type NewestResult,
  newestResults,
  readCheckpoint,
  resultsWithin,
  targetHash,
  watchedOf,
  watermarksOfPartition,
} from './queries.ts';
import { noteUnseen, noUnseen } from './rechecks.ts';
import { type PartitionState, watermarkName } from './state.ts';

export type Loading = {
  readonly sql: Sql;
  readonly directory: Directory;
  readonly roster: () => Roster;
  readonly now: number;
};

/**
 * Results may be committed this long after others that started later; without a checkpoint this
 * much is read.
 */
const slackMs = 30_000;
const withoutCheckpointMs = 2 * 3_600_000;
/** By its probe's clock, a result may have started this long after now. */
const earlyMs = 120_000;
const gapsBackMs = 8 * 86_400_000;

/** One string for all monitors of an organisation. */
const shared = createShared<string>(100_000);

/** Rebuilds from the database alone everything that the owner of a partition must know. */
export async function loadPartition(
  lease: Lease,
  { sql, directory, roster, now }: Loading,
): Promise<PartitionState> {
  const { partition } = lease;
  const [stored, incidents, kept, closed, downs, gaps, pauses, marks, warned] = await Promise.all([
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
    stored &&
    unpack(stored.state, (observer) =>
      observingProbeOf({
        id: observer.probe,
        name: observer.name,
        continent: observer.continent,
        place_id: observer.place ?? null,
      }),
    );
  const since = stored && existing ? stored.takenAt - slackMs : now - withoutCheckpointMs;
  const state: PartitionState = {
    lease,
    monitors: createMonitors(),
    watermarks: new Map(
      marks.map(({ probe_key, generation, seq }) => [watermarkName(probe_key, generation), seq]),
    ),
    ahead: new Map(
      marks
        .filter(({ ahead }) => ahead.length > 0)
        .map(({ probe_key, generation, ahead }) => [watermarkName(probe_key, generation), ahead]),
    ),
    nextDue: Number.POSITIVE_INFINITY,
    unpublished: new Set(),
    early: undefined,
    unseen: noUnseen(),
  };
  const network = roster();
  for await (const page of monitorsOfPartition(sql, partition)) {
    const times = page.flatMap((row) => {
      const incident = incidents.get(row.id);
      const within = incident && observedIn(incident, watchedOf(row), network);
      return within
        ? [{ monitor_key: row.key, from: within.from, to: Math.min(within.to, now + earlyMs) }]
        : [];
    });
    const keys = page.map(({ key }) => key);
    const [results, inTime] = await Promise.all([
      newestResults(sql, keys, since),
      resultsWithin(sql, times, 5 * maxObservations),
    ]);
    for (const row of page) {
      const before = existing?.get(row.key);
      // Views of an older version of the config say nothing about this one, but the covered time
      // stays.
      const same = before?.configVersion === row.config_version ? before : undefined;
      const checkpoint = same?.checkpoint ?? (before ? { ...before.checkpoint, views: [] } : null);
      const changedAt = same?.changedAt ?? (before ? now : 0);
      const seen = (result: NewestResult): SeenResult[] => {
        const probe = directory.byKey(result.probe_key);
        const counts = probe && probe.quarantined_at === null && result.at >= changedAt;
        return counts ? [seenOf(result, row, observingProbeOf(probe))] : [];
      };
      const incident = incidents.get(row.id) ?? null;
      const watched = watchedOf(row);
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
        results: (results.get(row.key) ?? []).flatMap(seen),
        told: incident
          ? [
              ...keptOf(incident, row, kept.get(incident.id) ?? []),
              ...(inTime.get(row.key) ?? []).flatMap(seen),
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
      noteUnseen(state.unseen, restored);
    }
  }
  return state;
}

function seenOf(row: NewestResult, monitor: MonitorRow, observer: ObservingProbe): SeenResult {
  return {
    seq: 1,
    monitor: monitor.id,
    config_version: monitor.config_version,
    at: row.at,
    took_ms: row.took_ms,
    outcome: row.outcome,
    cause: row.cause_class === null ? null : { class: row.cause_class, params: {} },
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
    const bare = seenOf(
      { probe_key: 0, at, took_ms, outcome: 'fail', cause_class: null },
      monitor,
      observer,
    );
    return [{ ...bare, cause, phases, evidence }];
  });
}
