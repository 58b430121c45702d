import type { SeenResult } from './types.ts';

/**
 * Results that probes kept while the bus or the coordinator was down are not decided as they come.
 * They are decided in order of start, once all healthy probes have delivered their backlog, at most
 * 30 s later (rule 4). Each partition has one backlog. It begins when the coordinator takes the
 * partition over or reconnects to the bus. It also begins when a probe delivers old results and
 * another probe has been silent since: then more than one probe was affected.
 *
 * Modes: working (`until` is null; `spent`: the last backlog ended by its limit, and late results
 * start no other one until no probe is behind or no probe is heard) ↔ holding (results wait).
 */
export type Backlog = {
  /** The backlog consists of results from before this moment. */
  readonly since: number;
  readonly until: number | null;
  readonly spent: boolean;
};

const maxBacklogMs = 30_000;
/**
 * Presence comes every 5 s, and a result two seconds after its end; both take longer where everybody
 * is busy. A probe that is silent for longer than this may be cut off from us, and what arrives
 * later than this after its end was kept.
 */
export const longestOnTheWay = 6_500;

export function beginBacklog(now: number, since = now, limit = maxBacklogMs): Backlog {
  return {
    since,
    until: now + Math.min(limit, maxBacklogMs),
    spent: false,
  };
}

/**
 * The last presence of a healthy probe: when it came, and whether the probe had delivered its
 * backlog.
 */
export type LatestPresence = {
  readonly probe: string;
  readonly heard_at: number;
  readonly handed_over: boolean;
};

/** Time for what is on the bus already to reach us. */
const settling = 200;

export const working: Backlog = { since: 0, until: null, spent: false };

/** The state of the backlog now. `arriving`: more of it is known to be on its way to us. */
export function updateBacklog(
  backlog: Backlog,
  presences: readonly LatestPresence[],
  now: number,
  arriving = false,
): Backlog {
  const { since, until, spent } = backlog;
  const all = isSilent(presences, now);
  if (until === null)
    return spent && (all || behind(presences, Number.NEGATIVE_INFINITY, now).length === 0)
      ? working
      : backlog;
  const awaited = behind(presences, since, now).length > 0;
  if (now >= until) return { ...working, spent: awaited && !all };
  return awaited || arriving ? backlog : { ...backlog, until: Math.min(until, now + settling) };
}

function isSilent(presences: readonly Pick<LatestPresence, 'heard_at'>[], now: number): boolean {
  return presences.every(({ heard_at }) => now - heard_at > longestOnTheWay);
}

/**
 * Probes that may still keep results from before `since`: silent since then, silent now, or still
 * delivering.
 */
export function behind(presences: readonly LatestPresence[], since: number, now: number): string[] {
  return presences
    .filter(
      (presence) =>
        presence.heard_at < since ||
        now - presence.heard_at > longestOnTheWay ||
        !presence.handed_over,
    )
    .map(({ probe }) => probe);
}

/** Which probes delivered late results, and since when they kept them. */
export type Late = { readonly since: number; readonly from: readonly string[] };

/**
 * Whether late results must wait for other probes. No one waits for a probe that was away alone.
 */
export function mustWait(
  backlog: Backlog,
  late: Late,
  presences: readonly LatestPresence[],
  now: number,
): boolean {
  return (
    backlog.until === null &&
    !backlog.spent &&
    behind(presences, late.since, now).some((probe) => !late.from.includes(probe))
  );
}

/**
 * The first presence after no probe was heard for longer than a ping. The bus was down, so every
 * probe's silence timer restarts (rule 7).
 */
export function endsSilenceOfAll(
  presences: readonly Pick<LatestPresence, 'heard_at'>[],
  now: number,
): boolean {
  return presences.length > 1 && isSilent(presences, now);
}

/**
 * The order in which the past is decided: by start, then by probe and sequence, so that it is
 * always the same.
 */
export function byStart(a: SeenResult, b: SeenResult): number {
  return (
    a.at - b.at ||
    (a.from.probe < b.from.probe ? -1 : a.from.probe > b.from.probe ? 1 : a.seq - b.seq)
  );
}
