import type { Config } from '../../shared/checks/assignment.ts';
import type { Kind } from '../../shared/checks/kinds.ts';
import { coveredUntil, latest } from './monitor-history.ts';
import { type Status, type StatusNow, statusNow } from './monitor-status.ts';

/** How a monitor is, as the database keeps it (monitor_status), with the newest that was seen of it: enough to say its status without its history. */
export type Standing = {
  readonly status: Status;
  readonly since: number;
  /** Whether anybody has ever seen it. */
  readonly seen: boolean;
  readonly type: Kind;
  readonly interval_s: number;
  readonly config: Config;
  readonly created: number;
  /** Start of the newest ok or fail; of a heartbeat also of the newest fail, and the newest ping that says how a job went. */
  readonly last_result_at: number | null;
  readonly last_fail_at: number | null;
  readonly last_beat_at: number | null;
  /** Of a resume or an edit of what is checked that its partition has not decided about yet. */
  readonly begins_anew_at: number | null;
};

/** The incident that the kept status tells of. */
const incidentOf = ({ status, since }: Standing) => {
  if (status === 'down') return { started_at: since, confirmed_at: since };
  return status === 'verifying' ? { started_at: since, confirmed_at: null } : null;
};

/**
 * Rule 18, with the same functions as statusOf(): what the row keeps is told as the one thing that it came from. Only the silence that
 * nobody has noticed yet is not in the row.
 */
export const standingNow = (standing: Standing, now: number): StatusNow => {
  const { status, since, seen, type, created, last_result_at, last_fail_at, last_beat_at, begins_anew_at } = standing;
  const anew = begins_anew_at !== null;
  return statusNow({
    ...{ now, created_at: created, paused_at: status === 'paused' ? since : null },
    incident: anew ? null : incidentOf(standing),
    last_checked_at: latest(last_result_at, last_beat_at),
    covered_until: coveredUntil({
      ...{ kind: type, interval_s: standing.interval_s, config: standing.config, created_at: created, begins_anew_at },
      ...{ last_covering_at: type === 'heartbeat' ? last_fail_at : last_result_at, last_beat_at },
      // Pending though somebody has looked: an unknown stretch lasts.
      gap_since: status === 'pending' && seen ? since : null,
      resumed_at: since,
    }),
    ...{ last_resolved_at: since, last_gap_ended_at: null, resumed_at: null },
  });
};
