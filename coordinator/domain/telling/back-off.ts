import { allTellingRules, type TellingRules } from './telling-rules.ts';

const second = 1_000;
const hour = 3_600 * second;
const pauses = [1 * second, 5 * second, 30 * second, 120 * second, 600 * second] as const;
const dayOfHours = 24;

export type Again = { readonly is: 'again'; readonly at: number } | { readonly is: 'given up' };

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
