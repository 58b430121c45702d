import type { Scenario } from './scenarios.ts';

/** What a subject said of a phase, held against what was done to its targets. Pure. */

/** Somebody was told, and the receiver had it at that time. */
export type Told = {
  readonly at: number;
  readonly target: string;
  readonly event: 'down' | 'up';
  /** When the subject itself saw the first failure, if it says so. */
  readonly seenAt?: number;
  /** Of one POST, which may name several targets. */
  readonly message: number;
};

/** One failure of the targets of one scenario. */
export type Phase = {
  readonly scenario: Pick<Scenario, 'name' | 'wants'>;
  readonly nth: number;
  readonly targets: readonly string[];
  /** From when on somebody watched, until when. */
  readonly beganAt: number;
  readonly overAt: number;
  readonly failedAt: number;
  readonly healedAt: number;
};

type Verdict = 'right' | 'missed' | 'false';

export type Row = {
  readonly scenario: string;
  readonly phase: number;
  readonly subject: string;
  readonly verdict: Verdict;
  /** Whether it was told at all, which either may be of a short one. */
  readonly told: boolean;
  readonly failed_at: number;
  readonly lasted_s: number;
  /** From the failure until the receiver had the POST; of several targets, of the last. */
  readonly alert_s: number | null;
  /** Until the start of the check that saw it first, as the subject dates it. */
  readonly seen_s: number | null;
  /** From the end of the failure until the receiver had that. */
  readonly clear_s: number | null;
  readonly messages: number;
};

/** An answer that was asked for before the end may come so long after it. */
const answersWithinMs = 15_000;

export function rowOf(phase: Phase, subject: string, all: readonly Told[]): Row {
  const { scenario, targets, beganAt, overAt, failedAt, healedAt } = phase;
  const told = all.filter(
    ({ target, at }) => targets.includes(target) && at >= beganAt && at < overAt,
  );
  const downs = told.filter(({ event }) => event === 'down');
  const firsts = targets.flatMap((target) => downs.find((each) => each.target === target) ?? []);
  const alertAt = lastOf(
    firsts.map(({ at }) => at),
    targets.length,
  );
  const ups = targets.flatMap(
    (target) =>
      told.find(({ event, at, target: of }) => of === target && event === 'up' && at >= healedAt) ??
      [],
  );
  const upAt = lastOf(
    ups.map(({ at }) => at),
    targets.length,
  );
  const seenAt = firsts.find(({ at }) => at === alertAt)?.seenAt;
  return {
    scenario: scenario.name,
    phase: phase.nth,
    subject,
    verdict: verdictOf(phase, downs, alertAt),
    told: downs.length > 0,
    failed_at: failedAt,
    lasted_s: (healedAt - failedAt) / 1_000,
    alert_s: alertAt === null ? null : (alertAt - failedAt) / 1_000,
    seen_s: seenAt === undefined ? null : (seenAt - failedAt) / 1_000,
    clear_s: upAt === null || downs.length === 0 ? null : (upAt - healedAt) / 1_000,
    messages: new Set(told.map(({ message }) => message)).size,
  };
}

function verdictOf(phase: Phase, downs: readonly Told[], alertAt: number | null): Verdict {
  const { scenario, failedAt, healedAt } = phase;
  const isTrue = ({ at }: Told): boolean => at >= failedAt && at <= healedAt + answersWithinMs;
  if (scenario.wants === 'silence') return downs.length === 0 ? 'right' : 'false';
  if (!downs.every(isTrue)) return 'false';
  if (scenario.wants === 'either') return 'right';
  return alertAt !== null && alertAt <= healedAt ? 'right' : 'missed';
}

/** The last of all that are wanted; null when one is missing. */
function lastOf(times: readonly number[], wanted: number): number | null {
  return times.length < wanted ? null : Math.max(...times);
}

/** The value that so large a share does not exceed; null of nothing. */
export function quantile(values: readonly number[], share: number): number | null {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? null;
}
