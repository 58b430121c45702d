import type { Clock } from '../../shared/base/clock.ts';
import type { Log } from '../../shared/base/log.ts';
import type { Assignment } from '../../shared/checks/checks-assignment.ts';
import type { Verdict } from '../../shared/checks/checks-result.ts';
import type { ProbeIdentity } from '../checks/check.ts';
import type { CheckDeadline } from '../checks/check-deadline.ts';
import type { Guard } from '../checks/check-guard.ts';
import { chargedTo, uncharged } from '../checks/check-own-fault.ts';
import type { CheckRun } from './checking-run.ts';

/** The guard of one check, which keeps the addresses that the check set out for. */
class AskedGuard implements Guard {
  readonly asked: string[] = [];
  readonly #guard: Guard;

  constructor(guard: Guard) {
    this.#guard = guard;
  }

  allows(address: string, port: number): boolean {
    this.asked.push(address);
    return this.#guard.allows(address, port);
  }

  isOutside(address: string): boolean {
    return this.#guard.isOutside(address);
  }

  isOwnLimit(...asked: Parameters<Guard['isOwnLimit']>): boolean {
    return this.#guard.isOwnLimit(...asked);
  }
}

const internalFault: Verdict = { outcome: 'unknown', cause: { class: 'probe_internal', params: {} }, phases: null, evidence: {} };

/** Performs one check with what it needs of the probe; whatever it throws, at once or in a later turn, is a fault of our own, and becomes its verdict. */
export type Performing = (
  run: CheckRun,
  startedAt: number,
  deadline: CheckDeadline,
  ended: (verdict: Verdict, asked: readonly string[]) => void,
) => void;

export const createPerforming = (parts: {
  readonly guard: Guard;
  readonly identity: () => ProbeIdentity;
  readonly unseal: (assignment: Assignment) => Assignment;
  readonly clock: Clock;
  readonly log: Log;
}): Performing => {
  const { identity, unseal, clock, log } = parts;
  /** The last fault of our own that was logged for a monitor. */
  const told = new Map<string, string>();

  const faultOf = (error: unknown, { monitor, kind }: Assignment): Verdict => {
    const text = error instanceof Error ? error.message : String(error);
    // The same fault of the same monitor comes with every check.
    if (told.get(monitor) !== text) log.error({ err: error, monitor, kind }, 'a check failed in our own code');
    told.set(monitor, text);
    return internalFault;
  };

  return (run, startedAt, deadline, ended) => {
    const { check, assignment, looks } = run;
    const guard = new AskedGuard(parts.guard);
    let isEnded = false;
    const settled = (verdict: Verdict): void => {
      if (isEnded) return;
      isEnded = true;
      uncharged(() => ended(verdict, guard.asked));
    };
    const failed = (error: unknown): void => {
      const verdict = faultOf(error, assignment);
      if (isEnded) return;
      isEnded = true;
      // What of it is still under way stops as at its time limit, and is not heard any more.
      uncharged(() => deadline.end());
      uncharged(() => ended(verdict, guard.asked));
    };
    chargedTo(failed, () => {
      const whole = assignment.sealed === null ? assignment : unseal(assignment);
      const probe = identity();
      check(
        { assignment: whole, started_at: startedAt, deadline, evidence_wanted: looks.length > 0, guard, probe, clock },
        settled,
        failed,
      );
    });
  };
};
