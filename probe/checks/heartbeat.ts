import type { Assignment } from '../../shared/checks/assignment.ts';
import { type PingSettings, pingSettings } from '../../shared/checks/heartbeat/config.ts';
import { canReckonSchedules } from '../../shared/checks/heartbeat/schedule.ts';
import type { PingState } from '../../shared/checks/heartbeat/state.ts';
import { type Judgement, judgePings, nextRecheckAt } from '../../shared/checks/heartbeat/state.ts';
import { type Evidence, noPhases, type Verdict } from '../../shared/checks/result.ts';
import type { Check } from './types.ts';

/** What this probe itself sees of the pings, on the bus, at the moment of asking. */
export type PingView = {
  /** undefined: it cannot be told, because the bus is away, only just came back, or lost what it knew. */
  readonly read: (organisation: string, monitor: string) => Promise<PingState | undefined>;
};

export type HeartbeatDependencies = {
  readonly view: PingView;
  /** Told after every judgement when the next one is due; null: the view was no good. */
  readonly onJudged: (monitor: string, next: number | null) => void;
};

const verdictOf = (judgement: Judgement, evidence: Evidence): Verdict => {
  if (judgement.is === 'failing') return { outcome: 'fail', cause: judgement.cause, phases: null, evidence };
  if (judgement.is === 'good') return { outcome: 'ok', cause: null, phases: null, evidence };
  return { outcome: 'unknown', cause: { class: 'heartbeat_pending', params: {} }, phases: null, evidence };
};

/** How soon it is said again that this host cannot judge: seldom, because only a newer Node ends it. */
const unjudgedMs = 60_000;

const isoOf = (at: number | undefined): string | null => (at === undefined ? null : new Date(at).toISOString());

const evidenceOf = (state: PingState, judgement: Judgement): Evidence => ({
  last_good: isoOf(state.good?.at),
  last_bad: isoOf(state.bad?.at),
  exit_code: state.bad?.exit_code ?? null,
  runs_under_way: state.open.map(({ rid, at }) => ({ rid, started: isoOf(at) })),
  ...(judgement.is === 'failing' ? { since: isoOf(judgement.since) } : {}),
  ...(judgement.is === 'good' && Number.isFinite(judgement.until) ? { due: isoOf(judgement.until) } : {}),
});

/** Judges a heartbeat at this moment, from what this very probe sees on the bus (rule 20). */
export const createHeartbeatCheck = ({ view, onJudged }: HeartbeatDependencies): Check => {
  const known = new WeakMap<Assignment, PingSettings>();
  const termsOf = (assignment: Assignment): PingSettings => {
    const found = known.get(assignment) ?? pingSettings(assignment);
    known.set(assignment, found);
    return found;
  };

  return async ({ assignment, started_at }) => {
    const { organisation, monitor, config_version } = assignment;
    const state = await view.read(organisation, monitor);
    // A record under newer or older terms than ours says nothing about ours; whichever lags behind comes soon.
    if (state === undefined || (state.terms !== null && state.terms !== config_version)) {
      onJudged(monitor, null);
      const evidence = state === undefined ? {} : { terms_seen: state.terms, terms_assigned: config_version };
      return { outcome: 'unknown', cause: { class: 'probe_stale_view', params: {} }, phases: noPhases, evidence };
    }
    // As of when the check began, which is the time of its result: a deadline that passed while the view was read is for the next look, or the
    // outage would be dated before it.
    const terms = termsOf(assignment);
    if (terms.schedule !== null && !canReckonSchedules()) {
      onJudged(monitor, started_at + unjudgedMs);
      const evidence = { schedule: terms.schedule.text, node: process.versions.node };
      return { outcome: 'unknown', cause: { class: 'heartbeat_schedule_unread', params: {} }, phases: noPhases, evidence };
    }
    const judgement = judgePings(state, terms, started_at);
    onJudged(monitor, nextRecheckAt(judgement, state, terms, started_at));
    return verdictOf(judgement, evidenceOf(state, judgement));
  };
};
