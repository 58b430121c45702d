import { describe, expect, test } from 'vitest';
import { type Phase, quantile, rowOf, type Told } from './judge.ts';
import type { Scenario } from './scenarios.ts';

/** A failure from second 100 to second 150, watched from 70 to 190. */
const phaseOf = (wants: Scenario['wants'], targets = ['a']): Phase => ({
  scenario: { name: 'refused', wants },
  nth: 1,
  targets,
  beganAt: 70_000,
  overAt: 190_000,
  failedAt: 100_000,
  healedAt: 150_000,
});
let message = 0;
const said = (event: Told['event'], s: number, target = 'a'): Told => {
  message += 1;
  return { at: s * 1_000, target, event, message };
};

describe('a failure of which somebody is to be told', () => {
  const rowFor = (...told: Told[]) => rowOf(phaseOf('alert'), 'one', told);

  test('is right when the receiver has it while it lasts, with the times until then and until the end is told', () => {
    expect(rowFor({ ...said('down', 106), seenAt: 104_500 }, said('up', 152))).toMatchObject({
      verdict: 'right',
      told: true,
      lasted_s: 50,
      alert_s: 6,
      seen_s: 4.5,
      clear_s: 2,
      messages: 2,
    });
  });

  test('is missed when nothing comes, or only after its end', () => {
    expect(rowFor()).toMatchObject({ verdict: 'missed', told: false, alert_s: null, messages: 0 });
    expect(rowFor(said('down', 151))).toMatchObject({ verdict: 'missed', alert_s: 51 });
  });

  test('is false when it is told before it began, or anew long after its end', () => {
    expect(rowFor(said('down', 99), said('down', 110)).verdict).toBe('false');
    expect(rowFor(said('down', 110), said('up', 152), said('down', 166)).verdict).toBe('false');
  });

  test('of several targets is told when the last of them is', () => {
    const both = phaseOf('alert', ['a', 'b']);
    const one = said('down', 103);
    const together = { ...said('down', 104, 'b'), message: one.message, seenAt: 103_500 };
    expect(rowOf(both, 'one', [one, together])).toMatchObject({
      verdict: 'right',
      alert_s: 4,
      seen_s: 3.5,
      messages: 1,
    });
    expect(rowOf(both, 'one', [one])).toMatchObject({ verdict: 'missed', alert_s: null });
  });

  test('is not judged by what is said of other targets, or outside its time', () => {
    expect(rowFor(said('down', 103, 'other'), said('down', 60), said('down', 195))).toMatchObject({
      verdict: 'missed',
      messages: 0,
    });
  });
});

test('what is well is right without a word, and false with one', () => {
  expect(rowOf(phaseOf('silence'), 'one', []).verdict).toBe('right');
  expect(rowOf(phaseOf('silence'), 'one', [said('down', 120)]).verdict).toBe('false');
});

test('a short failure may be told or not, but not outside its time', () => {
  const short = { ...phaseOf('either'), healedAt: 102_000 };
  expect(rowOf(short, 'one', [])).toMatchObject({ verdict: 'right', told: false });
  expect(rowOf(short, 'one', [said('down', 103)])).toMatchObject({ verdict: 'right', told: true });
  expect(rowOf(short, 'one', [said('down', 130)]).verdict).toBe('false');
});

test('a quantile is a value that was measured', () => {
  const values = Array.from({ length: 30 }, (_, nth) => 30 - nth);
  expect([0, 0.5, 0.99, 1].map((share) => quantile(values, share))).toEqual([1, 15, 30, 30]);
  expect(quantile([], 0.5)).toBeNull();
});
