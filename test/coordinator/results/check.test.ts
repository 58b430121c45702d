import { expect, test } from 'vitest';
import { type Check, unionOf } from '../../../coordinator/results/check.ts';

const check = (at: number, probe: number, more: Partial<Check> = {}): Check => ({
  probe,
  at,
  took_ms: 10,
  outcome: 'ok',
  cause: null,
  phases: null,
  ...more,
});

test('the union of checks has each once, in order of start', () => {
  const [first, second, third] = [check(1, 2), check(2, 1), check(2, 2)];
  expect(unionOf([third, first], [], [{ ...first }, second])).toEqual([first, second, third]);
});

test('of two checks of one name that differ, the same one is chosen in either order', () => {
  const failed = check(1, 1, { outcome: 'fail', cause: 'connect_refused' });
  const phases = { dns: 1, tcp: null, tls: null, first_byte: null, total: null };
  const pairs: [Check, Check][] = [
    [failed, check(1, 1)],
    [failed, { ...failed, cause: null }],
    [check(1, 1, { phases }), check(1, 1)],
    [check(1, 1, { took_ms: 9 }), check(1, 1)],
    [check(1, 1, { phases }), check(1, 1, { phases: { ...phases, tls: 3, dns: 0.5 } })],
  ];
  for (const [chosen, other] of pairs) {
    expect(unionOf([chosen], [other])).toEqual([chosen]);
    expect(unionOf([other], [chosen])).toEqual([chosen]);
  }
});
