import type { Check, CheckContext } from '../../probe/checks/check.ts';
import { deadlineIn } from '../../probe/checks/check-deadline.ts';
import { systemClock } from '../../shared/base/clock.ts';
import type { Assignment } from '../../shared/checks/assignment.ts';
import type { Outcome } from '../../shared/checks/result.ts';

/** One check with a time limit of its own, as the runner gives it. */
export const performOnce = async (check: Check, guard: CheckContext['guard'], assignment: Assignment): Promise<Outcome> => {
  const deadline = deadlineIn(assignment.timeout_ms);
  const { outcome } = await check({
    assignment,
    started_at: systemClock.now(),
    deadline,
    evidence_wanted: false,
    guard,
    probe: { name: 'bench', continent: 'Europe', base_url: 'https://antipode.example', version: '0' },
    clock: systemClock,
  });
  deadline.settle();
  return outcome;
};

/** So many checks at any time, one after the other, until the time is over. */
export const keepChecking = async (
  { in_flight, ms }: { readonly in_flight: number; readonly ms: number },
  perform: () => Promise<Outcome>,
): Promise<object> => {
  const before = process.cpuUsage();
  let isOver = false;
  setTimeout(() => {
    isOver = true;
  }, ms);
  let checks = 0;
  let failed = 0;
  const lane = async (): Promise<void> => {
    while (!isOver) {
      if ((await perform()) !== 'ok') failed += 1;
      checks += 1;
    }
  };
  await Promise.all(Array.from({ length: in_flight }, lane));
  const { user, system } = process.cpuUsage(before);
  return { checks, failed, cpu_ms: (user + system) / 1_000 };
};
