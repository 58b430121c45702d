import type { Continent } from '../../shared/base/continents.ts';
import type { Clock } from '../../shared/base/time.ts';
import type { Assignment } from '../../shared/checks/assignment.ts';
import type { Verdict } from '../../shared/checks/result.ts';
import type { Guard } from './guard.ts';
import type { CheckDeadline } from './limits.ts';

/** Who is checking: what a probe says of itself to a target. */
export type ProbeIdentity = {
  readonly name: string;
  readonly continent: Continent;
  readonly base_url: string;
  readonly version: string;
};

export type CheckContext = {
  /** What to check; secrets stand in its config as they are to be used. The same object for the same version lets a check reuse what it prepared. */
  readonly assignment: Assignment;
  /** When the check starts, by the corrected clock: the time of its result, and the time that certificates are judged by. */
  readonly started_at: number;
  /** Over when the monitor's time limit is, or when the probe stops; nothing of a check outlives it. */
  readonly deadline: CheckDeadline;
  /** Whether evidence is wanted for a success too (answers to looks); with a failure it always is. */
  readonly evidence_wanted: boolean;
  readonly guard: Guard;
  readonly probe: ProbeIdentity;
  readonly clock: Clock;
};

/** Performs one check. Never rejects for a fault of the target; what it throws is a fault of our own (`probe_internal`). */
export type Check = (context: CheckContext) => Promise<Verdict>;

/** The same without a promise, which costs as much as reading a datagram: tells its verdict, or a fault of our own, once, at once or later. */
export type CallbackCheck = (context: CheckContext, ended: (verdict: Verdict) => void, failed: (error: unknown) => void) => void;

export const told =
  (check: Check): CallbackCheck =>
  (context, ended, failed) =>
    void check(context).then(ended, failed);
