const statuses = ['pending', 'up', 'verifying', 'down', 'paused'] as const;
export type Status = (typeof statuses)[number];

export type StatusInput = {
  readonly now: number;
  readonly created_at: number;
  readonly paused_at: number | null;
  readonly incident: { readonly started_at: number; readonly confirmed_at: number | null } | null;
  /** Start of the newest ok or fail (a heartbeat: of the newest ping or judgement). */
  readonly last_checked_at: number | null;
  /** Until when that one counts (rule 22): its start and two intervals and the time limit, or a heartbeat's deadline. */
  readonly covered_until: number;
  /** When the newest incident that is over ended, and the newest unknown stretch that is over. */
  readonly last_resolved_at: number | null;
  readonly last_gap_ended_at: number | null;
  /** End of the last pause. */
  readonly resumed_at: number | null;
};

export type StatusNow = { readonly status: Status; readonly since: number; readonly last_checked_at: number | null };

const latest = (...times: (number | null)[]): number => Math.max(...times.filter((time) => time !== null));

/** Rule 18: the first that fits, and when it began. */
export const statusNow = (input: StatusInput): StatusNow => {
  const { now, created_at, paused_at, incident, last_checked_at, covered_until, last_resolved_at, last_gap_ended_at, resumed_at } = input;
  if (paused_at !== null) return { status: 'paused', since: paused_at, last_checked_at };
  if (incident?.confirmed_at) return { status: 'down', since: incident.confirmed_at, last_checked_at };
  if (incident) return { status: 'verifying', since: incident.started_at, last_checked_at };
  if (last_checked_at === null) return { status: 'pending', since: latest(created_at, resumed_at), last_checked_at };
  if (covered_until <= now) return { status: 'pending', since: latest(covered_until, last_resolved_at, resumed_at), last_checked_at };
  return { status: 'up', since: latest(created_at, last_resolved_at, last_gap_ended_at, resumed_at), last_checked_at };
};
