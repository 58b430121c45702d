import { describe, expect, test } from 'vitest';
import { asWritten, observe, type Shown, type Trust, trusting } from '../../../coordinator/core/quarantine.ts';

/** Rule 16: who is trusted, check by check, on the lines that the rule draws. */

const turn_ms = 180_000;
const shown = (target: string, at: number, ok: boolean, others: Shown['others'] = 'pass', turn = turn_ms): Shown => ({
  ...{ target, at, ok, others },
  turn_ms: turn,
});
const trustAfter = (checks: readonly Shown[], targets: number, trust: Trust = trusting, isOnly = false): Trust =>
  checks.reduce((known, each) => observe(known, each, { targets, isOnly, isAll: true }), trust);
const refuted = (...targets: string[]) => targets.map((target, index) => shown(target, index, false));

describe('rule 16: a probe is quarantined', () => {
  test('with three refuted targets, not with two, however few it has', () => {
    expect(trustAfter(refuted('a', 'b'), 2).sick_since).toBeNull();
    expect(trustAfter(refuted('a', 'b', 'c'), 3)).toEqual({ refuted: new Map(), sick_since: 2, clean: 0, cleanTargets: [] });
  });

  test('with four in ten of its targets, not with fewer', () => {
    expect(trustAfter(refuted('a', 'b', 'c', 'd'), 10).sick_since).toBe(3);
    expect(trustAfter(refuted('a', 'b', 'c', 'd'), 11).sick_since).toBeNull();
  });

  test('the only one of its continent with half of its targets or with twenty, not with fewer', () => {
    const sickOf = (wrong: number, targets: number) =>
      trustAfter(refuted(...Array.from({ length: wrong }, (_, index) => `host-${index}`)), targets, trusting, true).sick_since !== null;
    expect([sickOf(2, 2), sickOf(3, 6)]).toEqual([false, true]);
    expect([sickOf(4, 9), sickOf(5, 9)]).toEqual([false, true]);
    expect([sickOf(19, 40), sickOf(20, 40)]).toEqual([false, true]);
    // A large share all the same.
    expect([sickOf(20, 51), sickOf(20, 50)]).toEqual([false, true]);
  });

  test('by what is not older than ten minutes, or two turns where those are longer', () => {
    const then = (turn: number, time: number) =>
      trustAfter([shown('a', 0, false, 'pass', turn), shown('b', 1, false, 'pass', turn), shown('c', time, false, 'pass', turn)], 3)
        .sick_since;
    expect(then(300_000, 599_999)).toBe(599_999);
    expect(then(300_000, 600_000)).toBeNull();
    expect(then(turn_ms, 599_999)).toBe(599_999);
    expect(then(turn_ms, 600_000)).toBeNull();
    expect(then(300_001, 600_001)).toBe(600_001);
    expect(then(300_001, 600_002)).toBeNull();
  });

  test('not by what it got right since, nor by what others saw fail since, and an open question leaves all as it is', () => {
    for (const others of ['pass', 'fail', 'nothing'] as const) {
      const known = trustAfter([...refuted('a', 'b'), shown('a', 10, true, others), shown('c', 11, false)], 3);
      expect(known.sick_since).toBeNull();
    }
    expect(trustAfter([...refuted('a', 'b'), shown('a', 10, false, 'fail'), shown('c', 11, false)], 3).sick_since).toBeNull();
    const known = trustAfter(refuted('a', 'b'), 3);
    expect(observe(known, shown('a', 10, false, 'nothing'), { targets: 3, isOnly: false, isAll: true })).toBe(known);
    expect(observe(known, shown('c', 10, false, 'nothing'), { targets: 3, isOnly: false, isAll: true })).toBe(known);
    expect(observe(known, shown('c', 10, true), { targets: 3, isOnly: false, isAll: true })).toBe(known);
  });
});

describe('rule 16: a probe in quarantine', () => {
  const sick: Trust = { ...trusting, sick_since: 100 };
  const clean = (count: number, targets: readonly string[], from = 200): Shown[] =>
    Array.from({ length: count }, (_, index) => shown(targets[index % targets.length] ?? 'a', from + index, true));

  test('returns after twenty clean shadow checks in a row of three targets', () => {
    expect(trustAfter(clean(19, ['a', 'b', 'c']), 8, sick)).toMatchObject({ sick_since: 100, clean: 19, cleanTargets: ['a', 'b', 'c'] });
    // So many are enough, and each is known once.
    expect(trustAfter(clean(19, ['a', 'a', 'b', 'c', 'd']), 8, sick).cleanTargets).toEqual(['a', 'b', 'c']);
    expect(trustAfter(clean(20, ['a', 'b', 'c', 'd']), 8, sick)).toBe(trusting);
    expect(trustAfter(clean(40, ['a', 'b']), 8, sick)).toMatchObject({ sick_since: 100, clean: 40, cleanTargets: ['a', 'b'] });
  });

  test('returns with those that it has, where it has fewer', () => {
    expect(trustAfter(clean(20, ['a', 'b']), 2, sick)).toBe(trusting);
    expect(trustAfter(clean(20, ['a']), 1, sick)).toBe(trusting);
  });

  test('begins anew after a wrong one, with its targets too', () => {
    const known = trustAfter([...clean(19, ['a', 'b', 'c']), shown('a', 300, false)], 8, sick);
    expect(known).toMatchObject({ sick_since: 100, clean: 0, cleanTargets: [] });
    expect(trustAfter(clean(20, ['d'], 400), 8, known).sick_since).toBe(100);
  });

  test('is judged by checks that started since, the first of them in that very moment', () => {
    expect(observe(sick, shown('a', 99, true), { targets: 8, isOnly: false, isAll: true })).toBe(sick);
    expect(observe(sick, shown('a', 100, true), { targets: 8, isOnly: false, isAll: true }).clean).toBe(1);
  });
});

test('rule 16: what is written down of a probe wins over what one coordinator believes', () => {
  const own = observe(trusting, shown('a', 0, false), { targets: 8, isOnly: false, isAll: true });
  const sick: Trust = { ...trusting, sick_since: 5, clean: 7 };
  expect(asWritten(undefined, null)).toBe(trusting);
  expect(asWritten(undefined, 9)).toEqual({ ...trusting, sick_since: 9 });
  expect(asWritten(own, null)).toBe(own);
  expect(asWritten(sick, 5)).toBe(sick);
  expect(asWritten(sick, null)).toBe(trusting);
  expect(asWritten(own, 9)).toEqual({ ...trusting, sick_since: 9 });
});
