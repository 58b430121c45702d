import type { Interval } from '../../shared/base/time.ts';
import type { Config } from '../../shared/checks/assignment.ts';
import { pingSettings } from '../../shared/checks/heartbeat/config.ts';
import { deadlineAfter } from '../../shared/checks/heartbeat/state.ts';
import { timeoutMs } from '../../shared/checks/kind-config.ts';
import type { Kind } from '../../shared/checks/kinds.ts';
import { allowedSilence } from '../core/ledger.ts';
import { type Caused, explained, type Stretch, type Uptime, uptime } from '../core/uptime.ts';
import { flappingOf, longMs, type Outage, steadyMs } from '../notifications/policy.ts';

/** A percentage of less time than this says nothing: pages show none. */
const minMeasuredMs = 3_600_000;

/** `measured`: how long it was up or down, whatever its age. */
export function percentOfEnough(percent: number | null, measured: number): number | null {
  return measured < minMeasuredMs ? null : percent;
}

const statuses = ['pending', 'up', 'verifying', 'down', 'paused'] as const;
export type Status = (typeof statuses)[number];

export type StatusInput = {
  readonly now: number;
  readonly created_at: number;
  readonly paused_at: number | null;
  readonly incident: { readonly started_at: number; readonly confirmed_at: number | null } | null;
  /** Start of the newest ok or fail (for a heartbeat: of the newest ping or judgement). */
  readonly last_checked_at: number | null;
  /**
   * Until when that result counts (rule 22): its start, two intervals and the timeout; or a
   * heartbeat's deadline.
   */
  readonly covered_until: number;
  /** When the newest resolved incident ended, and the newest unknown stretch that is over. */
  readonly last_resolved_at: number | null;
  readonly last_gap_ended_at: number | null;
  /** End of the last pause. */
  readonly resumed_at: number | null;
};

export type StatusNow = {
  readonly status: Status;
  readonly since: number;
  readonly last_checked_at: number | null;
};

/** Rule 18: the first status that applies, and when it began. */
export function statusNow(input: StatusInput): StatusNow {
  const {
    now,
    created_at,
    paused_at,
    incident,
    last_checked_at,
    covered_until,
    last_resolved_at,
    last_gap_ended_at,
    resumed_at,
  } = input;
  if (paused_at !== null) return { status: 'paused', since: paused_at, last_checked_at };
  if (incident?.confirmed_at)
    return { status: 'down', since: incident.confirmed_at, last_checked_at };
  if (incident) return { status: 'verifying', since: incident.started_at, last_checked_at };
  if (last_checked_at === null)
    return { status: 'pending', since: latestTime(created_at, resumed_at), last_checked_at };
  if (covered_until <= now)
    return {
      status: 'pending',
      since: latestTime(covered_until, last_resolved_at, resumed_at),
      last_checked_at,
    };
  return {
    status: 'up',
    since: latestTime(created_at, last_resolved_at, last_gap_ended_at, resumed_at),
    last_checked_at,
  };
}

function latestTime(...times: (number | null)[]): number {
  return Math.max(...times.filter((time) => time !== null));
}

/** Everything that a monitor's status and uptime are computed from, as it was at one moment. */
export type MonitorHistory = {
  readonly id: string;
  readonly kind: Kind;
  readonly interval_s: number;
  readonly config: Config;
  readonly created_at: number;
  readonly paused_at: number | null;
  readonly paused: readonly Interval[];
  readonly cover: readonly Interval[];
  /** The cover again, each stretch with its window. */
  readonly causedCover: readonly Caused[];
  /** Confirmed incidents, each with its id. */
  readonly down: readonly (Interval & { readonly incident: string })[];
  readonly unknown: readonly Interval[];
  readonly incident: { readonly started_at: number; readonly confirmed_at: number | null } | null;
  /**
   * Start of the newest ok or fail; of a heartbeat of the newest fail, because pings cover the rest.
   */
  readonly last_result_at: number | null;
  /** The newest ping that says how a job went; starts and log lines do not. */
  readonly last_beat_at: number | null;
  /** Start of the unknown stretch that lasts, according to the ledger. */
  readonly gap_since: number | null;
  readonly last_resolved_at: number | null;
  readonly last_gap_ended_at: number | null;
  readonly resumed_at: number | null;
  /**
   * Of a resume, or of an edit of what is checked, that its partition has not decided yet; the
   * ledger will have the same moment.
   */
  readonly begins_anew_at: number | null;
};

/** The later of two moments, either of which may be missing. */
export function latest(a: number | null, b: number | null): number | null {
  return a === null || b === null ? (a ?? b) : Math.max(a, b);
}

/** The input for how long the newest observation counts. */
type Covering = Pick<
  MonitorHistory,
  | 'kind'
  | 'interval_s'
  | 'config'
  | 'created_at'
  | 'resumed_at'
  | 'gap_since'
  | 'begins_anew_at'
  | 'last_result_at'
  | 'last_beat_at'
>;

/**
 * Until when the newest observation counts (rule 22). The ledger knows for certain once it has
 * noticed the silence.
 */
export function coveredUntil(history: Covering): number {
  const { kind, interval_s, config, created_at, resumed_at } = history;
  const { gap_since, begins_anew_at, last_result_at, last_beat_at } = history;
  if (gap_since !== null) return gap_since;
  if (begins_anew_at !== null) return begins_anew_at;
  const beginning = latest(created_at, resumed_at) ?? created_at;
  const interval_ms = interval_s * 1000;
  const result =
    last_result_at === null
      ? beginning
      : last_result_at + allowedSilence({ interval_ms, timeout_ms: timeoutMs(config, interval_s) });
  const ping =
    kind === 'heartbeat' && last_beat_at !== null
      ? deadlineAfter(pingSettings({ interval_ms, config }), last_beat_at)
      : beginning;
  return Math.max(result, ping);
}

export function statusOf(history: MonitorHistory, now: number): StatusNow {
  return statusNow({
    now,
    created_at: history.created_at,
    paused_at: history.paused_at,
    last_resolved_at: history.last_resolved_at,
    last_gap_ended_at: history.last_gap_ended_at,
    resumed_at: history.resumed_at,
    incident: history.begins_anew_at === null ? history.incident : null,
    last_checked_at: latest(history.last_result_at, history.last_beat_at),
    covered_until: coveredUntil(history),
  });
}

export function uptimeOf(history: MonitorHistory, window: Interval): Uptime {
  const { created_at, paused, cover, down } = history;
  return uptime({ window, created_at, paused, cover, down, unknown: unknownIn(history, window) });
}

/**
 * Silence that the ledger does not hold yet, as after an absence of the coordinator, is unknown
 * too.
 */
function unknownIn(history: MonitorHistory, window: Interval): Interval[] {
  return [...history.unknown, { from: coveredUntil(history), to: window.to }];
}

/** The percentage as pages show it. */
export function percentShown(history: MonitorHistory, window: Interval): number | null {
  const { percent, up, down } = uptimeOf(history, window);
  return percentOfEnough(percent, up + down);
}

/** The uptime as if this incident had not been. */
export function uptimeWithout(history: MonitorHistory, window: Interval, incident: string): Uptime {
  return uptimeOf(
    { ...history, down: history.down.filter((each) => each.incident !== incident) },
    window,
  );
}

/** The stretches behind the sum of uptimeOf() (rule 43). */
export function stretchesOf(history: MonitorHistory, window: Interval): Stretch[] {
  return explained({
    window,
    created_at: history.created_at,
    cover: history.causedCover,
    paused: history.paused.map((each) => ({ ...each, cause: { is: 'pause' } })),
    down: history.down.map(({ incident: id, ...each }) => ({
      ...each,
      cause: { is: 'incident', id },
    })),
    unknown: unknownIn(history, window).map((each) => ({ ...each, cause: { is: 'gap' } })),
  });
}

/**
 * A monitor's status as the database keeps it (monitor_status), with the newest observation: enough
 * to compute its status without its history.
 */
export type StoredStatus = {
  readonly status: Status;
  readonly since: number;
  /** Whether it was ever observed. */
  readonly seen: boolean;
  readonly type: Kind;
  readonly interval_s: number;
  readonly config: Config;
  readonly created: number;
  /** Start of the newest ok or fail; of a heartbeat of the newest fail. */
  readonly last_result_at: number | null;
  /** Of a heartbeat: the newest ping that says how a job went. */
  readonly last_beat_at: number | null;
  /** Of a resume, or of an edit of what is checked, that its partition has not decided yet. */
  readonly begins_anew_at: number | null;
};

/**
 * Rule 18, with the same functions as statusOf(): the kept status is turned into the one fact that
 * caused it. Only silence that was not noticed yet is missing from the row.
 */
export function currentStatus(stored: StoredStatus, now: number): StatusNow {
  const { status, since, seen, type, created, last_result_at, last_beat_at, begins_anew_at } =
    stored;
  const isAgain = begins_anew_at !== null;
  return statusNow({
    now,
    created_at: created,
    paused_at: status === 'paused' ? since : null,
    incident: isAgain ? null : incidentOf(stored),
    last_checked_at: latest(last_result_at, last_beat_at),
    covered_until: coveredUntil({
      kind: type,
      interval_s: stored.interval_s,
      config: stored.config,
      created_at: created,
      begins_anew_at,
      last_result_at,
      last_beat_at,
      // Pending although it was observed: an unknown stretch lasts.
      gap_since: status === 'pending' && seen ? since : null,
      resumed_at: since,
    }),
    last_resolved_at: since,
    last_gap_ended_at: null,
    resumed_at: null,
  });
}

/** The incident behind the kept status. */
function incidentOf({ status, since }: StoredStatus) {
  if (status === 'down') return { started_at: since, confirmed_at: since };
  return status === 'verifying' ? { started_at: since, confirmed_at: null } : null;
}

/** As people see it: maintenance takes precedence over the status that it covers. */
export const statusRows = ['down', 'verifying', 'up', 'maintenance', 'pending', 'paused'] as const;
export type StatusRow = (typeof statusRows)[number];

/** In the place of a group's id: the monitors that are in none. */
export const noGroup = '00000000-0000-0000-0000-000000000000';

/** The orders of the dashboard. */
export const dashboardSorts = [
  'group',
  'state',
  'name',
  'response',
  'downtime',
  'changed',
] as const;
export type DashboardSort = (typeof dashboardSorts)[number];

/** A monitor that flaps at this moment (rule 37): how often it went down so, and since when. */
export function flappingNow(
  outages: readonly Outage[],
  now: number,
): { readonly times: number; readonly since: number } | null {
  const last = outages.at(-1);
  if (last === undefined || flappingOf(outages) === 'plain') return null;
  const isSettled =
    last.resolved_at === null
      ? now - last.confirmed_at >= longMs
      : now - last.resolved_at >= steadyMs;
  if (isSettled) return null;
  const first = outages.findLastIndex(({ confirmed_at }, at) => {
    const before = outages[at - 1];
    return before === undefined || confirmed_at - (before.resolved_at ?? confirmed_at) >= steadyMs;
  });
  return { times: outages.length - first, since: outages[first]?.confirmed_at ?? now };
}
