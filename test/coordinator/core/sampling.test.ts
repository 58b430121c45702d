import { describe, expect, test } from 'vitest';
import { type Allowances, emptyBudget, isForgotten, mayAsk, neverChecked, nextSample, spend } from '../../../coordinator/core/rechecks.ts';
import type { Watched } from '../../../coordinator/core/types.ts';
import { story } from './story.ts';

/** Rule 13: when an open incident is looked at next, and how many looks there are at most. */

const now = 1_000_000_000;
/** The distance to the next look so long after the sampling began. */
const distance = (
  elapsed: number,
  watched: Partial<Watched>,
  is: { confirmed?: boolean; undecidedAlone?: boolean } = {},
): number | null => {
  const sampling = { since: now - elapsed, next_at: null, turn: 0 };
  const next = nextSample(story(['Europe'], watched).state().watched, sampling, now, { confirmed: false, undecidedAlone: false, ...is });
  return next === null ? null : next - now;
};

describe('rule 13: the next look', () => {
  test.each([
    [0, 5_000],
    [119_999, 5_000],
    [120_000, 10_000],
    [129_999, 10_000],
    [130_000, 20_000],
    [149_999, 20_000],
    [150_000, 40_000],
    [190_000, 80_000],
    [270_000, 100_000],
  ])('%d ms after the first is %d ms away, never more than the interval', (elapsed, expected) => {
    expect(distance(elapsed, { interval_ms: 100_000 })).toBe(expected);
    expect(distance(elapsed, { interval_ms: 15_000 })).toBe(Math.min(expected, 15_000));
    expect(distance(elapsed, { interval_ms: 1_000 })).toBe(5_000);
  });

  test('ends after ten minutes while unconfirmed, and not once it is confirmed', () => {
    expect(distance(599_999, {})).toBe(60_000);
    expect(distance(600_000, {})).toBeNull();
    expect(distance(600_000, {}, { confirmed: true })).toBe(60_000);
  });

  test('rule 14: is every five seconds for two minutes where a lone continent has to decide on what is else not sampled', () => {
    expect(distance(0, { sampled: false })).toBeNull();
    expect(distance(119_999, { sampled: false }, { undecidedAlone: true })).toBe(5_000);
    expect(distance(120_000, { sampled: false }, { undecidedAlone: true })).toBeNull();
  });

  test('rule 20: of a late heartbeat comes half a minute after the last at the latest, without end until it is confirmed', () => {
    expect(distance(119_999, { kind: 'heartbeat' })).toBe(5_000);
    expect(distance(150_000, { kind: 'heartbeat' })).toBe(30_000);
    expect(distance(9_000_000, { kind: 'heartbeat', sampled: false })).toBe(30_000);
    expect(distance(0, { kind: 'heartbeat' }, { confirmed: true })).toBeNull();
  });
});

describe('rule 13: the budget', () => {
  const granted = (allowed: Allowances, asked: readonly (readonly [probe: string, second: number])[]) => {
    let budget = emptyBudget;
    return asked.map(([probe, second]) => {
      const spent = spend(budget, probe, second * 1000, allowed);
      budget = spent.budget;
      return spent.granted;
    });
  };
  const wide = { perSecond: 100, burst: 100 };
  const narrow = { perSecond: 1, burst: 2 };
  const asked = [
    ['a', 100],
    ['a', 100],
    ['a', 100],
    ['a', 100.999],
    ['a', 101],
    ['a', 101],
    // Saved up again, and no more than for a burst.
    ['a', 500],
    ['a', 500],
    ['a', 500],
    // A clock that goes back gives nothing.
    ['a', 400],
  ] as const;
  const expected = [true, true, false, false, true, false, true, true, false, false];

  test('is so much a second, saved up for a burst, for each probe', () => {
    expect(granted({ all: wide, probe: narrow }, asked)).toEqual(expected);
    expect(granted({ all: wide, probe: narrow }, [...asked.slice(0, 3), ['b', 100]])).toEqual([true, true, false, true]);
  });

  test('and for all of them', () => {
    expect(granted({ all: narrow, probe: wide }, asked)).toEqual(expected);
    expect(granted({ all: narrow, probe: wide }, [...asked.slice(0, 3), ['b', 100]])).toEqual([true, true, false, false]);
  });

  test('costs nothing that is not granted', () => {
    const allowed = { all: { perSecond: 0, burst: 2 }, probe: { perSecond: 0, burst: 1 } };
    expect(
      granted(allowed, [
        ['a', 1],
        ['a', 1],
        ['b', 1],
        ['c', 1],
      ]),
    ).toEqual([true, false, true, false]);
  });
});

describe('rule 13: what one monitor may get, whoever wishes for it', () => {
  const grantedOf = (isSample: boolean, everyMs: number, forMs: number): number[] => {
    let asked = neverChecked;
    const granted: number[] = [];
    for (let now = 0; now < forMs; now += everyMs) {
      const next = mayAsk(asked, isSample, now);
      asked = next.asked;
      if (next.granted) granted.push(now);
    }
    return granted;
  };

  test('samples are four seconds apart at least, and none that comes in its time is left out', () => {
    expect(grantedOf(true, 100, 20_000)).toEqual([0, 4_000, 8_000, 12_000, 16_000]);
    expect(grantedOf(true, 5_000, 20_000)).toHaveLength(4);
  });

  test('others are asked twelve times at once, and then once in two seconds', () => {
    const granted = grantedOf(false, 50, 40_000);
    expect(granted.filter((time) => time < 1_000)).toHaveLength(12);
    expect(granted.length).toBe(12 + 19);
  });

  test('samples and questions are counted each for themselves, and what is long ago is forgotten', () => {
    const sampled = mayAsk(neverChecked, true, 0).asked;
    expect(mayAsk(sampled, false, 1).granted).toBe(true);
    expect(isForgotten(mayAsk(sampled, false, 1).asked, 1_000)).toBe(false);
    expect(isForgotten(mayAsk(sampled, false, 1).asked, 10_000)).toBe(true);
  });
});
