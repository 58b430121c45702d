import { type Clock, systemClock } from '../../shared/base/time.ts';

/**
 * What a coordinator dates by: its machine's clock, or the database's where the two differ by more than 2 s. Time never runs back within a process:
 * what is ahead goes at half its pace until the right time has come up with it.
 *
 * Modes: `own` → (they differ by over 2 s, whatever the question's way took) `database's` → (by less than 1 s) `own`.
 */
export type DatabaseClock = Clock & {
  /** A question left at `sent` and was answered at `received`, both by `steady`; the database's clock then showed `theirs`. */
  readonly observe: (seen: TimeSeen) => void;
  /** By how much the machine's clock is ahead (behind: negative), while the database's is what counts. */
  readonly differenceMs: () => number | undefined;
};

export type TimeSeen = { readonly sent: number; readonly received: number; readonly theirs: number };

const beginsAboveMs = 2_000;
const endsBelowMs = 1_000;
/** What took longer tells too little. */
const longestTripMs = 4_000;

export const createDatabaseClock = (host: Clock = systemClock, steady: () => number = () => performance.now()): DatabaseClock => {
  let difference: number | undefined;
  /** The database's time at the zero of the steady clock. */
  let zero = 0;
  let isMeasured = false;
  let last = Number.NEGATIVE_INFINITY;
  let lastAt = steady();

  return {
    now: () => {
      const at = steady();
      const right = difference === undefined ? host.now() : Math.round(zero + at);
      // Before the database was there nothing has been dated.
      if (!isMeasured) return right;
      last = Math.max(right, last + (at - lastAt) / 2);
      lastAt = at;
      return Math.floor(last);
    },
    observe: ({ sent, received, theirs }) => {
      const trip = received - sent;
      if (trip < 0 || trip > longestTripMs) return;
      const theirZero = theirs - (sent + received) / 2;
      const ahead = host.now() - (theirZero + steady());
      const isFar = difference === undefined ? Math.abs(ahead) - trip / 2 > beginsAboveMs : Math.abs(ahead) + trip / 2 >= endsBelowMs;
      difference = isFar ? Math.round(ahead) : undefined;
      zero = theirZero;
      isMeasured = true;
    },
    differenceMs: () => difference,
  };
};
