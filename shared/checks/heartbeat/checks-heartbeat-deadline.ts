import type { Cause } from '../checks-cause-types.ts';
import type { PingTerms } from './checks-heartbeat-config.ts';
import { nextDue, nextOccurrence } from './checks-heartbeat-schedule.ts';
import type { Mark, Ping, PingState } from './checks-heartbeat-state.ts';

/** How a heartbeat stands at one instant (rule 20). */
export type Judgement =
  /** Neither a good ping nor a start has come yet: there is nothing that could be late. */
  | { readonly is: 'pending' }
  | { readonly is: 'good'; readonly until: number }
  /** `since` is the deadline, or when the bad ping came: the start of the outage. The cause names it too, with the ping it counts from. */
  | { readonly is: 'failing'; readonly since: number; readonly cause: Cause };

const graceAfter = (terms: PingTerms, due: number | undefined): number =>
  due === undefined ? Number.POSITIVE_INFINITY : due + terms.grace_ms;

/** The instant by which a ping must have come when the job begins to be watched at `from`. A schedule that never comes again has no deadline. */
const deadlineFrom = (terms: PingTerms, from: number): number =>
  graceAfter(terms, terms.schedule ? nextOccurrence(terms.schedule.cron, terms.schedule.zone, from) : from + terms.interval_ms);

/** The instant by which the ping after the one at `ping` must have come; one that came shortly before its scheduled time has come for it. */
export const deadlineAfter = (terms: PingTerms, ping: number): number =>
  graceAfter(terms, terms.schedule ? nextDue(terms.schedule.cron, terms.schedule.zone, ping) : ping + terms.interval_ms);

/** Of a ping that came before the watch began anew, what it came for stays done: the deadline is the later of the two. */
const deadlineOf = (terms: PingTerms, { at }: Pick<Mark, 'at'>, from: number | null): number =>
  Math.max(deadlineAfter(terms, at), from === null ? 0 : deadlineFrom(terms, from));

/** Until when a ping says that all is in order (rule 22): the next is due before; a run that it begins has its own limit; a log says nothing. */
export const coveredUntil = (terms: PingTerms, { at, kind }: Pick<Ping, 'at' | 'kind'>): number => {
  if (kind === 'log') return at;
  return Math.max(deadlineAfter(terms, at), kind === 'start' && terms.max_run_ms !== null ? at + terms.max_run_ms : at);
};

export const badPingCause = (bad: Pick<Mark, 'at' | 'exit_code'>): Cause =>
  bad.exit_code === null
    ? { class: 'heartbeat_failed', params: { deadline: bad.at } }
    : { class: 'heartbeat_exit_code', params: { deadline: bad.at, exit_code: bad.exit_code } };

/** The earliest end of patience with a run that began and did not end. A good ping after it was over makes up for it. */
const lapseOf = (state: PingState, max_run_ms: number): number | undefined => {
  const after = Math.max(state.good?.at ?? 0, state.from ?? 0);
  return state.open.map(({ at }) => at + max_run_ms).find((lapse) => lapse > after);
};

/** What the deadline counts from: the newest good ping, and before any the first start, so that a job that never comes to its end is missed. */
const countedFrom = (state: PingState): Pick<Mark, 'at'> | undefined => state.good ?? state.open[0];

export const judgePings = (state: PingState, terms: PingTerms, now: number): Judgement => {
  const from = state.from ?? 0;
  if (state.latest === 'bad' && state.bad && state.bad.at >= from)
    return { is: 'failing', since: state.bad.at, cause: badPingCause(state.bad) };

  const lapse = terms.max_run_ms === null ? undefined : lapseOf(state, terms.max_run_ms);
  const last = countedFrom(state);
  const deadline = last && deadlineOf(terms, last, state.from);
  // A run that began in time and is still within its limit is no lateness; its own limit is then the deadline.
  const underWay = lapse !== undefined && terms.max_run_ms !== null && deadline !== undefined && lapse - terms.max_run_ms <= deadline;
  const until = underWay ? lapse : Math.min(deadline ?? Number.POSITIVE_INFINITY, lapse ?? Number.POSITIVE_INFINITY);

  if (until <= now) {
    const missed = { deadline: until, ...(last ? { after: last.at } : {}) };
    if (until === lapse) {
      const params = { ...missed, max_run_ms: terms.max_run_ms ?? 0 };
      return { is: 'failing', since: until, cause: { class: 'heartbeat_unfinished', params } };
    }
    const silent_ms = now - (last?.at ?? from);
    const expected = terms.schedule ? { schedule: terms.schedule.text } : { every_ms: terms.interval_ms };
    return { is: 'failing', since: until, cause: { class: 'heartbeat_late', params: { ...missed, silent_ms, ...expected } } };
  }
  return last ? { is: 'good', until } : { is: 'pending' };
};

/** What fails is looked at so often at least: its end is told by a ping, but a record that was lost and came back is not. */
const longestBlindMs = 60_000;

/**
 * When to look again, so that nothing can become overdue unseen: at the deadline that is known; and no later than a ping that comes right
 * after this look could make one. So a look costs one question for each interval, not one for each ping.
 */
export const nextLook = (judgement: Judgement, state: PingState, terms: PingTerms, now: number): number => {
  const { max_run_ms } = terms;
  const run = max_run_ms === null ? Number.POSITIVE_INFINITY : now + max_run_ms;
  const soonest = Math.min(run, deadlineFrom(terms, now));
  if (judgement.is === 'good') return Math.min(judgement.until, soonest);
  if (judgement.is === 'pending') return soonest;
  // A good ping that mends it leaves other runs under way, each with its own limit.
  const ends = max_run_ms === null ? [] : state.open.map(({ at }) => at + max_run_ms).filter((end) => end > now);
  return Math.min(now + longestBlindMs, soonest, ...ends);
};
