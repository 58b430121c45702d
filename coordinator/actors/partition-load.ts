import { createShared } from '../../shared/base/recent-cache.ts';
import type { Roster } from '../../shared/checks/assignment.ts';
import type { SeenResult, Seer } from '../domain/incident-types.ts';
import { nextTick, restore } from '../domain/restore.ts';
import { readCheckpoint } from '../store/checkpoints.ts';
import type { Sql } from '../store/database.ts';
import { openIncidents, recentGaps } from '../store/incidents-write.ts';
import type { Lease } from '../store/leases.ts';
import { lastPauses, type NewestResult, newestResults } from '../store/partition-read.ts';
import { type MonitorRow, monitorsOfPartition, targetHash, watchedOf } from '../store/watched.ts';
import { watermarksOfPartition } from '../store/watermarks.ts';
import type { Directory } from './directory.ts';
import { nobodyUnseen, noteUnseen } from './partition-first-looks.ts';
import { createMonitors } from './partition-monitors.ts';
import { unpack } from './partition-pack.ts';
import { type PartitionState, watermarkName } from './partition-state.ts';
import { seerOf } from './seers.ts';

export type Loading = { readonly sql: Sql; readonly directory: Directory; readonly roster: () => Roster; readonly now: number };

/** Results may be committed so long after others that started later; without a checkpoint so much is read. */
const slackMs = 30_000;
const withoutCheckpointMs = 2 * 3_600_000;
const gapsBackMs = 8 * 86_400_000;

/** One string for all monitors of an organisation. */
const shared = createShared<string>(100_000);

const seenOf = (row: NewestResult, monitor: MonitorRow, seer: Seer): SeenResult => ({
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
  from: seer,
  quarantined: false,
  handed_over: true,
});

/** Rebuilds what the owner of a partition must know, from the database alone. */
export const loadPartition = async (lease: Lease, { sql, directory, roster, now }: Loading): Promise<PartitionState> => {
  const { partition } = lease;
  const [stored, incidents, gaps, pauses, marks] = await Promise.all([
    readCheckpoint(sql, partition),
    openIncidents(sql, partition),
    recentGaps(sql, partition, now - gapsBackMs),
    lastPauses(sql, partition),
    watermarksOfPartition(sql, partition),
  ]);
  const known = stored && unpack(stored.state, (seer) => seerOf({ id: seer.probe, name: seer.name, continent: seer.continent }));
  const since = stored && known ? stored.takenAt - slackMs : now - withoutCheckpointMs;
  const state: PartitionState = {
    lease,
    monitors: createMonitors(),
    watermarks: new Map(marks.map(({ probe_key, generation, seq }) => [watermarkName(probe_key, generation), seq])),
    ahead: new Map(
      marks
        .filter(({ ahead }) => ahead.length > 0)
        .map(({ probe_key, generation, ahead }) => [watermarkName(probe_key, generation), ahead]),
    ),
    nextDue: Number.POSITIVE_INFINITY,
    unpublished: new Set(),
    unseen: nobodyUnseen(),
  };
  const network = roster();
  for await (const page of monitorsOfPartition(sql, partition)) {
    const results = await newestResults(
      sql,
      page.map(({ key }) => key),
      since,
    );
    for (const row of page) {
      const before = known?.get(row.key);
      // What was known of an older version of what is checked says nothing about this one.
      const same = before?.configVersion === row.config_version ? before : undefined;
      const changedAt = same?.changedAt ?? (before ? now : 0);
      const seen = (results.get(row.key) ?? []).flatMap((result) => {
        const probe = directory.byKey(result.probe_key);
        const counts = probe && probe.quarantined_at === null && result.at >= changedAt;
        return counts ? [seenOf(result, row, seerOf(probe))] : [];
      });
      const watched = watchedOf(row);
      // Whether it is paused says the ledger, which the engine wrote; the row may be ahead, and a line of the outbox will tell.
      const pause = pauses.get(row.id);
      const restored = restore({
        watched: {
          ...watched,
          organisation: shared(watched.organisation, watched.organisation),
          paused_at: pause?.ended_at === null ? pause.began_at : null,
        },
        checkpoint: same?.checkpoint ?? null,
        results: seen,
        resumed_at: pause?.ended_at ?? null,
        incident: incidents.get(row.id) ?? null,
        gaps: gaps.get(row.id) ?? [],
      });
      const due = nextTick(restored, network) ?? Number.POSITIVE_INFINITY;
      state.monitors.put(restored, { key: row.key, target: targetHash(row), changedAt, due });
      state.nextDue = Math.min(state.nextDue, due);
      noteUnseen(state.unseen, restored);
    }
  }
  return state;
};
