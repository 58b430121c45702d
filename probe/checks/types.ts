import type { Continent } from '../../shared/base/continents.ts';
import type { Clock } from '../../shared/base/time.ts';
import type { Assignment } from '../../shared/checks/assignment.ts';
import type { Verdict } from '../../shared/checks/result.ts';
import type { Guard } from './guard.ts';
import type { RequestSigner } from './https/signer.ts';
import type { CheckDeadline } from './limits.ts';

/** What a probe says of itself to a target. */
export type ProbeIdentity = {
  readonly name: string;
  readonly continent: Continent;
  readonly base_url: string;
  readonly version: string;
  /** Of a public probe, unless the installation wants none signed. */
  readonly sign?: RequestSigner;
};

export type CheckContext = {
  /**
   * What to check, with secrets in its config in plain form. The same object for the same version
   * lets a check reuse what it prepared.
   */
  readonly assignment: Assignment;
  /**
   * When the check starts, by the corrected clock. It is the time of the result and the time by
   * which certificates are judged.
   */
  readonly started_at: number;
  /** Over at the monitor's timeout or when the probe stops. Nothing of a check outlives it. */
  readonly deadline: CheckDeadline;
  /** Whether a success needs evidence too (for rechecks). A failure always has evidence. */
  readonly evidence_wanted: boolean;
  readonly guard: Guard;
  readonly probe: ProbeIdentity;
  readonly clock: Clock;
};

/**
 * Performs one check. Never rejects for a fault of the target; what it throws is a fault of our own
 * (`probe_internal`).
 */
export type Check = (context: CheckContext) => Promise<Verdict>;
