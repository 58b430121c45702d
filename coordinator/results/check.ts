import type { Outcome, Phases } from '../../shared/checks/result.ts';

/**
 * A check of a monitor, as it is stored. Its name is (probe, at): a check that is stored in two
 * places counts once.
 */
export type Check = {
  /** The probe's key in the database. */
  readonly probe: number;
  readonly at: number;
  readonly took_ms: number;
  readonly outcome: Outcome;
  /** The class of its cause. */
  readonly cause: string | null;
  readonly phases: Phases | null;
};

/** By the number that is stored. */
const outcomes = ['ok', 'fail', 'unknown'] as const satisfies readonly Outcome[];

export const outcomeNumbers = { ok: 0, fail: 1, unknown: 2 } as const satisfies Record<
  Outcome,
  number
>;

export function outcomeOf(number: number): Outcome {
  return outcomes[number] ?? 'unknown';
}

/** In the order in which phases are stored. */
export const phaseNames = [
  'dns',
  'tcp',
  'tls',
  'first_byte',
  'total',
] as const satisfies readonly (keyof Phases)[];

/**
 * The checks of one monitor in order of start, each once. Of two that have one name and differ, the
 * same one is chosen in whatever order they come.
 */
export function unionOf(...lists: readonly (readonly Check[])[]): Check[] {
  const union: Check[] = [];
  for (const check of lists.flat().sort(inOrder)) {
    const last = union.at(-1);
    if (last?.at !== check.at || last.probe !== check.probe) union.push(check);
  }
  return union;
}

/** The mean time of the passes among them; null without any. */
export function meanOf(checks: readonly Check[]): number | null {
  let [passes, sum] = [0, 0];
  for (const { outcome, took_ms } of checks) {
    if (outcome !== 'ok') continue;
    passes += 1;
    sum += took_ms;
  }
  return passes === 0 ? null : sum / passes;
}

/** By name; of one name, the one to choose first. */
function inOrder(a: Check, b: Check): number {
  return a.at - b.at || a.probe - b.probe || byContent(a, b);
}

function byContent(a: Check, b: Check): number {
  const byVerdict =
    outcomeNumbers[b.outcome] - outcomeNumbers[a.outcome] ||
    compare(b.cause ?? '', a.cause ?? '') ||
    a.took_ms - b.took_ms;
  if (byVerdict !== 0) return byVerdict;
  for (const name of phaseNames) {
    const byPhase = (b.phases?.[name] ?? -1) - (a.phases?.[name] ?? -1);
    if (byPhase !== 0) return byPhase;
  }
  return 0;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
