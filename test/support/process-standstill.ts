/** For test files: when this process had no turn. It is target, probe and coordinator at once, so that nothing can be on time then. */

export type Standstill = {
  /** How long it stood still between these moments (of Date.now()). */
  readonly between: (from: number, until: number) => number;
  readonly stop: () => void;
};

const everyMs = 20;
const noticeableMs = 120;

export const watchStandstill = (): Standstill => {
  const stretches: { readonly from: number; readonly until: number }[] = [];
  let seenAt = Date.now();
  const look = (): void => {
    const now = Date.now();
    if (now - seenAt > everyMs + noticeableMs) stretches.push({ from: seenAt, until: now });
    seenAt = now;
  };
  const timer = setInterval(look, everyMs);
  return {
    between: (from, until) => {
      // One that goes on until now has not been noticed by the timer yet.
      look();
      return stretches.reduce((sum, each) => sum + Math.max(0, Math.min(until, each.until) - Math.max(from, each.from)), 0);
    },
    stop: () => clearInterval(timer),
  };
};
