import { createRequestSigner } from '../../probe/checks/https/signer.ts';
import type { Check, CheckContext, ProbeIdentity } from '../../probe/checks/types.ts';
import { createRequestKey } from '../../shared/base/http-signatures.ts';
import { systemClock } from '../../shared/base/time.ts';
import type { Assignment } from '../../shared/checks/assignment.ts';
import type { Outcome } from '../../shared/checks/result.ts';
import { deadlineIn } from '../probe/support/checkers.ts';

const probe: ProbeIdentity = {
  name: 'bench',
  continent: 'Europe',
  base_url: 'https://antipode.example',
  version: '0',
  // As a public probe.
  sign: createRequestSigner(createRequestKey(), 'https://antipode.example'),
};

/** Performs one check, and tells what it came to. */
export type Perform = (ended: (outcome: Outcome) => void) => void;

/**
 * One check with a time limit of its own, as the runner gives it; a fault of our own is told of as
 * `unknown`, as the runner does.
 */
export const performOnce =
  (check: Check, guard: CheckContext['guard'], assignment: Assignment): Perform =>
  (ended) => {
    const deadline = deadlineIn(assignment.timeout_ms);
    const settled = (outcome: Outcome): void => {
      deadline.settle();
      ended(outcome);
    };
    check({
      assignment,
      started_at: systemClock.now(),
      deadline,
      evidence_wanted: false,
      guard,
      probe,
      clock: systemClock,
    }).then(
      ({ outcome }) => settled(outcome),
      () => settled('unknown'),
    );
  };

/** So many checks at any time, one after the other, until the time is over. */
export const keepChecking = (
  { in_flight, ms }: { readonly in_flight: number; readonly ms: number },
  perform: Perform,
): Promise<{ readonly checks: number; readonly failed: number; readonly cpu_ms: number }> =>
  new Promise((resolve) => {
    const before = process.cpuUsage();
    let isOver = false;
    let running = in_flight;
    let checks = 0;
    let failed = 0;
    const next = (outcome: Outcome): void => {
      checks += 1;
      if (outcome !== 'ok') failed += 1;
      if (!isOver) perform(next);
      else {
        running -= 1;
        if (running === 0) told();
      }
    };
    const told = (): void => {
      const { user, system } = process.cpuUsage(before);
      resolve({ checks, failed, cpu_ms: (user + system) / 1_000 });
    };
    setTimeout(() => {
      isOver = true;
    }, ms);
    for (let nth = 0; nth < in_flight; nth += 1) perform(next);
  });
