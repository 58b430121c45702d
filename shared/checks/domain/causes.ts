import type { CauseRow } from '../result.ts';

/** Every cause of a domain check. */
export const domainCauses = {
  domain_unregistered: {
    layer: 'assertion',
    sentence: () => 'The registry knows no such domain: it is not registered',
  },
  domain_expired: {
    layer: 'assertion',
    sentence: () => 'The registration of the domain has expired',
  },
  domain_on_hold: {
    layer: 'assertion',
    sentence: () => 'The domain is on hold: the registry keeps it out of DNS',
  },
  registration_unknown: {
    layer: 'probe',
    sentence: () => 'The registry could not be asked about the domain',
  },
} satisfies Record<string, CauseRow>;

export type DomainCause = keyof typeof domainCauses;
