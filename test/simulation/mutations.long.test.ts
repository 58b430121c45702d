import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ruleNames, without } from '../../coordinator/core/types.ts';
import { campaign } from './campaign.ts';
import { mutations } from './mutations/list.ts';
import { mutatedSource } from './mutations/mutant.ts';

/**
 * A simulator that never fails proves nothing: each rule is turned off in turn, and must be missed.
 */
describe('a core without one of its rules is recognised', () => {
  test.each(ruleNames)('without %s', { timeout: 180_000 }, (rule) => {
    const sum = campaign({
      seed: 1,
      rules: without(rule),
      isEnough: ({ stories }) => stories >= 400,
    });
    expect(sum.failed).not.toBeNull();
  });
});

/**
 * Mistakes that the simulator was not told of. `npm run simulate -- --mutations` searches for all
 * of them.
 */
describe('mutations of the core', () => {
  test('each is found by its stored seed, with which the core itself passes', {
    timeout: 300_000,
  }, () => {
    const program = join(import.meta.dirname, 'mutations', 'known.ts');
    const { status, stdout, stderr } = spawnSync(process.execPath, [program], { encoding: 'utf8' });
    expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: '', stderr: '' });
  });

  test('of all listed ones at least 25 of 29 are found', () => {
    const found = mutations.filter(({ seed }) => seed !== null).length;
    expect(mutations.length).toBeGreaterThanOrEqual(29);
    expect(found / mutations.length).toBeGreaterThanOrEqual(25 / 29);
  });

  test('a mutation whose text is gone is no mutation, and says so', () => {
    const [one] = mutations;
    expect(one && (() => mutatedSource({ ...one, text: 'this stands nowhere' }))).toThrow(
      'is 0 times',
    );
    expect(one && (() => mutatedSource({ ...one, text: 'const' }))).toThrow('not once');
  });
});
