import type { WarningCode } from '../../shared/checks/warnings.ts';

/**
 * Rule 52: how fast an error budget is spent. At a rate of 1 it lasts exactly as long as its period;
 * the share of time that is down in a window, divided by the share that may be.
 */
export type BurnWindows = {
  readonly code: Extract<WarningCode, 'burns_fast' | 'burns_slowly'>;
  readonly short_minutes: number;
  readonly long_minutes: number;
  /** Both windows must burn faster than this. */
  readonly factor: number;
};

/** In the long windows these spend 2 %, 5 % and 10 % of the budget of 30 days. */
export const burnWindows: readonly BurnWindows[] = [
  { code: 'burns_fast', short_minutes: 5, long_minutes: 60, factor: 14.4 },
  { code: 'burns_fast', short_minutes: 30, long_minutes: 360, factor: 6 },
  { code: 'burns_slowly', short_minutes: 360, long_minutes: 4_320, factor: 1 },
];

/** The time that counts in a window. */
type Counted = { readonly countedUp: number; readonly countedDown: number };

export function burnRate({ countedUp, countedDown }: Counted, target: number): number {
  const known = countedUp + countedDown;
  return known === 0 ? 0 : (countedDown * 1_000_000) / (known * sparedMillionths(target));
}

/** Targets have four decimals. */
function sparedMillionths(target: number): number {
  return 1_000_000 - Math.round(target * 10_000);
}

export type Burn = BurnWindows & {
  readonly short_rate: number;
  readonly long_rate: number;
  readonly burns: boolean;
};

/** @param sumsOf what counts in the last minutes. */
export function burnOf(target: number, sumsOf: (minutes: number) => Counted): readonly Burn[] {
  return burnWindows.map((windows) => {
    const [short, long] = [sumsOf(windows.short_minutes), sumsOf(windows.long_minutes)];
    return {
      ...windows,
      short_rate: burnRate(short, target),
      long_rate: burnRate(long, target),
      burns: [short, long].every((sums) => exceeds(sums, target, windows.factor)),
    };
  });
}

/** Exact, where a rate as a number is rounded: all monitors of a large group have many milliseconds. */
function exceeds({ countedUp, countedDown }: Counted, target: number, factor: number): boolean {
  const allowed = BigInt(Math.round(factor * 10)) * BigInt(sparedMillionths(target));
  return BigInt(countedDown) * 10_000_000n > BigInt(countedUp + countedDown) * allowed;
}
