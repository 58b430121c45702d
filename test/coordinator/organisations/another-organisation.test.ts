import { describe, expect, test } from 'vitest';
import { maxOwned, planOfAnother } from '../../../coordinator/organisations/model.ts';
import { Refusal } from '../../../shared/base/errors.ts';

const outcome = (...asked: Parameters<typeof planOfAnother>): string => {
  const plan = planOfAnother(...asked);
  return plan instanceof Refusal ? plan.code : plan;
};
const open = { signUp: 'open', signUpPlan: 'free', mail: true } as const;
const invited = { signUp: 'invited', signUpPlan: 'free', mail: true } as const;

describe('another organisation', () => {
  test('has the plan of whoever signs up, where anybody may, for whoever proved their address', () => {
    expect(outcome({ owned: ['business'], isProven: true }, open)).toBe('free');
    expect(outcome({ owned: [], isProven: true }, open)).toBe('free');
    expect(outcome({ owned: ['business'], isProven: false }, open)).toBe('email_unproven');
  });

  test('has the plan of the first that they own, where people come by invitation', () => {
    expect(outcome({ owned: ['business', 'free'], isProven: false }, invited)).toBe('business');
    expect(outcome({ owned: [], isProven: true }, invited)).toBe('sign_up_closed');
    expect(outcome({ owned: [], isProven: true }, { ...open, mail: false })).toBe('sign_up_closed');
  });

  test('is one too many after a few, whoever asks', () => {
    const owned = Array.from({ length: maxOwned }, () => 'free' as const);
    expect(outcome({ owned, isProven: true }, open)).toBe('organisations_enough');
    expect(outcome({ owned, isProven: true }, invited)).toBe('organisations_enough');
    expect(outcome({ owned: owned.slice(1), isProven: true }, invited)).toBe('free');
  });
});
