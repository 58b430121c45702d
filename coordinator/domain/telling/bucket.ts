import { allTellingRules, type TellingRules } from './telling-rules.ts';

/**
 * The bucket of a channel (rule 32): three messages at once, one more every five seconds. All that it needs to remember is when it will be
 * full again.
 */
const size = 3;
const refillMs = 5_000;

export type Bucket = { readonly is: 'open'; readonly fullAt: number } | { readonly is: 'empty'; readonly until: number };

/** Whether a message may leave now, and when the bucket is full again once it has left; else when one may. */
export const takeFrom = (fullAt: number, now: number, rules: TellingRules = allTellingRules): Bucket => {
  if (!rules.bucket_gathers) return { is: 'open', fullAt: now };
  // A clock that was set back must not keep a bucket empty for longer than it ever is.
  const known = Math.min(Math.max(fullAt, now), now + size * refillMs);
  const most = rules.first_is_undelayed ? size : 0;
  const until = known - (most - 1) * refillMs;
  return until <= now ? { is: 'open', fullAt: known + refillMs } : { is: 'empty', until };
};
