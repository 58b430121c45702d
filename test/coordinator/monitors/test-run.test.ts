import { expect, test } from 'vitest';
import { verdictOf } from '../../../coordinator/monitors/test-run.ts';

test.each([
  ['ok', ['ok', 'ok']],
  ['fail', ['fail', 'fail']],
  ['mixed', ['ok', 'fail', 'unknown']],
  ['ok', ['unknown', 'ok']],
  ['fail', ['fail', 'unknown']],
  ['unknown', ['unknown']],
  ['unknown', []],
] as const)('a test run is %s where the answers are %j', (verdict, outcomes) => {
  expect(verdictOf(outcomes.map((outcome) => ({ outcome })))).toBe(verdict);
});
