import type { Verdict } from '../../shared/checks/result.ts';
import { slowAfterMs } from './paces.ts';

/** What the last check of each monitor here was like. A monitor is known if its last check was slow, or failed. */
export type LastChecks = {
  readonly isSlow: (monitor: string) => boolean;
  /** Returns whether it is news, which is urgent: a failure, or the first pass after failures. */
  readonly note: (monitor: string, outcome: Verdict['outcome'], lastedMs: number) => boolean;
};

export const createLastChecks = (): LastChecks => {
  const slow = new Set<string>();
  const failing = new Set<string>();
  return {
    isSlow: (monitor) => slow.has(monitor),
    note: (monitor, outcome, lastedMs) => {
      if (lastedMs > slowAfterMs) slow.add(monitor);
      else slow.delete(monitor);
      if (outcome === 'fail') {
        failing.add(monitor);
        return true;
      }
      return outcome === 'ok' && failing.delete(monitor);
    },
  };
};
