import { Refusal } from '../../shared/base/errors.ts';
import { storable } from '../../shared/base/names.ts';
import type { PlanName } from './plans.ts';

/**
 * The most organisations that a user may own by creating them: plans limit what is in one, not how
 * many there are.
 */
export const maxOwned = 5;

/** The plan of another organisation that the user would create, or the reason why they cannot. */
export function planOfAnother(
  {
    owned,
    isProven,
  }: {
    /** The plans of those that they own, oldest first. */ readonly owned: readonly PlanName[];
    readonly isProven: boolean;
  },
  door: {
    readonly signUp: 'open' | 'invited';
    readonly signUpPlan: PlanName;
    readonly mail: boolean;
  },
): PlanName | Refusal {
  if (owned.length >= maxOwned)
    return new Refusal(
      'organisations_enough',
      `You own ${owned.length} organisations, and ${maxOwned} are the most; delete one first.`,
    );
  if (door.signUp === 'open' && door.mail)
    return isProven
      ? door.signUpPlan
      : new Refusal(
          'email_unproven',
          'Confirm your e-mail address in your profile first, then create an organisation.',
        );
  // Without open sign-up, a user who got an organisation from the operator may create another with
  // its plan.
  return (
    owned[0] ??
    new Refusal(
      'sign_up_closed',
      'Only owners of an organisation can create another one. Ask the operator of this installation.',
    )
  );
}

const day = 86_400_000;

/** How long everything is kept. */
export const keptMs = 7 * day;

/** How long before the end its owners are mailed for the last time. */
export const lastWordMs = day;

export function isSameName(typed: string, name: string): boolean {
  return asTyped(typed) === asTyped(name);
}

/**
 * As people see and type it: invisible blanks and different encodings of one letter do not count.
 */
function asTyped(name: string): string {
  return name.normalize('NFC').replaceAll(/\s+/g, ' ').trim();
}

const roles = ['owner', 'admin', 'member', 'viewer'] as const;
export type Role = (typeof roles)[number];

const scopes = ['read', 'read_write'] as const;
export type Scope = (typeof scopes)[number];

/** @throws Refusal `role_unknown`. */
export function roleFrom(text: string): Role {
  if (isRole(text)) return text;
  throw new Refusal('role_unknown', { role: `must be one of ${roles.join(', ')}.` });
}

function isRole(text: string): text is Role {
  return roles.some((role) => role === text);
}

/** @throws Refusal `scope_unknown`. */
export function scopeFrom(text: string): Scope {
  if (isScope(text)) return text;
  throw new Refusal('scope_unknown', { scope: `must be one of ${scopes.join(', ')}.` });
}

function isScope(text: string): text is Scope {
  return scopes.some((scope) => scope === text);
}

/** Viewers may only read; all others may change what the organisation monitors. */
export function mayWrite(role: Role): boolean {
  return role !== 'viewer';
}

/** Owners and admins manage members, tokens of others, probes and the plan. */
export function mayManage(role: Role): boolean {
  return role === 'owner' || role === 'admin';
}

/**
 * An IANA zone in its own spelling. @throws Refusal `time_zone_invalid`; bare offsets are refused,
 * because they have no summer time.
 */
export function timeZoneFrom(text: string): string {
  const zone = text.trim();
  if (/^[A-Za-z]/.test(zone)) {
    try {
      return Temporal.Instant.fromEpochMilliseconds(0).toZonedDateTimeISO(zone).timeZoneId;
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
    }
  }
  throw new Refusal('time_zone_invalid', {
    time_zone: 'must be an IANA time zone, such as Europe/Berlin or UTC.',
  });
}

/**
 * An e-mail address, trimmed: one @, no spaces, and a dot in the domain or a bare host, as on
 * internal networks.
 */
export function emailFrom(text: string): string {
  const email = text.trim();
  if (
    email.length <= 254 &&
    /^[^\s@<>()",;:\\[\]]{1,64}@[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$/.test(email) &&
    storable(email)
  )
    return email;
  throw new Refusal('email_invalid', {
    email: 'is not an e-mail address; give one such as ada@example.org.',
  });
}

/**
 * @throws Refusal `password_invalid`: length is the only rule, because composition rules make worse
 * passwords.
 */
export function passwordFrom(text: string): string {
  if (text.length < 10)
    throw new Refusal('password_invalid', {
      password: 'password must have at least 10 characters.',
    });
  if (text.length > 1000)
    throw new Refusal('password_invalid', {
      password: 'is longer than 1000 characters; choose a shorter one.',
    });
  return text;
}
