import { Refusal } from '../../shared/base/errors.ts';
import type { PlanName } from './plan-limits.ts';

/** So many organisations somebody owns at most who made them by themselves: plans count what is in one, not how many there are. */
export const mostOwned = 5;

/** The plan of another organisation that somebody would make; or the reason why there can be none. */
export const planOfAnother = (
  {
    owned,
    isProven,
  }: { /** The plans of those that they own, the oldest first. */ readonly owned: readonly PlanName[]; readonly isProven: boolean },
  door: { readonly signUp: 'open' | 'invited'; readonly signUpPlan: PlanName; readonly mail: boolean },
): PlanName | Refusal => {
  if (owned.length >= mostOwned)
    return new Refusal('organisations_enough', `You own ${owned.length} organisations, and ${mostOwned} are the most; delete one first.`);
  if (door.signUp === 'open' && door.mail)
    return isProven
      ? door.signUpPlan
      : new Refusal('email_unproven', 'Prove first that your e-mail address is yours, in your profile; then make an organisation.');
  // Nobody comes in here by themselves: whom the operator gave an organisation may make another of its kind.
  return (
    owned[0] ?? new Refusal('sign_up_closed', 'Only who owns an organisation here makes another one; ask whoever runs this installation.')
  );
};
