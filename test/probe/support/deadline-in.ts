import { performance } from 'node:perf_hooks';
import { CheckDeadline } from '../../../probe/checks/limits.ts';

/** A deadline so many milliseconds from now. */
export const deadlineIn = (ms: number): CheckDeadline => {
  const now = performance.now();
  return new CheckDeadline(now, now + ms);
};
