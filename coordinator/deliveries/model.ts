/**
 * What an answer means. `words`: a clause of our own, for the channel's page ("Slack does not know
 * this webhook any more").
 */
export type Verdict =
  /** `reference`: the receiver's name for the message, used to reply to it later. */
  | { readonly is: 'delivered'; readonly reference?: string }
  /** `after_s`: the earliest that the receiver wants another attempt. */
  | { readonly is: 'retry'; readonly words: string; readonly after_s?: number }
  /**
   * It will never be accepted like this: someone has to act. `doubted`: unless a proxy in front of
   * the receiver said so, because the receiver restarts.
   */
  | { readonly is: 'refused'; readonly words: string; readonly doubted?: boolean };

export type Answered = {
  /** `gone`: the receiver wants no more, ever. `cancelled`: there was nothing to say any more. */
  readonly verdict: Verdict | { readonly is: 'gone' | 'cancelled' };
  readonly status: number | null;
  readonly class: string | null;
  /** The beginning of what was answered, where the log shows it. */
  readonly answer?: string | null;
};

/** When what was not accepted is tried again. */
export type Pauses = {
  /** After each attempt; what is not accepted after all of them is given up. */
  readonly afterMs: readonly number[];
  /** A receiver may ask for a later time, but for no longer pause than this. */
  readonly longestAskedMs: number;
  /** The part by which a pause may be longer, so that what failed together is not retried together. */
  readonly jitter?: number;
};

const second = 1_000;
const hour = 3_600 * second;

const pauses = [1 * second, 5 * second, 30 * second, 120 * second, 600 * second] as const;
const dayOfHours = 24;

/** After 1 s, 5 s, 30 s, 2 min and 10 min, then hourly for a day (rule 31). */
export const usualPauses: Pauses = {
  afterMs: [...pauses, ...Array.from({ length: dayOfHours }, () => hour)],
  longestAskedMs: hour,
};

/**
 * When the next attempt is due; null when this was the last. @param chance From 0 to 1.
 */
export function nextAttempt(
  { afterMs, longestAskedMs, jitter = 0 }: Pauses,
  {
    attempts,
    after_s = 0,
  }: {
    /** Including this one. */
    readonly attempts: number;
    /** The earliest that the receiver wants another attempt. */
    readonly after_s: number | undefined;
  },
  now: number,
  chance: number,
): number | null {
  const pause = afterMs[attempts - 1];
  if (pause === undefined) return null;
  const asked = Math.min(after_s * second, longestAskedMs);
  return now + Math.round(Math.max(pause, asked) * (1 + jitter * chance));
}
