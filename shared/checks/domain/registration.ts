import { z } from 'zod';

/**
 * What the registry of a domain says of it, by RDAP (RFC 9083). The coordinators ask, at most once
 * a day for a domain that is well; probes judge the answer.
 */
export const registrationShape = z.discriminatedUnion('is', [
  z.object({
    is: z.literal('registered'),
    ends_at: z.int().nullable(),
    /** In the words of RFC 8056, such as `client hold`. */
    statuses: z.array(z.string().max(100)).max(50),
    registrar: z.string().max(200).nullable(),
    server: z.string().max(255),
    asked_at: z.int(),
  }),
  z.object({
    is: z.literal('unregistered'),
    server: z.string().max(255),
    asked_at: z.int(),
  }),
  /** Says nothing of the domain. */
  z.object({ is: z.literal('unknown'), why: z.string().max(200) }),
]);

export type Registration = z.infer<typeof registrationShape>;
export type KnownRegistration = Exclude<Registration, { is: 'unknown' }>;

/** The registry keeps the domain out of DNS. */
const holds = ['client hold', 'server hold'];
/** The registration is over, whatever its end says: the holder can only restore it. */
const over = ['redemption period', 'pending delete'];

export type Standing = 'good' | 'unregistered' | 'expired' | 'on_hold';

/** How a domain is at a time, by what its registry said. */
export function standingOf(registration: KnownRegistration, now: number): Standing {
  if (registration.is === 'unregistered') return 'unregistered';
  const { statuses, ends_at } = registration;
  const has = (some: readonly string[]): boolean => statuses.some((one) => some.includes(one));
  if (has(over)) return 'expired';
  if (has(holds)) return 'on_hold';
  // Some registries renew by themselves, and show the new end only once the registrar has paid.
  const isRenewed = has(['auto renew period']);
  return ends_at !== null && ends_at <= now && !isRenewed ? 'expired' : 'good';
}
