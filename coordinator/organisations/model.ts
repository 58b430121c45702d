import { Refusal } from '../../shared/base/errors.ts';
import { storable } from '../../shared/base/names.ts';
import type { Role } from '../gate/caller.ts';
import type { PlanName } from '../gate/plans.ts';

/** A membership that begins, changes or ends; undefined: there is none. */
export type Move = {
  readonly user: string;
  readonly before: Role | undefined;
  readonly after: Role | undefined;
};

export function lastOwner(): Refusal {
  return new Refusal(
    'last_owner',
    'This is the only owner of the organisation. Make another member an owner first.',
  );
}

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
  door: SignUpPolicy,
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
    email: 'must be an e-mail address, such as ada@example.org.',
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

/** The sign-up policy, which the operator chooses. */
export type SignUpPolicy = {
  readonly signUp: 'open' | 'invited';
  /** The plan of an organisation that signs up. */
  readonly signUpPlan: PlanName;
  /** Whether mail can be sent. */
  readonly mail: boolean;
};
