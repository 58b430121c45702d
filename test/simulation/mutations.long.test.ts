import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { edited } from './mutations/syntax.ts';
import { type Edit, leftOut, never, value } from './mutations/types.ts';

/**
 * A simulator that never fails proves nothing: rules are left out and mistakes made that it was not
 * told of. `npm run simulate -- --mutations` searches for all of them.
 */
describe('mutations of the code', () => {
  test('each is found by its stored seed, with which the core itself passes', {
    timeout: 300_000,
  }, () => {
    const program = join(import.meta.dirname, 'mutations', 'known.ts');
    // Nobody loads the same mutation again.
    const env = { ...process.env, NODE_DISABLE_COMPILE_CACHE: '1' };
    // Node calls the stripping of types an experiment.
    const quiet = '--disable-warning=ExperimentalWarning';
    const { status, stdout, stderr } = spawnSync(process.execPath, [quiet, program], {
      encoding: 'utf8',
      env,
    });
    expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: '', stderr: '' });
  });

  test('what a mutation changes must be there once', () => {
    const source = 'const far = 2;\nconst isNear = (a: number) => a < far && a + 1 < far;';
    const changed = (of: string, edit: Edit) => edited(source, of, edit);
    expect(changed('far', value('3'))).toBe(source.replace('far = 2', 'far = (3)'));
    expect(changed('isNear', leftOut('a<far'))).toBe(
      source.replace('a < far && a + 1 < far', '(a + 1 < far)'),
    );
    expect(() => changed('isNear', never('far'))).toThrow('far is there 2 times, not once');
    expect(() => changed('isNear', never('a > far'))).toThrow('a > far is there 0 times');
    expect(() => changed('near', value('3'))).toThrow('near is there 0 times');
    expect(() => changed('isNear', leftOut('1'))).toThrow('cannot be left out: 1');
  });
});
