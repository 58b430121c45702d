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
  /** What is known from the last minute; undefined when nothing is. */
  readonly besides: (host: string, failed: Checked) => OtherTargets | undefined;
  /** A few other targets of which nothing is known from the last minute, to be checked now. */
  readonly unknown: (host: string, failed: Checked) => readonly Assignment[];
};

export type Checked = {
  readonly assignment: Assignment;
  readonly verdict: Pick<Verdict, 'outcome' | 'cause' | 'phases'>;
  /** By `performance.now()`. */
  readonly ended: number;
};

const recentMs = 60_000;
/** A fair sample of many, and all of few. */
const maxHosts = 64;
/** With fewer, others are checked at once. */
const enough = 3;

const layers = ['dns', 'tcp', 'tls', 'http'] as const;
type Step = (typeof layers)[number];
const isStep = (text: unknown): text is Step => layers.some((layer) => layer === text);

export function createOtherTargets(): OtherTargetsKnown {
  /** The newest check of each host, the oldest first. */
  const newest = new Map<string, Checked>();

  const comparable = (host: string, failed: Checked): readonly Checked[] => {
    const isNamed = isIP(host) === 0;
    // A resolver that answers wrongly fails names, and no addresses.
    return [...newest].flatMap(([other, check]) =>
      other !== host && (!isNamed || isIP(other) === 0) && check.ended <= failed.ended
        ? [check]
        : [],
    );
  };

  const besides = (host: string, failed: Checked): OtherTargets | undefined => {
    const step = failedStep(failed.verdict);
    if (step === undefined) return undefined;
    let passed = 0;
    let missed = 0;
    for (const { verdict, ended } of comparable(host, failed)) {
      if (failed.ended - ended > recentMs) continue;
      if (failedStep(verdict) === step) missed += 1;
      else if (passedStep(verdict, step)) passed += 1;
    }
    return passed + missed === 0 ? undefined : { passed, failed: missed };
  };

  return {
    note: (host, check) => {
      if (check.verdict.outcome === 'unknown') return;
      const { outcome, cause, phases } = check.verdict;
      newest.delete(host);
      newest.set(host, { ...check, verdict: { outcome, cause, phases } });
      const [oldest] = newest.keys();
      if (newest.size > maxHosts && oldest !== undefined) newest.delete(oldest);
    },
    besides,
    unknown: (host, failed) => {
      const known = besides(host, failed);
      if (known && known.passed + known.failed >= enough) return [];
      return comparable(host, failed)
        .filter(({ ended, assignment }) => failed.ended - ended > recentMs && mayCheck(assignment))
        .map(({ assignment }) => assignment)
        .slice(-enough);
    },
  };
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
