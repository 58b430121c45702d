import { causeSentence } from '../../../shared/checks/causes.ts';
import type { Cause, Evidence, Json, Verdict, Warning } from '../../../shared/checks/result.ts';
import { usedAddress } from '../connection/evidence.ts';
import type { HopSeen } from './evidence.ts';

/** What a check saw by one of the two families. */
export type ByFamily = {
  readonly family: '4' | '6';
  readonly verdict: Verdict;
  readonly hops: readonly HopSeen[];
};

/**
 * Judges a monitor whose target must answer by IPv4 and by IPv6. One family that fails is a
 * failure, named in the cause. One about which this probe knows nothing makes the other's pass
 * unknown; a failure stays one.
 */
export function judgeBoth(both: readonly [ByFamily, ByFamily], isWanted: boolean): Verdict {
  const slowest = both.toSorted((a, b) => tookOf(b) - tookOf(a));
  const failed = both.filter(({ verdict }) => verdict.outcome === 'fail');
  const unknown = both.filter(({ verdict }) => verdict.outcome === 'unknown');
  const [judged = both[0]] = [...failed, ...unknown, ...slowest];
  const { verdict } = judged;
  const evidence: Evidence =
    verdict.outcome !== 'ok' || isWanted
      ? { ...verdict.evidence, families: both.map(familyEvidence) }
      : verdict.evidence;
  const { warnings: _, ...rest } = { ...verdict, cause: causeOf(judged, failed), evidence };
  const warnings = verdict.outcome === 'ok' ? warningsOf(slowest) : [];
  return warnings.length > 0 ? { ...rest, warnings } : rest;
}

function tookOf({ verdict }: ByFamily): number {
  return verdict.phases?.total ?? 0;
}

/** What both fail with needs no name of a family. */
function causeOf(
  { family, verdict: { outcome, cause } }: ByFamily,
  failed: readonly ByFamily[],
): Cause | null {
  if (cause === null) return null;
  if (cause.class === 'probe_no_family')
    return { ...cause, params: { ...cause.params, wanted: 'both' } };
  const isShared =
    failed.length === 2 && failed.every(({ verdict }) => verdict.cause?.class === cause.class);
  return outcome === 'fail' && !isShared && cause.params.family === undefined
    ? { ...cause, params: { ...cause.params, by: `IPv${family}` } }
    : cause;
}

function familyEvidence({ family, verdict, hops }: ByFamily): Json {
  const last = hops.at(-1);
  return {
    family: `IPv${family}`,
    outcome: verdict.outcome,
    cause: verdict.cause === null ? null : causeSentence(verdict.cause),
    address: last === undefined ? null : usedAddress(last, last.failure),
    status: last?.response?.status ?? null,
    ms: verdict.phases?.total ?? null,
  };
}

/** Each once: both families mostly warn of the same. */
function warningsOf(both: readonly ByFamily[]): readonly Warning[] {
  return [
    ...new Map(
      both
        .flatMap(({ verdict }) => verdict.warnings ?? [])
        .toReversed()
        .map((warning) => [warning.code, warning] as const),
    ).values(),
  ];
}
