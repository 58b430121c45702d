import { describe, expect, test } from 'vitest';
import { ruleNames, without } from '../../coordinator/domain/rules.ts';
import { campaign } from './campaign.ts';

/** A simulator that never fails proves nothing: each rule is turned off in turn, and must be missed. */
describe('a core without one of its rules is found out', () => {
  test.each(ruleNames)('without %s', { timeout: 180_000 }, (rule) => {
    const sum = campaign({ seed: 1, rules: without(rule), isEnough: ({ stories }) => stories >= 400 });
    expect(sum.failed).not.toBeNull();
  });
});
