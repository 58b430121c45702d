import { allTellingRules, type TellingRules } from './telling-rules.ts';

/** What a channel is told of: all monitors of its organisation, or those that were chosen, themselves or by their group (rule 30). */
export type Coverage = {
  readonly covers: 'all' | 'chosen';
  readonly monitors: ReadonlySet<string>;
  readonly groups: ReadonlySet<string>;
};

/** The group is the one that the monitor is in when its "down" becomes due. */
export const isCovered = (
  { covers, monitors, groups }: Coverage,
  monitor: { readonly id: string; readonly group: string | null },
  rules: TellingRules = allTellingRules,
): boolean => covers === 'all' || !rules.covered_only || monitors.has(monitor.id) || (monitor.group !== null && groups.has(monitor.group));

/** Why a channel is told of nothing, whatever it covers; undefined when it is told. */
export type ShutBy = 'deleted' | 'off' | 'unproven' | 'unsubscribed';
export type ChannelState = {
  readonly deleted: boolean;
  readonly enabled: boolean;
  readonly verified: boolean;
  readonly unsubscribed: boolean;
};

export const shutBy = ({ deleted, enabled, verified, unsubscribed }: ChannelState): ShutBy | undefined => {
  if (deleted) return 'deleted';
  if (!enabled) return 'off';
  if (unsubscribed) return 'unsubscribed';
  return verified ? undefined : 'unproven';
};

/** Whether a channel delivers, and who is told when none does (rule 38). */

const minute = 60_000;
const failingMs = 60 * minute;
export const lastResortMs = 2 * minute;
const ownersAgainMs = 24 * 60 * minute;

type Delivering = {
  /** Since when every attempt failed; null: the last one did not. */
  readonly failing_since: number | null;
  /** When it refused something for good, with nothing taken since. */
  readonly refused_at: number | null;
};

export const isDelivering = ({ failing_since, refused_at }: Delivering, now: number): boolean =>
  refused_at === null && (failing_since === null || now - failing_since < failingMs);

/** Why an alert would not arrive, though nobody shut the channel; undefined where nothing is known against it. */
export type Obstacle = 'mail_missing' | 'failing';

export const obstacleOf = (channel: Delivering & { readonly kind: string }, hasMail: boolean, now: number): Obstacle | undefined => {
  if (channel.kind === 'email' && !hasMail) return 'mail_missing';
  return isDelivering(channel, now) ? undefined : 'failing';
};

/** Owners hear of a channel that does not deliver once a day. */
export const areOwnersToldNow = (channel: Delivering & { readonly owners_told_at: number | null }, now: number): boolean =>
  !isDelivering(channel, now) && (channel.owners_told_at === null || now - channel.owners_told_at >= ownersAgainMs);

/** A "down" that was on its way to somebody, and that nobody took in time. */
type Untaken = { readonly first_told_at: number; readonly taken: boolean };

export const isLastResort = ({ first_told_at, taken }: Untaken, now: number, rules: TellingRules = allTellingRules): boolean =>
  rules.last_resort && !taken && now - first_told_at >= lastResortMs;

/** What a failed attempt or a taken message makes of a channel. */
export const afterAttempt = (before: Delivering, verdict: 'taken' | 'retry' | 'refused', now: number): Delivering => {
  if (verdict === 'taken') return { failing_since: null, refused_at: null };
  return { failing_since: before.failing_since ?? now, refused_at: verdict === 'refused' ? (before.refused_at ?? now) : before.refused_at };
};

const second = 1_000;
const hour = 3_600 * second;
const pauses = [1 * second, 5 * second, 30 * second, 120 * second, 600 * second] as const;
const dayOfHours = 24;

type Again = { readonly is: 'again'; readonly at: number } | { readonly is: 'given up' };

/**
 * When a message is tried again that was tried so many times (rule 31): after 1 s, 5 s, 30 s, 2 min, 10 min, then hourly for a day. The receiver
 * may want it later than that, but cannot put it off for longer than an hour.
 */
export const tryAgain = (
  { attempts, after_s }: { readonly attempts: number; readonly after_s: number | undefined },
  now: number,
  rules: TellingRules = allTellingRules,
): Again => {
  if (attempts >= pauses.length + dayOfHours + 1) return { is: 'given up' };
  const pause = rules.backs_off ? (pauses[attempts - 1] ?? hour) : second;
  const wanted = after_s === undefined ? 0 : Math.min(Math.max(after_s, 0) * second, hour);
  return { is: 'again', at: now + Math.max(pause, wanted) };
};
