import { isIP } from 'node:net';
import type { Assignment } from '../../shared/checks/assignment.ts';
import { causeLayer } from '../../shared/checks/causes.ts';
import { isHarmless } from '../../shared/checks/kinds.ts';
import type { OtherTargets, Phases, Verdict } from '../../shared/checks/result.ts';

/**
 * How this probe's other targets fare in the layer in which one fails (rule 46). A probe that lacks
 * an authority, or sits behind a broken middlebox, fails nearly all of them there; one that is well
 * fails the one that is down.
 */
export type OtherTargetsKnown = {
  /** A check of this host has ended. */
  readonly note: (host: string, check: Checked) => void;
  /**
   * What is known from the last minute, of checks that began after this target had begun to fail:
   * what passed before says nothing of a probe that has fallen sick since. Undefined when nothing is.
   */
  readonly besides: (host: string, failed: Failed) => OtherTargets | undefined;
  /** A few other targets of which nothing is known since, to be checked now: each seldom. */
  readonly take: (host: string, failed: Failed) => readonly Assignment[];
};

export type Checked = {
  readonly assignment: Assignment;
  readonly verdict: Pick<Verdict, 'outcome' | 'cause' | 'phases'>;
  /** By `performance.now()`. */
  readonly began: number;
  readonly ended: number;
};

/** `since`: when the first of its failures in a row began. Others of its host may pass meanwhile. */
export type Failed = Pick<Checked, 'verdict' | 'ended'> & { readonly since: number };

/** The newest check of a host. */
type Newest = Checked & {
  /** When it was last taken, to be checked beside its turns. */
  readonly takenAt: number;
};

const recentMs = 60_000;
/** A fair sample of many, and all of few. */
const maxHosts = 64;
/** With fewer, others are checked at once. */
const enough = 3;
/** A probe for which everything fails must not flood those that it takes for comparison. */
const restMs = 10_000;

const layers = ['dns', 'tcp', 'tls', 'http'] as const;
type Step = (typeof layers)[number];

export function createOtherTargets(): OtherTargetsKnown {
  /** The oldest first. */
  const newest = new Map<string, Newest>();

  /** Those that took the same step, or failed in it. */
  const comparable = (host: string, step: Step): readonly (readonly [string, Newest])[] => {
    const isNamed = isIP(host) === 0;
    // A resolver that answers wrongly fails names, and no addresses.
    return [...newest].filter(
      ([other, { verdict }]) =>
        other !== host &&
        (!isNamed || isIP(other) === 0) &&
        (failedStep(verdict) === step || passedStep(verdict, step)),
    );
  };

  const besides = (host: string, failed: Failed): OtherTargets | undefined => {
    const step = failedStep(failed.verdict);
    if (step === undefined) return undefined;
    const since = sinceOf(failed);
    const known = comparable(host, step).filter(([, { began }]) => began >= since);
    const missed = known.filter(([, { verdict }]) => failedStep(verdict) === step).length;
    return known.length === 0 ? undefined : { passed: known.length - missed, failed: missed };
  };

  return {
    note: (host, check) => {
      if (check.verdict.outcome === 'unknown') return;
      const { outcome, cause, phases } = check.verdict;
      const takenAt = newest.get(host)?.takenAt ?? Number.NEGATIVE_INFINITY;
      newest.delete(host);
      newest.set(host, { ...check, verdict: { outcome, cause, phases }, takenAt });
      const [oldest] = newest.keys();
      if (newest.size > maxHosts && oldest !== undefined) newest.delete(oldest);
    },
    besides,
    take: (host, failed) => {
      const step = failedStep(failed.verdict);
      const known = besides(host, failed);
      if (step === undefined || (known && known.passed + known.failed >= enough)) return [];
      const since = sinceOf(failed);
      const taken = comparable(host, step)
        .filter(
          ([, { began, takenAt, assignment }]) =>
            began < since && failed.ended - takenAt >= restMs && mayCheck(assignment),
        )
        .slice(0, enough);
      for (const [other, check] of taken) newest.set(other, { ...check, takenAt: failed.ended });
      return taken.map(([, { assignment }]) => assignment);
    },
  };
}

function sinceOf({ since, ended }: Failed): number {
  return Math.max(since, ended - recentMs);
}

/** Only what does no harm is checked beside its turns, and only what needs no secret. */
function mayCheck({ kind, config, sealed }: Assignment): boolean {
  return sealed === null && kind !== 'heartbeat' && kind !== 'domain' && isHarmless[kind](config);
}

/** In which step of reaching its target a check failed; undefined when it did not. */
function failedStep({ outcome, cause }: Checked['verdict']): Step | undefined {
  if (outcome !== 'fail' || cause === null) return undefined;
  const layer = causeLayer(cause);
  if (isStep(layer)) return layer;
  if (layer === 'assertion') return 'http';
  return layer === 'timeout' && isStep(cause.params.phase) ? cause.params.phase : 'http';
}

function isStep(text: unknown): text is Step {
  return layers.some((layer) => layer === text);
}

const phaseOf: Readonly<Record<Step, keyof Phases>> = {
  dns: 'dns',
  tcp: 'tcp',
  tls: 'tls',
  http: 'first_byte',
};

/** Whether it took this step, and went on from there. */
function passedStep(verdict: Checked['verdict'], step: Step): boolean {
  const { phases } = verdict;
  if (phases === null || phases[phaseOf[step]] === null) return false;
  const failed = failedStep(verdict);
  return failed === undefined || layers.indexOf(failed) > layers.indexOf(step);
}
