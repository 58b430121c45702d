import type { Roster } from '../../shared/checks/assignment.ts';
import { allRules, type MonitorState, type Rules, type SeenResult, type Watched } from './types.ts';
import { couldHold } from './views.ts';

/**
 * What need not wait for a hand-over (rule 4). Of a monitor that is well, and that nobody who has handed over saw failing before, an outage
 * that begins now is decided at once: all that others may still bring is that they saw it sooner, and that only dates it anew (core/retime.ts).
 * What else is known of a monitor (that it failed meanwhile, that it was down before) can come out otherwise by what comes, and waits: for
 * those who could hold the monitor, because nobody else keeps anything of it. What a private probe says of its monitors waits for nobody.
 */

type InHand = Pick<SeenResult, 'at' | 'outcome' | 'quarantined'>;

/** Whether one of those who are waited for may still bring something of this monitor. */
export const isAwaited = (watched: Watched, awaited: ReadonlySet<string>, roster: Roster): boolean =>
  roster.probes.some((probe) => awaited.has(probe.id) && couldHold(watched, probe, roster));

/** `began`: since when the past has been waited for; `inHand`: all that waits and tells of this monitor; `isMore`: more may come of it. */
export const canDecideEarly = (
  { incident, watched }: Pick<MonitorState, 'incident' | 'watched'>,
  inHand: readonly InHand[],
  began: number,
  isMore = true,
  rules: Rules = allRules,
): boolean => {
  // Pings that ping receivers kept may still come, and tell that it was not late.
  if (!rules.live_goes_ahead || watched.kind === 'heartbeat') return false;
  if (watched.probe !== null || (!isMore && rules.waits_for_who_may_tell)) return inHand.length > 0;
  if (incident !== null) return false;
  const failures = inHand.filter(({ outcome, quarantined }) => outcome === 'fail' && !quarantined);
  return failures.length > 0 && failures.every(({ at }) => at >= began);
};

/**
 * What probes kept while the bus or the coordinator was away is not decided as it comes but in order of start, once all healthy probes have
 * handed over, at most 30 s later (rule 4). One for each partition. It begins when the coordinator takes the partition over or hears the bus
 * again, and when a probe tells of a while ago and another has not been heard since: then it was no trouble of that probe alone.
 *
 * Modes: working (`until` is null; `spent`: the last one ended by its limit, and no other begins on a probe's word until nobody is behind,
 * or nobody is heard at all) ↔ holding (results wait).
 */
export type Backlog = {
  /** What was seen before this moment is waited for. */
  readonly since: number;
  readonly until: number | null;
  readonly spent: boolean;
};

/** What a healthy probe last said of itself: when, and whether it had handed over all that it saw. */
export type LatestPresence = { readonly probe: string; readonly heard_at: number; readonly handed_over: boolean };

/** Who speaks of something, and since when it was kept. */
export type Late = { readonly since: number; readonly from: readonly string[] };

const maxBacklogMs = 30_000;
/** A result that ended so long before it came was kept: on its usual way it takes two seconds. */
export const keptAfter = 4_000;
/** Presence comes every 5 s: who has been silent for longer may not reach us. */
const pingMissedAfter = 6_500;
/** What has landed on the bus may still be on its way from there. */
const settling = 200;

export const working: Backlog = { since: 0, until: null, spent: false };

export const beginBacklog = (now: number, since = now, most = maxBacklogMs): Backlog => ({
  since,
  until: now + Math.min(most, maxBacklogMs),
  spent: false,
});

/** Those who may still keep something that they saw before `since`: not heard since, silent now, or handing over. */
export const behind = (words: readonly LatestPresence[], since: number, now: number): string[] =>
  words.filter((word) => word.heard_at < since || now - word.heard_at > pingMissedAfter || !word.handed_over).map(({ probe }) => probe);

/** Who is waited for, and until when: without end while behind, and then for the moment that what was handed over takes to reach us. */
export type Awaited = ReadonlyMap<string, number>;

/** Who is waited for by now. `before` is undefined when nobody has looked yet; `arriving`: somebody's words are known to be on their way. */
export const awaitedBy = (
  since: number,
  before: Awaited | undefined,
  words: readonly LatestPresence[],
  now: number,
  arriving = false,
): Awaited => {
  const late = new Set(behind(words, since, now));
  const awaited = new Map<string, number>();
  for (const { probe } of words) {
    const last = before?.get(probe);
    const isFresh = before === undefined || arriving || last === Number.POSITIVE_INFINITY;
    const until = late.has(probe) ? Number.POSITIVE_INFINITY : isFresh ? now + settling : last;
    if (until !== undefined && until > now) awaited.set(probe, until);
  }
  return awaited;
};

const isSilent = (words: readonly Pick<LatestPresence, 'heard_at'>[], now: number): boolean =>
  words.every(({ heard_at }) => now - heard_at > pingMissedAfter);

/** What has become of it by now. `arriving`: more of what was handed over is known to be on its way to us. */
export const goOn = (handover: Backlog, words: readonly LatestPresence[], now: number, arriving = false): Backlog => {
  const { since, until, spent } = handover;
  const all = isSilent(words, now);
  if (until === null) return spent && (all || behind(words, Number.NEGATIVE_INFINITY, now).length === 0) ? working : handover;
  const awaited = behind(words, since, now).length > 0;
  if (now >= until) return { ...working, spent: awaited && !all };
  return awaited || arriving ? handover : { ...handover, until: Math.min(until, now + settling) };
};

/** Whether what came late is to wait for others. A probe that was away alone is waited for by nobody. */
export const mustWait = (handover: Backlog, late: Late, words: readonly LatestPresence[], now: number, rules: Rules = allRules): boolean =>
  rules.kept_waits_for_others &&
  handover.until === null &&
  !handover.spent &&
  behind(words, late.since, now).some((probe) => !late.from.includes(probe));

/** The first word after nobody was heard for longer than a ping: whoever is silent still is so by the bus, and gets his time anew (rule 7). */
export const endsSilenceOfAll = (words: readonly Pick<LatestPresence, 'heard_at'>[], now: number): boolean =>
  words.length > 1 && isSilent(words, now);

/** The order in which the past is decided: by start; what started together by probe and sequence, so that it is the same every time. */
export const byStart = (a: SeenResult, b: SeenResult): number =>
  a.at - b.at || (a.from.probe < b.from.probe ? -1 : a.from.probe > b.from.probe ? 1 : a.seq - b.seq);
