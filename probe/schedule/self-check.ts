import { connect } from 'node:net';
import type { Assignment } from '../../shared/checks/assignment.ts';
import { causeLayer } from '../../shared/checks/causes.ts';
import { hostAndPort, hostIn } from '../../shared/checks/connection/config.ts';
import { grpcEndpoint } from '../../shared/checks/grpc/config.ts';
import type { Kind } from '../../shared/checks/kinds.ts';
import type { Layer, Verdict } from '../../shared/checks/result.ts';
import { type ChecksProxy, dialThrough } from '../checks/connection/proxy.ts';
import type { Guard } from '../checks/guard.ts';
import type { Pulse } from '../presence/clock.ts';

/**
 * Whether this probe can vouch for itself (rule 2): did it reach any other host since a check
 * began, or does it reach an anchor now? An anchor that refuses the connection counts as reached,
 * because the refusal came from there. But a refusal cannot vouch for a refusal: something in
 * between may refuse everything. A host inside the probe's own network vouches only for hosts
 * there, because the probe reaches it even when its uplink is cut.
 */
export type Reachability = {
  /** A host answered a check at this performance.now(). */
  readonly reached: (host: string, at: number, isInside: boolean) => void;
  readonly reachedOther: (asked: ReachabilityQuestion) => Promise<boolean>;
  readonly selfTest: () => Promise<{ readonly ok: boolean; readonly detail: string }>;
};

export type ReachabilityQuestion = {
  readonly host: string;
  readonly since: number;
  readonly wasRefused: boolean;
  readonly isInside: boolean;
};

/** The two hosts that answered last: at least one of them differs from the host in question. */
type Answered = { newest: HostAnswered; other: HostAnswered };
type HostAnswered = { readonly host: string; at: number };
type DialOutcome = 'connected' | 'refused' | 'nothing';
type Attempt = { readonly at: number; readonly answer: Promise<DialOutcome> };

const timeoutMs = 2_000;
const recentMs = 60_000;

export function createReachability(deps: {
  readonly anchors: () => readonly string[];
  /** Where checks go through a proxy, only what it reaches vouches. */
  readonly proxy?: ChecksProxy | undefined;
  /**
   * Whether the bus vouches too. It proves a way to the coordinator only, which may be next to the
   * probe, and does not replace anchors that the operator chose.
   */
  readonly busCounts?: () => boolean;
  /** One round trip on the bus; rejects or never settles when there is none. */
  readonly busRoundTrip: () => Promise<void>;
}): Reachability {
  const outside: Answered = { newest: noOne(), other: noOne() };
  const inside: Answered = { newest: noOne(), other: noOne() };
  let attempt: Attempt | undefined;

  const tryBus = (): Promise<DialOutcome> =>
    new Promise((resolve) => {
      const timer = setTimeout(() => resolve('nothing'), timeoutMs);
      deps
        .busRoundTrip()
        .then(() => resolve('connected'))
        .catch(() => resolve('nothing'))
        .finally(() => clearTimeout(timer));
    });

  /** Tries everything that may answer in parallel; settles with the first that connects. */
  const tryAll = (): Promise<DialOutcome> =>
    new Promise((resolve) => {
      const anchors = deps.anchors().filter(isAnchor);
      const attempts = anchors.map((anchor) => tryAnchor(anchor, deps.proxy));
      if (!deps.proxy && (deps.busCounts?.() ?? true)) attempts.push(tryBus());
      for (const one of attempts)
        void one.then((answer) => answer === 'connected' && resolve(answer));
      void Promise.all(attempts).then((answers) =>
        resolve(answers.includes('refused') ? 'refused' : 'nothing'),
      );
    });

  /**
   * Checks that fail together share an attempt: one that began after a check began counts for that
   * check too.
   */
  const attemptSince = async (since: number): Promise<DialOutcome> => {
    if (!attempt || attempt.at < since) attempt = { at: performance.now(), answer: tryAll() };
    const mine = attempt;
    const answer = await mine.answer;
    if (answer !== 'connected' && attempt === mine) attempt = undefined;
    return answer;
  };

  return {
    reached: (host, at, isInside) => note(isInside ? inside : outside, host, at),
    reachedOther: async ({ host, since, wasRefused, isInside }) => {
      if (otherSince(outside, host, since) || (isInside && otherSince(inside, host, since)))
        return true;
      const answer = await attemptSince(since);
      return answer === 'connected' || (answer === 'refused' && !wasRefused);
    },
    selfTest: async () => {
      const ago = performance.now() - outside.newest.at;
      if (ago < recentMs)
        return { ok: true, detail: `a target answered ${Math.round(ago / 1_000)} s ago` };
      const answer = await attemptSince(performance.now() - recentMs);
      return {
        ok: answer !== 'nothing',
        detail:
          answer === 'nothing' ? 'no target and no anchor answers' : 'an anchor or the bus answers',
      };
    },
  };
}

function noOne(): HostAnswered {
  return { host: '', at: Number.NEGATIVE_INFINITY };
}

function isAnchor(text: string): boolean {
  return /^\S+:\d{1,5}$/.test(text) && Number(text.slice(text.lastIndexOf(':') + 1)) <= 65_535;
}

/** An anchor is "host:port"; an IPv6 address is in brackets. */
function tryAnchor(anchor: string, proxy: ChecksProxy | undefined): Promise<DialOutcome> {
  return new Promise((resolve) => {
    const colon = anchor.lastIndexOf(':');
    const host = anchor.slice(0, colon).replace(/^\[|\]$/g, '');
    const port = Number(anchor.slice(colon + 1));
    const socket = proxy
      ? dialThrough(proxy, host, port, () => end('connected'))
      : connect({ host, port }, () => end('connected'));
    const end = (answer: DialOutcome) => {
      socket.destroy();
      resolve(answer);
    };
    socket.setTimeout(timeoutMs, () => end('nothing'));
    socket.once('error', (error: NodeJS.ErrnoException) =>
      end(error.code === 'ECONNREFUSED' ? 'refused' : 'nothing'),
    );
  });
}

/** Runs for every check that passes, so it allocates nothing for a host that answers again. */
function note(answered: Answered, host: string, at: number): void {
  if (answered.newest.host === host) answered.newest.at = at;
  else if (answered.other.host === host) {
    const again = answered.other;
    again.at = at;
    answered.other = answered.newest;
    answered.newest = again;
  } else {
    answered.other = answered.newest;
    answered.newest = { host, at };
  }
}

/** Whether a host other than this one answered since then. */
function otherSince({ newest, other }: Answered, host: string, since: number): boolean {
  return (newest.host !== host && newest.at >= since) || (other.host !== host && other.at >= since);
}

/** A check that has ended, by `performance.now()`, and every address that it tried. */
export type Ended = {
  readonly assignment: Assignment;
  readonly asked: readonly string[];
  readonly began: number;
  readonly ended: number;
};

/**
 * Whose fault it was, as far as this probe can say: a failure below http counts only if the probe
 * reached another host. Returns at once where that does not matter.
 */
export type SelfCheck = (verdict: Verdict, check: Ended) => Verdict | Promise<Verdict>;

export function createSelfCheck(deps: {
  readonly guard: Guard;
  readonly reachability: Reachability;
  readonly pulse: Pick<Pulse, 'heldUp'>;
}): SelfCheck {
  const { guard, reachability, pulse } = deps;
  const withReachability = async (
    verdict: Verdict,
    { assignment, asked, began, ended }: Ended,
  ): Promise<Verdict> => {
    const heldUp = pulse.heldUp(began);
    const wasRefused = verdict.cause?.class === 'connection_refused';
    const isInside = asked.length > 0 && !asked.some((address) => guard.isOutside(address));
    const reached_other = await reachability.reachedOther({
      host: hostOf(assignment),
      since: began,
      wasRefused,
      isInside,
    });
    const { timeout_ms: limit_ms } = assignment;
    return settle(verdict, {
      reached_other,
      overrun_ms: ended - began - limit_ms,
      held_up: { ...heldUp, limit_ms },
    });
  };

  return (verdict, check) => {
    const { assignment, asked, ended } = check;
    // A check that went to no address (a heartbeat's) vouches for nothing.
    if (asked.length > 0 && reachedTarget(verdict))
      reachability.reached(
        hostOf(assignment),
        ended,
        !asked.every((address) => guard.isOutside(address)),
      );
    return needsSelfCheck(verdict) ? withReachability(verdict, check) : verdict;
  };
}

export function hostOf(assignment: Assignment): string {
  return hostsOf[assignment.kind](assignment);
}

/** The name of the target's host. Reaching a host of another name vouches for the probe. */
const hostsOf: Readonly<Record<Kind, (assignment: Assignment) => string>> = {
  https: ({ target }) => URL.parse(target)?.hostname ?? target,
  tcp: ({ target }) => hostAndPort('tcp', target)?.host ?? target,
  tls: ({ target }) => hostAndPort('tls', target)?.host ?? target,
  websocket: ({ target }) => URL.parse(target)?.hostname ?? target,
  grpc: ({ target }) => grpcEndpoint(target)?.host ?? target,
  dns: ({ config }) => `dns ${String(config.resolver ?? '')}`,
  heartbeat: () => 'heartbeat',
  domain: () => 'domain',
  icmp: ({ target }) => hostIn(target) ?? target,
};

/**
 * A check that ended this many ms after its timeout was held up by the probe itself (frozen,
 * starved), and says nothing about the target.
 */
const heldUpAfterMs = 1_000;

/** What the probe knows of itself when a check ends. */
type SelfSeen = {
  readonly reached_other: boolean;
  /** By how much the check exceeded its timeout. */
  readonly overrun_ms?: number;
  /**
   * How many milliseconds the check can have waited for the probe itself, in one stretch and in all
   * its steps, and its timeout.
   */
  readonly held_up?: {
    readonly longest: number;
    readonly inAll: number;
    readonly limit_ms: number;
  };
};

/**
 * Decides whose fault it was. A failure below http is `unknown` if the probe reached nothing else,
 * or if the probe itself held up the check.
 */
export function settle(verdict: Verdict, seen: SelfSeen): Verdict {
  if (!needsSelfCheck(verdict)) return verdict;
  if (isHeldUp(verdict, seen) || (seen.overrun_ms ?? 0) > heldUpAfterMs)
    return unknown(verdict, 'probe_held_up');
  return seen.reached_other ? verdict : unknown(verdict, 'probe_unvouched');
}

/**
 * Layers in which a failure may be the probe's own network. They count only if the probe vouches
 * for itself (rule 2).
 */
const below: readonly Layer[] = ['dns', 'tcp', 'tls', 'timeout'];

/** Whether the probe must have reached another host before this verdict counts. */
export function needsSelfCheck(verdict: Verdict): boolean {
  return (
    verdict.outcome === 'fail' &&
    verdict.cause !== null &&
    below.includes(causeLayer(verdict.cause))
  );
}

/**
 * A process that kept a check waiting for this share of its timeout cannot tell its own silence
 * from the target's.
 */
const heldUpShare = 0.2;

/**
 * Many small delays can make an answering target seem silent, but cannot turn an accepted
 * connection into a refusal.
 */
function isHeldUp({ cause }: Verdict, { held_up }: SelfSeen): boolean {
  if (held_up === undefined) return false;
  const waited =
    cause !== null && causeLayer(cause) === 'timeout' ? held_up.inAll : held_up.longest;
  return waited > held_up.limit_ms * heldUpShare;
}

function unknown(verdict: Verdict, reason: 'probe_held_up' | 'probe_unvouched'): Verdict {
  return {
    ...verdict,
    outcome: 'unknown',
    cause: { class: reason, params: {} },
    evidence:
      verdict.cause === null
        ? verdict.evidence
        : { ...verdict.evidence, would_be: verdict.cause.class },
  };
}

/**
 * Whether the check got an answer that can only have come from outside: it vouches for checks of
 * other hosts.
 */
export function reachedTarget(verdict: Verdict): boolean {
  return (
    (verdict.outcome === 'ok' && !isOwnResolver(verdict)) ||
    (verdict.outcome === 'fail' &&
      verdict.cause !== null &&
      ['http', 'assertion'].includes(causeLayer(verdict.cause)) &&
      !isOwnResolver(verdict))
  );
}

/** The probe's own resolver may answer from its cache while nothing outside can be reached. */
function isOwnResolver({ evidence: { resolver } }: Verdict): boolean {
  return (
    typeof resolver === 'object' && resolver !== null && 'own' in resolver && resolver.own === true
  );
}
