import type { Assignment } from '../../shared/checks/checks-assignment.ts';
import type { Layer } from '../../shared/checks/checks-cause-types.ts';
import { causeLayer } from '../../shared/checks/checks-causes.ts';
import type { Verdict } from '../../shared/checks/checks-result.ts';
import type { Guard } from '../checks/check-guard.ts';
import type { Pulse } from '../presence/presence-held-up-process.ts';
import type { Reachability } from './checking-reachability.ts';

/** Layers in which a failure may as well be the probe's own network: they count only if the probe vouches for itself (rule 2). */
const below: readonly Layer[] = ['dns', 'tcp', 'tls', 'timeout'];

/** A check that ended so long after its limit was held up by the probe itself (frozen, starved), and says nothing about the target. */
const heldUpAfterMs = 1_000;

/** A process that kept a check waiting for so much of its time limit cannot tell its own silence from the target's. */
const heldUpShare = 0.2;

/** Whether the probe must have reached another host before this verdict may count. */
export const needsSelfCheck = (verdict: Verdict): boolean =>
  verdict.outcome === 'fail' && verdict.cause !== null && below.includes(causeLayer(verdict.cause));

/** The probe's own resolver may answer from memory while nothing outside can be reached. */
const isOwnResolver = ({ evidence: { resolver } }: Verdict): boolean =>
  typeof resolver === 'object' && resolver !== null && 'own' in resolver && resolver.own === true;

/** Whether the check got an answer that can only have come from outside: it vouches for checks of other hosts. */
export const reachedTarget = (verdict: Verdict): boolean =>
  (verdict.outcome === 'ok' && !isOwnResolver(verdict)) ||
  (verdict.outcome === 'fail' &&
    verdict.cause !== null &&
    ['http', 'assertion'].includes(causeLayer(verdict.cause)) &&
    !isOwnResolver(verdict));

/** What the probe knows of itself when a check ends. */
type SelfSeen = {
  readonly reached_other: boolean;
  /** By how much the check outlasted its time limit. */
  readonly overrun_ms?: number;
  /** For how many milliseconds the check can have waited for the probe itself, at once and in all its steps, and its time limit. */
  readonly held_up?: { readonly longest: number; readonly inAll: number; readonly limit_ms: number };
};

/** Being slow in many small steps makes a silence of a target that answered, but no refusal of one that let us in. */
const isHeldUp = ({ cause }: Verdict, { held_up }: SelfSeen): boolean => {
  if (held_up === undefined) return false;
  const waited = cause !== null && causeLayer(cause) === 'timeout' ? held_up.inAll : held_up.longest;
  return waited > held_up.limit_ms * heldUpShare;
};

/** Whose fault it was: a failure below http of a probe that reached nothing else is `unknown`, and so is one that the probe itself held up. */
export const settle = (verdict: Verdict, seen: SelfSeen): Verdict => {
  if (!needsSelfCheck(verdict)) return verdict;
  if (isHeldUp(verdict, seen) || (seen.overrun_ms ?? 0) > heldUpAfterMs) return unknown(verdict, 'probe_held_up');
  return seen.reached_other ? verdict : unknown(verdict, 'probe_unvouched');
};

const unknown = (verdict: Verdict, reason: 'probe_held_up' | 'probe_unvouched'): Verdict => ({
  ...verdict,
  outcome: 'unknown',
  cause: { class: reason, params: {} },
  evidence: verdict.cause === null ? verdict.evidence : { ...verdict.evidence, would_be: verdict.cause.class },
});

/** A check that has ended, by `performance.now()`, and every address that it set out for. */
export type Ended = { readonly assignment: Assignment; readonly asked: readonly string[]; readonly began: number; readonly ended: number };

/** Whose fault it was, as far as this probe can say: a failure below http counts only if the probe reached another host. At once where that need not be known. */
export type SelfCheck = (verdict: Verdict, check: Ended) => Verdict | Promise<Verdict>;

/** The name of the target's host: to have reached a host of another name vouches for the probe. */
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
