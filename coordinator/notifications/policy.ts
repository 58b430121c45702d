import { longestMute_min } from '../../shared/api/notifications.ts';
import { Refusal } from '../../shared/base/errors.ts';
import { type Interval, union } from '../../shared/base/time.ts';
import { type Hours, withinHours } from './hours.ts';

/**
 * Which alerts an incident causes (rules 25 and 28). A "down" is one row for each channel. A row is
 * held while it is due later or inside cover, then due, then sent; it is dropped when the outage is
 * over before it was due. A "was_down" is due from the beginning.
 */
export type AlertEvent = 'down' | 'up' | 'closed' | 'was_down';
export type AlertState = 'held' | 'due' | 'sent' | 'dropped';
export type Alert = {
  readonly event: AlertEvent;
  readonly channel: string;
  readonly state: AlertState;
  /**
   * Of a down: confirmed_at + alert_after_s, whatever the cover. Of the others: when the incident
   * ended.
   */
  readonly due_at: number;
};

/**
 * The "down" rows of a confirmed incident, held until release() finds them due: one for each
 * channel, however often this runs (rule 28). When it runs again, the incident was retimed: held
 * rows get the new due time, sent rows stay.
 */
export function downs(
  rows: readonly Alert[],
  channels: readonly string[],
  due_at: number,
): Alert[] {
  return rows.length > 0
    ? rows
        .filter((row) => row.event === 'down' && row.state === 'held' && row.due_at !== due_at)
        .map((row) => ({ ...row, due_at }))
    : channels.map((channel) => ({ event: 'down', channel, state: 'held', due_at }));
}

/**
 * The rows of an outage that became known when it was over (rule 4). They are due: whether something
 * held it to its end is decided for each channel.
 */
export function late(rows: readonly Alert[], channels: readonly string[], due_at: number): Alert[] {
  return rows.length > 0
    ? []
    : channels.map((channel) => ({ event: 'was_down', channel, state: 'due', due_at }));
}

/**
 * Whether what we know of an incident is current, so that its "down" may leave. While a partition's
 * past is being decided after an absence, the outage may be over (rule 4). What the target itself
 * reported need not wait for that.
 */
export function mayNotify(is: {
  readonly isPastDecided: boolean;
  readonly isSaidByTarget: boolean;
}): boolean {
  return is.isPastDecided || is.isSaidByTarget;
}

type Release = { readonly is: 'due' } | { readonly is: 'held'; readonly until: number };

/**
 * Whether a held "down" may leave now: it is due and the monitor is not covered. Otherwise, when to
 * ask again. It uses the current cover before each attempt to send, so a window that was made,
 * moved by its group or deleted meanwhile counts.
 */
export function release(due_at: number, cover: readonly Interval[], now: number): Release {
  const time = Math.max(due_at, now);
  const inside = union(cover).find(({ from, to }) => from <= time && time < to);
  if (inside) return { is: 'held', until: inside.to };
  return due_at <= now ? { is: 'due' } : { is: 'held', until: due_at };
}

/**
 * The incident has ended: held rows are dropped, and exactly the channels that accepted its "down"
 * are notified. A held row that was due before the end, while nobody knew whether it lasted, is told
 * late (rule 4). Returns changed and new rows.
 */
export function settle(rows: readonly Alert[], event: 'up' | 'closed', at: number): Alert[] {
  if (rows.some((row) => row.event !== 'down')) return [];
  const dropped = rows
    .filter((row) => row.state === 'held')
    .map((row): Alert => ({ ...row, state: 'dropped' }));
  const missed =
    event === 'up' ? rows.filter((row) => row.state === 'held' && row.due_at < at) : [];
  const took = rows.filter((row) => row.state === 'due' || row.state === 'sent');
  return [
    ...dropped,
    ...missed.map((row): Alert => ({ ...row, event: 'was_down', state: 'due' })),
    ...took.map(({ channel }): Alert => ({ event, channel, state: 'due', due_at: at })),
  ];
}

/**
 * The bucket of a channel (rule 32). Two messages leave at once. What comes due after them is
 * gathered, for longer the more there was: it leaves together when nothing came for a while, or
 * when its oldest part has waited for long enough.
 */
export type Bucket = {
  /** When the bucket is full again: each message takes a time in which nothing waits. */
  readonly fullAt: number;
  /** Since when something waits here, and when the newest of it came; null when nothing waits. */
  readonly since: number | null;
  readonly newest: number | null;
};

type Gathered =
  | { readonly is: 'leaves'; readonly bucket: Bucket }
  | { readonly is: 'waits'; readonly until: number; readonly bucket: Bucket };

const second = 1_000;
const eachMs = 15 * second;
const atOnce = 2;
/** The windows of the third message and all after it. */
const windows = [
  { quietMs: 5 * second, mostMs: 20 * second },
  { quietMs: 15 * second, mostMs: 60 * second },
] as const;
const longestMs = 60 * second;
const most = 4;

export const fullBucket: Bucket = { fullAt: 0, since: null, newest: null };

/** What happens to what is due now. `more`: something of it came only now. */
export function gather(
  before: Bucket,
  { now, more }: { readonly now: number; readonly more: boolean },
): Gathered {
  // Neither a clock that was set back nor a step dropped while it waited makes anything wait
  // longer.
  const isGathering =
    before.since !== null && before.since <= now && now - before.since <= longestMs;
  const since = isGathering && before.since !== null ? before.since : now;
  const newest = isGathering && !more ? Math.min(before.newest ?? now, now) : now;
  const spent = Math.min(Math.max(before.fullAt - since, 0), most * eachMs);
  const place = Math.ceil(spent / eachMs) - atOnce;
  const window = place < 0 ? undefined : windows[place === 0 ? 0 : 1];
  const until =
    window === undefined ? now : Math.min(since + window.mostMs, newest + window.quietMs);
  if (until > now) return { is: 'waits', until, bucket: { fullAt: before.fullAt, since, newest } };
  const left = Math.min(spent, (most - 1) * eachMs) + eachMs;
  return { is: 'leaves', bucket: { fullAt: now + left, since: null, newest: null } };
}

/**
 * The monitors that a channel covers: all of its organisation, or chosen ones, themselves or by
 * their group (rule 30).
 */
type Coverage = {
  readonly covers: 'all' | 'chosen';
  readonly monitors: ReadonlySet<string>;
  readonly groups: ReadonlySet<string>;
};

/** The group is the monitor's group when its "down" becomes due. */
export function isCovered(
  { covers, monitors, groups }: Coverage,
  monitor: { readonly id: string; readonly group: string | null },
): boolean {
  return (
    covers === 'all' ||
    monitors.has(monitor.id) ||
    (monitor.group !== null && groups.has(monitor.group))
  );
}

/** Why a channel gets no notifications, whatever it covers; undefined when it gets them. */
export type DisabledReason = 'deleted' | 'off' | 'unproven' | 'unsubscribed';
type ChannelState = {
  readonly deleted: boolean;
  readonly enabled: boolean;
  readonly verified: boolean;
  readonly unsubscribed: boolean;
};

export function disabledReasonOf({
  deleted,
  enabled,
  verified,
  unsubscribed,
}: ChannelState): DisabledReason | undefined {
  if (deleted) return 'deleted';
  if (!enabled) return 'off';
  if (unsubscribed) return 'unsubscribed';
  return verified ? undefined : 'unproven';
}

type Delivering = {
  /** Since when every attempt failed; null when the last one did not fail. */
  readonly failing_since: number | null;
  /** When it refused a message for good, with none accepted since. */
  readonly refused_at: number | null;
};

/**
 * Why an alert would not arrive although the channel is on; undefined where nothing prevents it.
 */
type Obstacle = 'mail_missing' | 'failing';

export function obstacleOf(
  channel: Delivering & { readonly kind: string },
  hasMail: boolean,
  now: number,
): Obstacle | undefined {
  if (channel.kind === 'email' && !hasMail) return 'mail_missing';
  return isDelivering(channel, now) ? undefined : 'failing';
}

const minute = 60_000;
const failingMs = 60 * minute;

export function isDelivering({ failing_since, refused_at }: Delivering, now: number): boolean {
  return refused_at === null && (failing_since === null || now - failing_since < failingMs);
}

const ownersRepeatMs = 24 * 60 * minute;

/** Owners are notified once a day about a channel that does not deliver. */
export function isOwnerNotificationDue(
  channel: Delivering & { readonly owners_told_at: number | null },
  now: number,
): boolean {
  return (
    !isDelivering(channel, now) &&
    (channel.owners_told_at === null || now - channel.owners_told_at >= ownersRepeatMs)
  );
}

export const lastResortMs = 2 * minute;

/** A "down" that was being delivered, and that no one accepted in time. */
type UndeliveredAlert = { readonly first_told_at: number; readonly delivered: boolean };

export function isLastResort({ first_told_at, delivered }: UndeliveredAlert, now: number): boolean {
  return !delivered && now - first_told_at >= lastResortMs;
}

/** The channel's delivery state after a failed attempt or an accepted message. */
export function afterAttempt(
  before: Delivering,
  verdict: 'delivered' | 'retry' | 'refused',
  now: number,
): Delivering {
  if (verdict === 'delivered') return { failing_since: null, refused_at: null };
  return {
    failing_since: before.failing_since ?? now,
    refused_at: verdict === 'refused' ? (before.refused_at ?? now) : before.refused_at,
  };
}

/**
 * Whether a refusal that a proxy may have given in the receiver's place is believed (rule 31): once
 * the attempts of two minutes all had it.
 */
export function isBelieved({ attempts }: { readonly attempts: number }): boolean {
  return attempts > 4;
}

/** One outage of a monitor whose "down" became due. */
export type Outage = {
  readonly incident: string;
  readonly confirmed_at: number;
  readonly resolved_at: number | null;
};

/**
 * plain: notified as usual. flapping: notified once, as flapping. silent: a later outage, not
 * notified until the monitor was steady or is down for long.
 */
export type Flapping = 'plain' | 'flapping' | 'silent';
const within = 30 * minute;
const maxFlaps = 3;
/** Up for this long, the monitor has settled; down for this long, it is an ordinary outage. */
export const steadyMs = 15 * minute;
export const longMs = 5 * minute;
/** No need to look back further: an episode that goes on is silent by its own last outages. */
export const flappingMemoryMs = 24 * 60 * minute;

/** How the last of these outages of one monitor, in order of time, is notified (rule 37). */
export function flappingOf(outages: readonly Outage[]): Flapping {
  let is: Flapping = 'plain';
  let isEpisode = false;
  let recent: number[] = [];
  let rested = Number.NEGATIVE_INFINITY;
  for (const { confirmed_at, resolved_at } of outages) {
    if (isEpisode && confirmed_at - rested >= steadyMs) {
      isEpisode = false;
      recent = [];
    }
    if (isEpisode) is = 'silent';
    else {
      recent = [...recent.filter((at) => at > confirmed_at - within), confirmed_at];
      isEpisode = recent.length >= maxFlaps;
      is = isEpisode ? 'flapping' : 'plain';
    }
    const isLong = resolved_at !== null && resolved_at - confirmed_at >= longMs;
    if (isLong) {
      isEpisode = false;
      recent = [];
    }
    rested = resolved_at ?? Number.POSITIVE_INFINITY;
  }
  return is;
}

const dayMs = 86_400_000;

/**
 * How long after the previous notification the n-th reminder (from 1) comes: intervals double, up
 * to a day (rule 35).
 */
export function reminderAfter(reminder_s: number, n: number): number {
  return Math.min(reminder_s * 1_000 * 2 ** Math.min(n - 1, 20), dayMs);
}

/**
 * One event of one incident for one channel. It is due now, or held until a moment at which it is
 * decided again, or dropped for good. It is decided afresh each time, so that changes meanwhile
 * count.
 */
const stepEvents = [
  'down',
  'up',
  'was_down',
  'closed',
  'reminder',
  'acknowledged',
  'flapping',
] as const;
export type StepEvent = (typeof stepEvents)[number];
/** News of a warning (rule 44): it began or became more urgent, or it is over. */
export type WarningEvent = 'warning' | 'warning_over';

export type HeldBy =
  | 'delay'
  | 'flapping'
  | 'steadiness'
  | 'reminder'
  | 'maintenance'
  | 'mute'
  | 'hours'
  | 'dependency'
  | 'parent_check'
  | 'cause_check'
  | 'cause'
  | 'bucket'
  | 'down_on_its_way';
export type Because =
  | 'over'
  | 'acknowledged'
  | 'handed_back'
  | 'down_again'
  | 'never_told'
  | `channel_${DisabledReason}`;

type Step = {
  readonly event: StepEvent | WarningEvent;
  /** When the event became due for all channels. */
  readonly due_at: number;
  /** The earliest time: that of a reminder. */
  readonly not_before: number;
};

export type StepContext = {
  readonly incident: {
    readonly started_at: number;
    readonly confirmed_at: number;
    readonly ended_at: number | null;
    readonly acknowledged_at: number | null;
  };
  readonly channel: {
    readonly shut: DisabledReason | undefined;
    readonly delay_s: number;
    readonly hours: Hours | null;
  };
  /**
   * When maintenance covers the monitor: around now, or around the end of an incident that is over.
   */
  readonly cover: readonly Interval[];
  /** The end of the mute; for an incident that is over, the mute as it was at its end. */
  readonly muted_until: number | null;
  /** When monitors and groups that it depends on were down (rule 47). */
  readonly parents: readonly ParentOutage[];
  /** When it waits for one of them that has not answered yet; null: it does not. */
  readonly parents_awaited: Interval | null;
  /** The cause that it has in common with other outages, for a channel that people read (rule 51). */
  readonly cause: CauseToTell | null;
  readonly flapping: Flapping;
  /**
   * For the end of an outage of a flapping monitor: whether the notification waits until the
   * monitor was steady, and whether it went down since.
   */
  readonly waits_for_steadiness: boolean;
  readonly down_again: boolean;
  /**
   * A "down" that was due, and waits only to leave with others (rule 32): it is sent even when the
   * incident is over or acknowledged by then.
   */
  readonly gathered: boolean;
};

export type StepOutcome =
  | { readonly is: 'due'; readonly as?: 'was_down' }
  | {
      readonly is: 'held';
      readonly by: HeldBy;
      readonly until: number;
      /** The parent that is down. */
      readonly parent?: string;
    }
  | { readonly is: 'dropped'; readonly because: Because };

export function decideStep(step: Step, around: StepContext, now: number): StepOutcome {
  const { incident, channel } = around;
  if (channel.shut !== undefined) return dropped(`channel_${channel.shut}`);
  if (step.event === 'up' || step.event === 'was_down') {
    if (around.cause !== null && around.down_again) return dropped('down_again');
    const together = step.event === 'up' ? togetherUntil(step, around) : now;
    if (together > now) return { is: 'held', by: 'cause', until: together };
    if (!around.waits_for_steadiness) return { is: 'due' };
    if (around.down_again) return dropped('down_again');
    const steady = step.due_at + steadyMs;
    return steady <= now ? { is: 'due' } : { is: 'held', by: 'steadiness', until: steady };
  }
  if (step.event === 'closed') return { is: 'due' };
  if (incident.ended_at !== null) {
    if (!wasDue(step, around, incident.ended_at)) return dropped('over');
    return step.event === 'down' ? { is: 'due', as: 'was_down' } : { is: 'due' };
  }
  if (step.event === 'acknowledged') return { is: 'due' };
  return decideOpenStep(step, around, now);
}

function dropped(because: Because): StepOutcome {
  return { is: 'dropped', because };
}

/**
 * Whether the "down" was due before the incident was over. It is then sent, however late, as one
 * that was down (rule 31). A "down" that was held until the end is never sent.
 */
function wasDue(step: Step, around: StepContext, ended_at: number): boolean {
  return (
    (step.event === 'down' || step.event === 'flapping') &&
    (around.gathered ||
      (step.due_at <= ended_at && decideOpenStep(step, asTold(around), ended_at).is === 'due'))
  );
}

/** Decides a step of an incident that is open at `now`. */
function decideOpenStep(step: Step, around: StepContext, now: number): StepOutcome {
  const { incident, channel } = around;
  const isEnded = incident.acknowledged_at !== null;
  // A "down" that is due at once for everyone also goes to a channel planned a moment after someone
  // acknowledged the incident.
  const acknowledgedAfter = (incident.acknowledged_at ?? 0) - step.due_at;
  const isLater =
    step.event === 'reminder' ||
    channel.delay_s > 0 ||
    acknowledgedAfter < 0 ||
    acknowledgedAfter > 1_000;
  if (isEnded && isLater && !around.gathered) return dropped('acknowledged');
  return holdOf(step, around, now);
}

/** The first thing that holds a "down". */
function holdOf(step: Step, around: StepContext, now: number): StepOutcome {
  const { incident, channel, cover, muted_until, flapping, parents_awaited: wait } = around;
  const holds: [HeldBy, number][] = [];
  if (step.event === 'down') holds.push(['delay', step.due_at + channel.delay_s * 1_000]);
  if (step.event === 'down' && flapping !== 'plain')
    holds.push(['flapping', incident.confirmed_at + longMs]);
  if (step.event === 'reminder') holds.push(['reminder', step.not_before]);
  const inside = union(cover).find(({ from, to }) => from <= now && now < to);
  if (inside) holds.push(['maintenance', inside.to]);
  if (muted_until !== null) holds.push(['mute', muted_until]);
  if (channel.hours !== null) holds.push(['hours', withinHours(channel.hours, now)]);
  const first = holds.find(([, until]) => until > now);
  if (first !== undefined) return { is: 'held', by: first[0], until: first[1] };
  if (step.event !== 'down' && step.event !== 'flapping') return { is: 'due' };
  const parent = around.parents.find(
    ({ from, over_at, to }) =>
      from <= now && now < to && (over_at === null || incident.started_at <= over_at),
  );
  if (parent) return { is: 'held', by: 'dependency', until: parent.to, parent: parent.called };
  if (wait !== null && wait.from <= now && now < wait.to)
    return { is: 'held', by: 'parent_check', until: wait.to };
  return step.event === 'down' ? holdByCause(step, around, now) : { is: 'due' };
}

/** What a channel was told of the cause of an outage, and of how many monitors it is the cause now. */
export type CauseToTell = {
  readonly found_at: number;
  readonly ended_at: number | null;
  /** When one of its outages last ended. */
  readonly last_end: number | null;
  readonly known: number;
  /** How many there were when it was told; null: it was not. */
  readonly told: number | null;
  readonly told_at: number | null;
  /** Whether this outage was told before, or one of the same monitor by the same cause. */
  readonly was_told: boolean;
};

/** How long an outage waits that may have a cause with others, while those that share it are asked. */
export const causeCheckMs = 2 * second;
/** How long a cause gathers its outages before it is told. */
export const causeSettledMs = 1 * second;
/** A message of a cause leaves when it is found, and again each time when its outages have more than doubled. */
const growth = 2;
/** Most of what fails by a cause is checked within this time, and told together. */
export const causeGrowsMs = 1 * minute;
/** Outages of one cause are over together: not before none has ended for so long. */
const endsTogetherMs = 2 * minute;
/** Nothing waits for others longer than this. */
const longestTogetherMs = 10 * minute;

function holdByCause({ due_at }: Step, { cause, channel }: StepContext, now: number): StepOutcome {
  if (cause === null || cause.ended_at !== null || cause.was_told) return { is: 'due' };
  const settled = cause.found_at + causeSettledMs;
  if (settled > now) return { is: 'held', by: 'cause_check', until: settled };
  if (cause.told === null) return { is: 'due' };
  const hasGrown = cause.known > growth * cause.told;
  const until = Math.min(
    due_at + channel.delay_s * second + longestTogetherMs,
    hasGrown ? (cause.told_at ?? now) + causeGrowsMs : Number.POSITIVE_INFINITY,
  );
  return until <= now ? { is: 'due' } : { is: 'held', by: 'cause', until };
}

/** An outage that ends before its cause was told is told itself. */
function asTold(around: StepContext): StepContext {
  return around.cause?.told === null ? { ...around, cause: null } : around;
}

/** Until when the end of an outage waits for that of the others. */
function togetherUntil({ due_at }: Step, { cause }: StepContext): number {
  if (cause === null || cause.ended_at !== null) return due_at;
  return Math.min((cause.last_end ?? due_at) + endsTogetherMs, due_at + longestTogetherMs);
}

/**
 * When a monitor that this one depends on is down, or a group. Its own "down" is held meanwhile; if
 * it was down by then, also for one round of its own, which shows whether it came back too (rule
 * 47).
 */
export type ParentOutage = Interval & {
  readonly called: string;
  /** When the parent was back. */
  readonly over_at: number | null;
};

/** However seldom it is checked. */
export const longestRoundMs = 10 * minute;
/** A check, and what it takes to confirm or to refute it. */
const answerMs = 15 * second;
/** While it lasts nobody knows until when, so it is decided again after an hour. */
const outageAgainMs = 60 * minute;

export function parentOutage(
  row: {
    readonly called: string;
    readonly started_at: number;
    readonly resolved_at: number | null;
    /** Of the monitor that depends on it. */
    readonly interval_s: number;
  },
  now: number,
): ParentOutage {
  const { called, started_at: from, resolved_at, interval_s } = row;
  const to =
    resolved_at === null
      ? now + outageAgainMs
      : resolved_at + Math.min(interval_s * 1_000, longestRoundMs) + answerMs;
  return { called, from, over_at: resolved_at, to };
}

/**
 * How long a "down" waits for parents that were asked when it was confirmed: an outage is often
 * seen first at what depends on its cause. Whatever becomes of the answer, it is told after that.
 */
export function waitForParents(planned_at: number): Interval {
  return { from: planned_at, to: planned_at + answerMs };
}

/** Whether a parent is shown to be well by its checks since then. */
export function passesSince(
  checks: readonly { readonly outcome: 'ok' | 'fail' | 'unknown' }[],
): boolean {
  return (
    checks.some(({ outcome }) => outcome === 'ok') &&
    checks.every(({ outcome }) => outcome !== 'fail')
  );
}

const longestWait_s = 86_400;

/**
 * How long a channel waits before it is notified (rule 33) and before it is reminded (rule 35), and
 * how long all channels are held (rule 36).
 *
 * @throws Refusal `channel_invalid`.
 */
export function delayFrom(delay_s: number): number {
  if (delay_s >= 0 && delay_s <= longestWait_s) return delay_s;
  throw new Refusal('channel_invalid', {
    delay_s: `must be from 0 (at once) to ${longestWait_s} seconds.`,
  });
}

/** No reminders come more often than this. */
const shortestReminder_s = 60;

/** Null: never. @throws Refusal `channel_invalid`. */
export function reminderFrom(reminder_s: number): number | null {
  if (!(reminder_s >= 0 && reminder_s <= longestWait_s))
    throw new Refusal('channel_invalid', {
      reminder_s: `must be from 0 (never) to ${longestWait_s} seconds.`,
    });
  return reminder_s === 0 ? null : Math.max(shortestReminder_s, reminder_s);
}

/** @throws Refusal `mute_invalid`. */
export function muteFrom(minutes: number): number {
  if (minutes >= 1 && minutes <= longestMute_min) return minutes;
  throw new Refusal('mute_invalid', {
    minutes: `must be from 1 to ${longestMute_min}, which is a week.`,
  });
}
