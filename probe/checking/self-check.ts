import type { Assignment } from '../../shared/checks/assignment.ts';
import type { Verdict } from '../../shared/checks/result.ts';
import { needsSelfCheck, reachedTarget, settle } from '../checks/fault.ts';
import type { Guard } from '../checks/guard.ts';
import type { Pulse } from '../presence/held-up.ts';
import type { Reachability } from './reachability.ts';

/** A check that has ended, by `performance.now()`, and every address that it set out for. */
export type Ended = { readonly assignment: Assignment; readonly asked: readonly string[]; readonly began: number; readonly ended: number };

/** Whose fault it was, as far as this probe can say: a failure below http counts only with a other host. At once where none is needed. */
export type SelfCheck = (verdict: Verdict, check: Ended) => Verdict | Promise<Verdict>;

/** By what name a target is known to the other host: reaching another name vouches for this one. */
const hostOf = ({ kind, target, config }: Assignment): string => {
  if (kind === 'https') return URL.parse(target)?.hostname ?? target;
  return kind === 'dns' ? `dns ${String(config.resolver ?? '')}` : kind;
};

export const createSelfCheck = (parts: {
  readonly guard: Guard;
  readonly reachability: Reachability;
  readonly pulse: Pulse;
}): SelfCheck => {
  const { guard, reachability, pulse } = parts;
  const hosts = new WeakMap<Assignment, string>();
  const hostKnown = (assignment: Assignment): string => {
    const known = hosts.get(assignment);
    if (known !== undefined) return known;
    const host = hostOf(assignment);
    hosts.set(assignment, host);
    return host;
  };

  const withReachability = async (verdict: Verdict, { assignment, asked, began, ended }: Ended): Promise<Verdict> => {
    const heldUp = pulse.heldUp(began);
    const wasRefused = verdict.cause?.class === 'connection_refused';
    const isInside = asked.length > 0 && !asked.some((address) => guard.isOutside(address));
    const reached_other = await reachability.reachedOther({ host: hostKnown(assignment), since: began, wasRefused, isInside });
    const { timeout_ms: limit_ms } = assignment;
    return settle(verdict, { reached_other, overrun_ms: ended - began - limit_ms, held_up: { ...heldUp, limit_ms } });
  };

  return (verdict, check) => {
    const { assignment, asked, ended } = check;
    // A check that went to no address (a heartbeat's) vouches for nothing.
    if (asked.length > 0 && reachedTarget(verdict))
      reachability.reached(hostKnown(assignment), ended, !asked.every((address) => guard.isOutside(address)));
    return needsSelfCheck(verdict) ? withReachability(verdict, check) : verdict;
  };
};
