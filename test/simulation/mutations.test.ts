import { describe, expect, test } from 'vitest';
import { type RuleName, ruleNames, without } from '../../coordinator/domain/rules.ts';
import { campaign } from './campaign.ts';

/** A simulator that never fails proves nothing: each rule is turned off in turn, and must be missed. */
/** From where the search begins, for those whose missing shows seldom: hundreds of stories before it would show nothing. */
const startAt: Partial<Record<RuleName, number>> = { older_failure_moves_back: 420, past_is_not_alerted: 700 };

describe('a core without one of its rules is found out', () => {
  test.each(ruleNames)('without %s', { timeout: 180_000 }, (rule) => {
    const sum = campaign({ seed: startAt[rule] ?? 1, rules: without(rule), isEnough: ({ stories }) => stories >= 400 });
    expect(sum.failed).not.toBeNull();
  });
});
