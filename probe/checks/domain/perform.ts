import { performance } from 'node:perf_hooks';
import { domainOf, warnsFromDays } from '../../../shared/checks/domain/config.ts';
import type { Registration } from '../../../shared/checks/domain/registration.ts';
import type { Check } from '../types.ts';
import { judgeDomain } from './verdict.ts';

export type DomainDependencies = {
  /**
   * Asks the coordinators what the registry of a domain says. One of them asks the registry for all
   * probes, at most once a day for a domain that is well. @throws when none answers.
   */
  readonly ask: (domain: string, timeoutMs: number) => Promise<Registration>;
};

/** Judges the registration of a domain, from what its registry said last. */
export function createDomainCheck({ ask }: DomainDependencies): Check {
  return async ({ assignment, started_at, deadline, evidence_wanted }) => {
    const domain = domainOf(assignment.target);
    if (domain === undefined) throw new Error('The target of a domain check is not a domain');
    const left = Math.max(1, deadline.due - performance.now());
    const registration = await ask(domain, left).catch(
      (error: unknown): Registration => ({
        is: 'unknown',
        why: error instanceof Error ? error.message.slice(0, 200) : 'no coordinator answered',
      }),
    );
    return judgeDomain(registration, {
      now: started_at,
      from_days: warnsFromDays(assignment.config),
      evidence_wanted,
    });
  };
}
