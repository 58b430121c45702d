import { allTellingRules, type TellingRules } from './telling-rules.ts';

/**
 * The bucket of a channel (rule 32): two messages leave at once. Of what comes due after them more is gathered the more there was: it leaves
 * together when nothing came for a while, or when the oldest of it waited for long enough.
 */
export type Bucket = {
  /** When all that left is forgotten: each message counts for so long in which nothing waits. */
  readonly fullAt: number;
  /** Since when something waits here, and when the newest of it came; null when nothing does. */
  readonly since: number | null;
  readonly newest: number | null;
};

export type Gathered =
  | { readonly is: 'leaves'; readonly bucket: Bucket }
  | { readonly is: 'waits'; readonly until: number; readonly bucket: Bucket };

const second = 1_000;
const eachMs = 15 * second;
const atOnce = 2;
/** The third, and all after it. */
const windows = [
  { quietMs: 5 * second, mostMs: 20 * second },
  { quietMs: 15 * second, mostMs: 60 * second },
] as const;
const longestMs = 60 * second;
const most = 4;

export const fullBucket: Bucket = { fullAt: 0, since: null, newest: null };

/** What becomes of what is due now. `more`: something of it came only now. */
export const gather = (
  before: Bucket,
  { now, more }: { readonly now: number; readonly more: boolean },
  rules: TellingRules = allTellingRules,
): Gathered => {
  if (!rules.bucket_gathers) return { is: 'leaves', bucket: { ...fullBucket, fullAt: now } };
  // Neither a clock that was set back nor what was dropped while it waited makes anybody wait for longer.
  const isGathering = before.since !== null && before.since <= now && now - before.since <= longestMs;
  const since = isGathering && before.since !== null ? before.since : now;
  const newest = isGathering && !more ? Math.min(before.newest ?? now, now) : now;
  const spent = Math.min(Math.max(before.fullAt - since, 0), most * eachMs);
  const place = Math.ceil(spent / eachMs) - (rules.first_is_undelayed ? atOnce : 0);
  const window = place < 0 ? undefined : windows[place === 0 || !rules.gathering_grows ? 0 : 1];
  const until = window === undefined ? now : Math.min(since + window.mostMs, newest + window.quietMs);
  if (until > now) return { is: 'waits', until, bucket: { fullAt: before.fullAt, since, newest } };
  const left = Math.min(spent, (most - 1) * eachMs) + eachMs;
  return { is: 'leaves', bucket: { fullAt: now + left, since: null, newest: null } };
};
