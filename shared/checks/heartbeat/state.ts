import { isId } from '../../base/crypto.ts';
import { Refusal } from '../../base/errors.ts';
import { nameFrom } from '../../base/names.ts';
import type { Cause } from '../result.ts';
import type { PingSettings } from './config.ts';
import { nextDue, nextOccurrence } from './schedule.ts';

/** What a call of the heartbeat address says, before its token is known. */
export type PingCall = {
  /** Of the monitor; of the organisation, a ping key, where the monitor is named. */
  readonly token: string;
  /** How the monitor is named under a ping key, and whether it is to be created. */
  readonly named: { readonly external_id: string; readonly create: boolean } | null;
  readonly kind: 'success' | 'start' | 'fail' | 'log';
  readonly exit_code: number | null;
  readonly rid: string | null;
};

export type PingCallFault = 'no_such_address' | 'rid_malformed';

/** The most of a body that is kept with the ping; the rest is read and dropped. */
export const keptBodyBytes = 10_000;

/** Many callers append one slash to every address, and it means nothing. */
const grammar = /^\/beat\/([A-Za-z0-9_-]{16,64})(?:\/(start|fail|log|[0-9]{1,3}))?\/?$/;
/** As Healthchecks writes its addresses. */
const aliasGrammar =
  /^\/ping\/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?:\/(start|fail|log|[0-9]{1,3}))?\/?$/i;
/** An external id may contain slashes. One that ends like an ending is written with %2F. */
const namedGrammar =
  /^\/beat\/(pk_[A-Za-z0-9_-]{16,61})\/(.{1,3000}?)(?:\/(start|fail|log|[0-9]{1,3}))?\/?$/;

/** A request through a proxy names the whole address, which every server must accept (RFC 9112). */
const place = /^https?:\/\/[^/?]*/i;

/**
 * Reads `/beat/<token>[/start|/fail|/log|/<0-255>]`, `/ping/<alias>[/…]` and
 * `/beat/<ping key>/<external id>[/…]` with an optional `?create=1`, all with an optional
 * `?rid=<uuid>`; ignores other parameters, because address shorteners and job runners add their own.
 */
export function parsePingCall(address: string): PingCall | PingCallFault {
  const local = address.replace(place, '');
  const mark = local.indexOf('?');
  const path = mark < 0 ? local : local.slice(0, mark);
  const query = new URLSearchParams(mark < 0 ? '' : local.slice(mark + 1));
  const read = tokenAndEnding(path, query.get('create') === '1');
  if (read === undefined) return 'no_such_address';
  const given = query.get('rid');
  const rid = given === null || given === '' ? null : given.toLowerCase();
  if (rid !== null && !isId(rid)) return 'rid_malformed';
  const { ending, ...of } = read;
  if (ending === undefined) return { ...of, kind: 'success', exit_code: null, rid };
  if (ending === 'start' || ending === 'fail' || ending === 'log')
    return { ...of, kind: ending, exit_code: null, rid };
  const code = Number(ending);
  if (code > 255) return 'no_such_address';
  return { ...of, kind: code === 0 ? 'success' : 'fail', exit_code: code, rid };
}

function tokenAndEnding(
  path: string,
  create: boolean,
): (Pick<PingCall, 'token' | 'named'> & { readonly ending: string | undefined }) | undefined {
  const [, token, ending] = grammar.exec(path) ?? [];
  if (token !== undefined) return { token, named: null, ending };
  const [, alias, endingOfAlias] = aliasGrammar.exec(path) ?? [];
  if (alias !== undefined)
    return { token: alias.toLowerCase(), named: null, ending: endingOfAlias };
  const [, key, name, endingOfNamed] = namedGrammar.exec(path) ?? [];
  const external_id = name === undefined ? undefined : externalIdIn(name);
  return key === undefined || external_id === undefined
    ? undefined
    : { token: key, named: { external_id, create }, ending: endingOfNamed };
}

/** As a monitor has it; undefined for a text that no monitor can have. */
function externalIdIn(text: string): string | undefined {
  try {
    return nameFrom(decodeURIComponent(text), 'external_id');
  } catch (error) {
    if (error instanceof Refusal || error instanceof URIError) return undefined;
    throw error;
  }
}

/** One ping, as far as lateness is concerned. */
export type Ping = {
  readonly id: string;
  readonly kind: PingCall['kind'];
  readonly exit_code: number | null;
  readonly at: number;
  readonly rid: string | null;
};

export type Mark = { readonly id: string; readonly at: number; readonly exit_code: number | null };

/** A run by its `rid`; runs without one all count as the same run. */
export type Run = { readonly rid: string | null; readonly at: number };

/**
 * The summary of one monitor's pings: all that its deadline depends on. It is the last value on the
 * bus and in the database, even after the pings themselves are gone, and small for any number of
 * pings.
 */
export type PingState = {
  readonly v: 1;
  /**
   * The version of the monitor's config under which it counts, as far as it is known, and whether
   * the monitor is paused.
   */
  readonly terms: number | null;
  readonly paused: boolean;
  /**
   * Nothing before this instant counts: when the monitor was resumed, or its settings were changed.
   */
  readonly from: number | null;
  readonly good: Mark | null;
  readonly bad: Mark | null;
  /** Which of the two came last; times cannot decide when both came in one millisecond. */
  readonly latest: 'good' | 'bad' | null;
  /** Starts of runs that have not ended, oldest first. */
  readonly open: readonly Run[];
  /**
   * Recently ended runs, by the time of their end: a start that arrives after its own end does not
   * count.
   */
  readonly ended: readonly Run[];
};

export const noPings: PingState = {
  v: 1,
  terms: null,
  paused: false,
  from: null,
  good: null,
  bad: null,
  latest: null,
  open: [],
  ended: [],
};

/**
 * The limit of concurrent runs that are tracked: beyond it the oldest are dropped, except the one
 * from which the first deadline counts.
 */
const maxRuns = 16;

/**
 * The state after one more ping, and how long the run took that it ended. A repeat changes nothing;
 * a late ping counts as of its own time.
 */
export function foldPing(
  state: PingState,
  ping: Ping,
): { readonly state: PingState; readonly run_ms: number | null } {
  if (ping.kind === 'log' || ping.id === state.good?.id || ping.id === state.bad?.id)
    return { state, run_ms: null };
  if (ping.kind === 'start') return { state: started(state, ping), run_ms: null };

  const isOver = (run: Run): boolean => run.rid === ping.rid && run.at <= ping.at + slack(ping.rid);
  const run = state.open.findLast(isOver);
  const open = run ? state.open.filter((one) => !isOver(one)) : state.open;
  const lastEnd = Math.max(ping.at, state.ended.find(sameRun(ping.rid))?.at ?? 0);
  const ended = [
    ...state.ended.filter((one) => one.rid !== ping.rid),
    { rid: ping.rid, at: lastEnd },
  ].slice(-maxRuns);
  const mark: Mark = { id: ping.id, at: ping.at, exit_code: ping.exit_code };
  const side = ping.kind === 'success' ? 'good' : 'bad';
  const other = side === 'good' ? state.bad : state.good;
  const newer = mark.at >= (state[side]?.at ?? 0);
  const latest = newer && mark.at >= (other?.at ?? 0) ? side : state.latest;
  const next: PingState = { ...state, open, ended, latest, [side]: newer ? mark : state[side] };
  return { state: next, run_ms: run ? Math.max(0, ping.at - run.at) : null };
}

/**
 * A run that starts again without having ended still has not ended: its limit counts from its first
 * start.
 */
function started(state: PingState, { rid, at }: Run): PingState {
  if (state.ended.some((run) => run.rid === rid && run.at + slack(rid) >= at)) return state;
  if (state.open.some((run) => run.rid === rid && run.at === at)) return state;
  const open = [...state.open, { rid, at }].toSorted((one, other) => one.at - other.at);
  return { ...state, open: maxOf(open, state.good) };
}

/**
 * Two ping receivers may time the start and the end of one named run by clocks that differ a
 * little: an end that is this little before its start still ends it. Runs without a name are
 * distinguished by their times only.
 */
const receiversDiffer = 250;

function slack(rid: string | null): number {
  return rid === null ? 0 : receiversDiffer;
}

function maxOf(open: readonly Run[], good: Mark | null): readonly Run[] {
  if (open.length <= maxRuns) return open;
  return good === null ? [...open.slice(0, 1), ...open.slice(1 - maxRuns)] : open.slice(-maxRuns);
}

function sameRun(rid: string | null) {
  return (run: Run) => run.rid === rid;
}

/**
 * The state without anything timed later than that: the clock that timed it was wrong, and would
 * hide all pings until then.
 */
export function notAfter(state: PingState, latest: number): PingState {
  const inTime = <Dated extends { readonly at: number }>(one: Dated | null): one is Dated =>
    one !== null && one.at <= latest;
  const marks = [state.good, state.bad, ...state.open, ...state.ended];
  if (marks.every((mark) => mark === null || inTime(mark))) return state;
  const [good, bad] = [
    inTime(state.good) ? state.good : null,
    inTime(state.bad) ? state.bad : null,
  ];
  const [open, ended] = [state.open.filter(inTime), state.ended.filter(inTime)];
  return { ...state, good, bad, latest: latestOf(good, bad, state.latest), open, ended };
}

function latestOf(
  good: Mark | null,
  bad: Mark | null,
  tie: PingState['latest'],
): PingState['latest'] {
  if (good && bad) return good.at === bad.at ? tie : good.at > bad.at ? 'good' : 'bad';
  return good ? 'good' : bad ? 'bad' : null;
}

/**
 * Merges two records of the same monitor, as after a bus was wiped: `known` from the database,
 * `seen` on the bus since.
 */
export function mergePings(known: PingState, seen: PingState): PingState {
  const good = laterOf(seen.good, known.good);
  const bad = laterOf(seen.bad, known.bad);
  const ended = [...known.ended, ...seen.ended]
    .filter(
      (run, index, all) =>
        !all.some(
          (other, at) =>
            other.rid === run.rid && (other.at > run.at || (other.at === run.at && at < index)),
        ),
    )
    .toSorted((a, b) => a.at - b.at)
    .slice(-maxRuns);
  const base: PingState = {
    v: 1,
    terms:
      known.terms === null || seen.terms === null
        ? (known.terms ?? seen.terms)
        : Math.max(known.terms, seen.terms),
    paused: seen.terms === null ? known.paused : seen.paused,
    from:
      known.from === null || seen.from === null
        ? (known.from ?? seen.from)
        : Math.max(known.from, seen.from),
    good,
    bad,
    latest: latestOf(good, bad, seen.latest ?? known.latest),
    open: [],
    ended,
  };
  return [...known.open, ...seen.open].reduce<PingState>(started, base);
}

function laterOf(a: Mark | null, b: Mark | null): Mark | null {
  return a !== null && (b === null || a.at >= b.at) ? a : b;
}

/**
 * The state under the monitor's present settings. A change of them, or the end of a pause, restarts
 * the job's time: silence that was allowed does not count against it.
 */
export function withSettings(
  state: PingState,
  terms: { readonly version: number; readonly paused: boolean },
  now: number,
): PingState {
  const { version, paused } = terms;
  if (state.terms !== null && state.terms > version) return state;
  if (state.terms === version && state.paused === paused) return state;
  const restarts = (state.terms !== null && state.terms < version) || (state.paused && !paused);
  return {
    ...state,
    terms: version,
    paused,
    from: restarts ? Math.max(now, state.from ?? 0) : state.from,
  };
}

/** The judgement of a heartbeat at one instant (rule 20). */
export type Judgement =
  /** Neither a good ping nor a start has come yet: nothing can be late. */
  | { readonly is: 'pending' }
  | { readonly is: 'good'; readonly until: number }
  /**
   * `since` is the deadline, or the time of the bad ping: the start of the outage. The cause names
   * it too, with the ping from which it counts.
   */
  | { readonly is: 'failing'; readonly since: number; readonly cause: Cause };

/**
 * The instant by which the ping after the one at `ping` must come. A ping shortly before its
 * scheduled time counts for it.
 */
export function deadlineAfter(terms: PingSettings, ping: number): number {
  return graceAfter(
    terms,
    terms.schedule
      ? nextDue(terms.schedule.cron, terms.schedule.zone, ping)
      : ping + terms.interval_ms,
  );
}

function graceAfter(terms: PingSettings, due: number | undefined): number {
  return due === undefined ? Number.POSITIVE_INFINITY : due + terms.grace_ms;
}

/**
 * Until when a ping proves that the job is fine (rule 22): the next is due before; a run that it
 * starts has its own limit; a log proves nothing.
 */
export function coveredUntil(terms: PingSettings, { at, kind }: Pick<Ping, 'at' | 'kind'>): number {
  if (kind === 'log') return at;
  return Math.max(
    deadlineAfter(terms, at),
    kind === 'start' && terms.max_run_ms !== null ? at + terms.max_run_ms : at,
  );
}

export function badPingCause(bad: Pick<Mark, 'at' | 'exit_code'>): Cause {
  return bad.exit_code === null
    ? { class: 'heartbeat_failed', params: { deadline: bad.at } }
    : { class: 'heartbeat_exit_code', params: { deadline: bad.at, exit_code: bad.exit_code } };
}

export function judgePings(state: PingState, terms: PingSettings, now: number): Judgement {
  const from = state.from ?? 0;
  if (state.latest === 'bad' && state.bad && state.bad.at >= from)
    return { is: 'failing', since: state.bad.at, cause: badPingCause(state.bad) };

  const lapse = terms.max_run_ms === null ? undefined : lapseOf(state, terms.max_run_ms);
  const last = countedFrom(state);
  const deadline = last && deadlineOf(terms, last, state.from);
  // A run that started in time and is still within its limit is not late; its own limit is then the
  // deadline.
  const underWay =
    lapse !== undefined &&
    terms.max_run_ms !== null &&
    deadline !== undefined &&
    lapse - terms.max_run_ms <= deadline;
  const until = underWay
    ? lapse
    : Math.min(deadline ?? Number.POSITIVE_INFINITY, lapse ?? Number.POSITIVE_INFINITY);

  if (until <= now) {
    const missed = { deadline: until, ...(last ? { after: last.at } : {}) };
    if (until === lapse) {
      const params = { ...missed, max_run_ms: terms.max_run_ms ?? 0 };
      return { is: 'failing', since: until, cause: { class: 'heartbeat_unfinished', params } };
    }
    const silent_ms = now - (last?.at ?? from);
    const expected = terms.schedule
      ? { schedule: terms.schedule.text }
      : { every_ms: terms.interval_ms };
    return {
      is: 'failing',
      since: until,
      cause: { class: 'heartbeat_late', params: { ...missed, silent_ms, ...expected } },
    };
  }
  return last ? { is: 'good', until } : { is: 'pending' };
}

/** The earliest expiry of a run that started and did not end. A later good ping cancels it. */
function lapseOf(state: PingState, max_run_ms: number): number | undefined {
  const after = Math.max(state.good?.at ?? 0, state.from ?? 0);
  return state.open.map(({ at }) => at + max_run_ms).find((lapse) => lapse > after);
}

/**
 * The ping from which the deadline counts: the newest good one, and before any the first start,
 * which catches a job that never ends.
 */
function countedFrom(state: PingState): Pick<Mark, 'at'> | undefined {
  return state.good ?? state.open[0];
}

/**
 * A ping from before monitoring restarted still counts for its occurrence: the deadline is the
 * later of the two.
 */
function deadlineOf(terms: PingSettings, { at }: Pick<Mark, 'at'>, from: number | null): number {
  return Math.max(deadlineAfter(terms, at), from === null ? 0 : deadlineFrom(terms, from));
}

/**
 * The instant by which a ping must come when monitoring of the job begins at `from`. A schedule
 * that never comes again has no deadline.
 */
function deadlineFrom(terms: PingSettings, from: number): number {
  return graceAfter(
    terms,
    terms.schedule
      ? nextOccurrence(terms.schedule.cron, terms.schedule.zone, from)
      : from + terms.interval_ms,
  );
}

/**
 * The longest interval between checks of a failing heartbeat: a ping reports its end, but no ping
 * reports a record that was lost and came back.
 */
const longestBlindMs = 60_000;

/**
 * When to check again, so nothing becomes overdue unnoticed: at the known deadline, and no later
 * than the deadline that a ping right after this check could set. So a check costs one request for
 * each interval, not one for each ping.
 */
export function nextRecheckAt(
  judgement: Judgement,
  state: PingState,
  terms: PingSettings,
  now: number,
): number {
  const { max_run_ms } = terms;
  const run = max_run_ms === null ? Number.POSITIVE_INFINITY : now + max_run_ms;
  const soonest = Math.min(run, deadlineFrom(terms, now));
  if (judgement.is === 'good') return Math.min(judgement.until, soonest);
  if (judgement.is === 'pending') return soonest;
  // A good ping that ends the failure leaves other runs open, each with its own limit.
  const ends =
    max_run_ms === null
      ? []
      : state.open.map(({ at }) => at + max_run_ms).filter((end) => end > now);
  return Math.min(now + longestBlindMs, soonest, ...ends);
}

/** The time up to a good ping, and since when the job had failed by then; null when it had not. */
export type Stretch = { readonly next_good_at: number; readonly fails_at: number | null };

/**
 * A ping's place among the others in order of time (rule 20): ping receivers send their backlog,
 * and databases come back, in any order.
 */
export type PingPlace<Known extends Ping> = {
  /**
   * Of a bad ping: since when the job has failed by then, which is a deadline if one had passed
   * before it. Of others: when it came.
   */
  readonly began_at: number;
  /** The next good ping after it, as far as any is known. */
  readonly next_good_at: number | null;
  /**
   * Of a good ping or a start: since when the job had failed by the next good one; null when it had
   * not.
   */
  readonly fails_at: number | null;
  /** The same for the further good pings within the limit of a run that it starts. */
  readonly later: readonly Stretch[];
  /** Bad pings between it and the last of these good ones. */
  readonly bad: readonly Known[];
};

/**
 * `known`: all known pings of the monitor, in any order; `from`: nothing before this instant counts
 * (heartbeat/state.ts).
 */
export function placeOf<Known extends Ping>(
  ping: Ping,
  known: readonly Known[],
  from: PingState['from'],
  terms: PingSettings,
): PingPlace<Known> {
  const others = known
    .filter(({ id, at }) => id !== ping.id && at >= (from ?? 0))
    .toSorted((a, b) => a.at - b.at);
  const since = others.filter(({ at }) => at > ping.at);
  const next_good_at = since.find(({ kind }) => kind === 'success')?.at ?? null;
  // A started run may exceed its limit after any good ping, until the first one after its limit.
  const felt = ping.kind === 'start' ? ping.at + (terms.max_run_ms ?? 0) : ping.at;
  const last_good_at =
    since.find(({ kind, at }) => kind === 'success' && at > felt)?.at ?? Number.POSITIVE_INFINITY;
  const between = since.filter(({ at }) => at < last_good_at);

  let state: PingState = { ...noPings, from };
  let wrong: number | null = null;
  // A ping at the very deadline is in time.
  const judgeBefore = (at: number): void => {
    const judged = judgePings(state, terms, at - 1);
    if (judged.is === 'failing') wrong = Math.min(wrong ?? judged.since, judged.since);
  };
  const stretches: Stretch[] = [];
  const take = (one: Ping): void => {
    judgeBefore(one.at);
    if (one.kind === 'success' && one.at > ping.at)
      stretches.push({ next_good_at: one.at, fails_at: wrong });
    state = foldPing(state, one).state;
    if (one.kind === 'success') wrong = null;
    else if (one.kind === 'fail') wrong = Math.min(wrong ?? one.at, one.at);
  };
  for (const one of others) if (one.at < ping.at) take(one);
  take(ping);
  const began_at = ping.kind === 'fail' ? (wrong ?? ping.at) : ping.at;
  for (const one of since) if (one.at <= last_good_at) take(one);
  const [first, ...later] = ping.kind === 'success' || ping.kind === 'start' ? stretches : [];
  return {
    began_at,
    next_good_at,
    fails_at: first?.fails_at ?? null,
    later,
    bad: between.filter(({ kind }) => kind === 'fail'),
  };
}
