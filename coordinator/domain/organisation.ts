import { Refusal } from '../../shared/base/errors.ts';

const roles = ['owner', 'admin', 'member', 'viewer'] as const;
export type Role = (typeof roles)[number];

const scopes = ['read', 'read_write'] as const;
export type Scope = (typeof scopes)[number];

const isRole = (text: string): text is Role => roles.some((role) => role === text);
const isScope = (text: string): text is Scope => scopes.some((scope) => scope === text);

/** @throws Refusal `role_unknown`. */
export const roleFrom = (text: string): Role => {
  if (isRole(text)) return text;
  throw new Refusal('role_unknown', `role: there is no role "${text}"; one of ${roles.join(', ')} would do.`);
};

/** @throws Refusal `scope_unknown`. */
export const scopeFrom = (text: string): Scope => {
  if (isScope(text)) return text;
  throw new Refusal('scope_unknown', `scope: there is no scope "${text}"; one of ${scopes.join(', ')} would do.`);
};

/** Viewers look; everyone else may change what the organisation watches. */
export const mayWrite = (role: Role): boolean => role !== 'viewer';

/** Owners and admins look after members, tokens of others, probes and the plan. */
export const mayManage = (role: Role): boolean => role === 'owner' || role === 'admin';

/** An IANA zone as it spells itself. @throws Refusal `time_zone_invalid`; bare offsets are none, because they know no summer. */
export const timeZoneFrom = (text: string): string => {
  const zone = text.trim();
  if (/^[A-Za-z]/.test(zone)) {
    try {
      return Temporal.Instant.fromEpochMilliseconds(0).toZonedDateTimeISO(zone).timeZoneId;
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
    }
  }
  throw new Refusal('time_zone_invalid', `time_zone: "${zone.slice(0, 60)}" is no IANA time zone; use one such as Europe/Berlin or UTC.`);
};

/** An e-mail address, trimmed: one @, no spaces, a dot in the domain or a bare host as installations inside a house have. */
export const emailFrom = (text: string): string => {
  const email = text.trim();
  if (email.length <= 254 && /^[^\s@<>()",;:\\[\]]{1,64}@[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$/.test(email) && email.isWellFormed())
    return email;
  throw new Refusal('email_invalid', 'email: is not an e-mail address; give one such as ada@example.org.');
};

/** @throws Refusal `password_invalid`: length is the one rule, because rules of composition make worse passwords. */
export const passwordFrom = (text: string): string => {
  if (text.length < 10) throw new Refusal('password_invalid', 'password: is shorter than 10 characters; choose a longer one.');
  if (text.length > 1000) throw new Refusal('password_invalid', 'password: is longer than 1000 characters; choose a shorter one.');
  return text;
};
