import type { Draft } from './draft.ts';
import { close, notes } from './incident.ts';
import { allowedSilence, forgetFrom } from './ledger.ts';
import { observationOf, observationsAfterRestart, withoutProbe } from './observations.ts';
import { isAside } from './places.ts';
import type {
  Checkpoint,
  Incident,
  MonitorState,
  Observation,
  Restoring,
  SeenResult,
  Watched,
} from './types.ts';
import { mayCheck, see, tallyOf } from './views.ts';
import { noWarnings, withoutWarningsOf } from './warnings.ts';

/** What happens to the monitor itself while it is monitored (rules 16 and 17). */

/** The state of a new monitor: no results, nothing covered; of a restored one, until when all was. */
export function createState(watched: Watched, since = watched.created_at): MonitorState {
  return {
    watched,
    views: [],
    clock: since,
    covered_until: since,
    gaps: [],
    incident: null,
    observations: [],
    closed: [],
    last_down: null,
    decides_from: since,
    beat_at: null,
    warnings: noWarnings,
    restored: false,
  };
}

export function onPaused(draft: Draft, at: number): void {
  const { watched } = draft.state;
  if (watched.paused_at !== null) return;
  closeOpen(draft, at, notes.paused);
  draft.state = { ...draft.state, watched: { ...watched, paused_at: at } };
  const put = [{ began_at: at, ended_at: null, interval_ms: watched.interval_ms }];
  draft.effects.push({ is: 'ledger', kind: 'paused', put, drop: [] });
}

function closeOpen(draft: Draft, at: number, note: string): void {
  const { incident } = draft.state;
  if (incident) close(draft, incident, at, note, 'closed');
}

export function onResumed(draft: Draft, at: number): void {
  const { watched } = draft.state;
  if (watched.paused_at === null) return;
  const put = [
    {
      began_at: watched.paused_at,
      ended_at: Math.max(at, watched.paused_at),
      interval_ms: watched.interval_ms,
    },
  ];
  draft.effects.push({ is: 'ledger', kind: 'paused', put, drop: [] });
  draft.state = { ...draft.state, watched: { ...watched, paused_at: null } };
  restartMonitor(draft, at);
}

/** Rule 18: earlier results count no more, and until the next check the status is unknown. */
function restartMonitor(draft: Draft, at: number): void {
  const { covered, effects } = forgetFrom(draft.state, at);
  draft.state = { ...draft.state, ...covered, views: [], decides_from: at };
  draft.effects.push(...effects);
}

/** The state contains the new row already. */
export function onEdited(draft: Draft, at: number, changed: boolean): void {
  const { watched, views, incident } = draft.state;
  // What opened it may decide no more.
  if (!changed && incident?.seen && isAside(watched, incident.seen))
    closeOpen(draft, at, notes.edited);
  if (changed) {
    closeOpen(draft, at, notes.edited);
    restartMonitor(draft, at);
  } else
    draft.state = {
      ...draft.state,
      views: views.filter(({ from }) => mayCheck(watched, from)),
    };
}

export function onDeleted(draft: Draft, at: number): void {
  closeOpen(draft, at, notes.deleted);
}

/**
 * Rule 16: an incident that only a quarantined probe opened closes with that reason; an incident
 * that others saw too stays.
 */
export function onQuarantined(draft: Draft, at: number, probe: string): void {
  const { views, incident } = draft.state;
  draft.state = {
    ...draft.state,
    views: views.filter((view) => view.from.probe !== probe),
    warnings: withoutWarningsOf(draft.state.warnings, probe),
  };
  withoutProbe(draft, probe);
  const alone =
    incident?.confirmed_at === null &&
    incident.seen?.probe === probe &&
    tallyOf(draft, incident.seen).failing.length === 0;
  if (incident && alone) close(draft, incident, at, notes.quarantined, 'closed');
}

/**
 * The state as the database holds it. Rechecks that were under way are requested again with the
 * next tick.
 */
export function restore(from: Restoring): MonitorState {
  const {
    watched,
    checkpoint,
    results,
    told = [],
    resumed_at,
    incident,
    closed = [],
    last_down = null,
    warnings = noWarnings,
    gaps,
  } = from;
  const { observed, ...known } = checkpoint ?? { observed: null };
  const state: MonitorState = {
    ...createState(watched),
    ...known,
    beat_at: pingAtOf(checkpoint, closed),
    gaps,
    incident,
    closed,
    last_down,
    warnings,
    restored: incident !== null,
  };
  const decides_from = Math.max(state.decides_from, resumed_at ?? 0);
  const decided = (at: number) => at >= decides_from;
  const counts = ({ at, config_version, from }: SeenResult) =>
    config_version === watched.config_version && decided(at) && mayCheck(watched, from);
  let views: MonitorState['views'] = state.views.filter((view) => decided(view.at));
  let { clock, covered_until } = state;
  const vouched = asVouched(incident);
  for (const result of results.toSorted((a, b) => a.at - b.at).map(vouched)) {
    if (result.outcome === 'unknown' || result.quarantined) continue;
    const isBeside = isAside(watched, result.from);
    if (!isBeside && (watched.kind !== 'heartbeat' || result.outcome === 'fail'))
      covered_until = Math.max(covered_until, result.at + allowedSilence(watched));
    if (!counts(result) || watched.paused_at !== null) continue;
    views = see(views, result).views;
    if (!isBeside) clock = Math.max(clock, result.at);
  }
  const openGap = gaps.findLast((gap) => gap.to === null);
  const stored = [...told, ...results].filter(
    (result) => result.outcome !== 'unknown' && !result.quarantined && counts(result),
  );
  const observations = observationsAfterRestart({ incident, views, watched }, [
    ...stored.map(vouched).map(observationOf),
    ...ofIncident(observed, incident).filter(({ at }) => decided(at)),
  ]);
  return {
    ...state,
    views,
    observations,
    clock,
    decides_from,
    covered_until: openGap?.from ?? covered_until,
  };
}

/** What the checkpoint remembers of an incident; one that began later may have been split from it. */
function ofIncident(
  observed: Checkpoint['observed'],
  incident: Incident | null,
): readonly Observation[] {
  if (observed === null || incident === null) return [];
  const { observations } = observed;
  return observed.incident === incident.id
    ? observations
    : observations.filter(({ at }) => at >= incident.started_at);
}

/**
 * Stored results do not say how the probe's other targets fared. During an incident they fared well,
 * unless that was ever in doubt (rule 46).
 */
function asVouched(incident: Incident | null): (result: SeenResult) => SeenResult {
  if (incident === null || incident.progress.doubted) return (result) => result;
  return (result) =>
    result.outcome === 'fail' ? { ...result, others: { passed: 1, failed: 0 } } : result;
}

/**
 * The newest known good ping. Checkpoints are written behind, so the end of an incident may name a
 * newer one.
 */
function pingAtOf(checkpoint: Checkpoint | null, closed: readonly Incident[]): number | null {
  const ends = closed.flatMap(({ note, resolved_at }) =>
    note === null && resolved_at !== null ? [resolved_at] : [],
  );
  return Math.max(checkpoint?.beat_at ?? 0, ...ends) || null;
}

export function checkpointOf({
  views,
  clock,
  covered_until,
  decides_from,
  beat_at,
  incident,
  observations,
}: MonitorState): Checkpoint {
  return {
    views: views.map((view) =>
      view.failure?.evidence ? { ...view, failure: { ...view.failure, evidence: null } } : view,
    ),
    clock,
    covered_until,
    decides_from,
    beat_at,
    observed: incident && {
      incident: incident.id,
      observations: observations.map((one) => (one.evidence ? { ...one, evidence: null } : one)),
    },
  };
}
