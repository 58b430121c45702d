import type { DomainCause } from '../../../shared/checks/domain/causes.ts';
import {
  type Registration,
  type Standing,
  standingOf,
} from '../../../shared/checks/domain/registration.ts';
import {
  type Cause,
  type Evidence,
  noPhases,
  type Outcome,
  type Verdict,
  type Warning,
} from '../../../shared/checks/result.ts';
import { domainStage } from '../../../shared/checks/warnings.ts';

type Terms = {
  readonly now: number;
  /** From how many days before the end on it warns; null for the usual stages. */
  readonly from_days: number | null;
  readonly evidence_wanted: boolean;
};

/** Longer than the coordinators give out an old answer while its registry gives none. */
const countsForMs = 4 * 86_400_000;

const causeOf: Readonly<Record<Exclude<Standing, 'good'>, DomainCause>> = {
  unregistered: 'domain_unregistered',
  expired: 'domain_expired',
  on_hold: 'domain_on_hold',
};

/** The verdict of a domain check. */
export function judgeDomain(
  registration: Registration,
  { now, from_days, evidence_wanted }: Terms,
): Verdict {
  if (registration.is === 'unknown')
    return verdict('unknown', 'registration_unknown', { why: registration.why });
  if (now - registration.asked_at > countsForMs)
    return verdict('unknown', 'registration_unknown', evidenceOf(registration));
  const evidence = evidenceOf(registration);
  const standing = standingOf(registration, now);
  if (standing !== 'good') return verdict('fail', causeOf[standing], evidence);
  const passed = verdict('ok', null, evidence_wanted ? evidence : {});
  const warnings = registration.is === 'registered' ? endWarning(registration.ends_at) : [];
  return warnings.length > 0 ? { ...passed, warnings } : passed;

  function endWarning(ends_at: number | null): Warning[] {
    const stage = ends_at === null ? null : domainStage(ends_at, now, from_days);
    return ends_at === null || stage === null
      ? []
      : [{ code: 'domain_expires', details: { ends_at, stage } }];
  }
}

function verdict(outcome: Outcome, name: DomainCause | null, evidence: Evidence): Verdict {
  const cause: Cause | null = name === null ? null : { class: name, params: {} };
  return { outcome, cause, phases: noPhases, evidence };
}

function evidenceOf(registration: Exclude<Registration, { is: 'unknown' }>): Evidence {
  const { server, asked_at } = registration;
  const asked = { registry: server, asked_at: new Date(asked_at).toISOString() };
  if (registration.is === 'unregistered') return { ...asked, registered: false };
  const { ends_at, statuses, registrar } = registration;
  return {
    ...asked,
    registered: true,
    ends_at: ends_at === null ? null : new Date(ends_at).toISOString(),
    statuses: [...statuses],
    registrar,
  };
}
