import { pingSettings } from '../../shared/checks/heartbeat/config.ts';
import { canReckonSchedules } from '../../shared/checks/heartbeat/schedule.ts';
import type { PingState } from '../../shared/checks/heartbeat/state.ts';
import { type Judgement, judgePings, nextRecheckAt } from '../../shared/checks/heartbeat/state.ts';
import { type Evidence, noPhases, type Verdict } from '../../shared/checks/result.ts';
import type { Check } from './types.ts';

/** What this probe itself reads of the pings on the bus, at the moment of asking. */
export type PingView = {
  /** undefined: unknown, because the bus is down, has only just come back, or lost its data. */
  readonly read: (organisation: string, monitor: string) => Promise<PingState | undefined>;
};

export type HeartbeatDependencies = {
  readonly view: PingView;
  /**
   * Called after every judgement with the time of the next one; null: the view could not be used.
   */
  readonly onJudged: (monitor: string, next: number | null) => void;
};

/**
 * How often the log repeats that this host cannot judge: rarely, because only a newer Node helps.
 */
const unjudgedMs = 60_000;

/** Judges a heartbeat at this moment, from what this very probe reads on the bus (rule 20). */
export function createHeartbeatCheck({ view, onJudged }: HeartbeatDependencies): Check {
  return async ({ assignment, started_at }) => {
    const { organisation, monitor, config_version } = assignment;
    const state = await view.read(organisation, monitor);
    // A record under a newer or older configuration says nothing about ours. The one that lags
    // arrives soon.
    if (state === undefined || (state.terms !== null && state.terms !== config_version)) {
      onJudged(monitor, null);
      const evidence =
        state === undefined ? {} : { terms_seen: state.terms, terms_assigned: config_version };
      return {
        outcome: 'unknown',
        cause: { class: 'probe_stale_view', params: {} },
        phases: noPhases,
        evidence,
      };
    }
    // Judges as of the start of the check, which is the time of its result. A deadline that passed
    // while the view was read belongs to the next check; otherwise the outage would get a time
    // before its deadline.
    const terms = pingSettings(assignment);
    if (terms.schedule !== null && !canReckonSchedules()) {
      onJudged(monitor, started_at + unjudgedMs);
      const evidence = { schedule: terms.schedule.text, node: process.versions.node };
      return {
        outcome: 'unknown',
        cause: { class: 'heartbeat_schedule_unread', params: {} },
        phases: noPhases,
        evidence,
      };
    }
    const judgement = judgePings(state, terms, started_at);
    onJudged(monitor, nextRecheckAt(judgement, state, terms, started_at));
    return verdictOf(judgement, evidenceOf(state, judgement));
  };
}

function verdictOf(judgement: Judgement, evidence: Evidence): Verdict {
  if (judgement.is === 'failing')
    return { outcome: 'fail', cause: judgement.cause, phases: null, evidence };
  if (judgement.is === 'good') return { outcome: 'ok', cause: null, phases: null, evidence };
  return {
    outcome: 'unknown',
    cause: { class: 'heartbeat_pending', params: {} },
    phases: null,
    evidence,
  };
}

function evidenceOf(state: PingState, judgement: Judgement): Evidence {
  return {
    last_good: isoOf(state.good?.at),
    last_bad: isoOf(state.bad?.at),
    exit_code: state.bad?.exit_code ?? null,
    runs_under_way: state.open.map(({ rid, at }) => ({ rid, started: isoOf(at) })),
    ...(judgement.is === 'failing' ? { since: isoOf(judgement.since) } : {}),
    ...(judgement.is === 'good' && Number.isFinite(judgement.until)
      ? { due: isoOf(judgement.until) }
      : {}),
  };
}

function isoOf(at: number | undefined): string | null {
  return at === undefined ? null : new Date(at).toISOString();
}
