import { describe, expect, test } from 'vitest';
import { counted, scopeOf } from '../../../coordinator/core/incident.ts';
import type { Incident } from '../../../coordinator/core/types.ts';
import type { Continent } from '../../../shared/base/continents.ts';

const [started, confirmed] = [1_000_000, 1_005_000];
const incident: Incident = {
  ...{ id: 'i', started_at: started, confirmed_at: confirmed, resolved_at: null, seen: null, confirmed: null, cause: null, note: null },
  ...{ scope: 'everywhere', layer: null },
  progress: {
    ...{ refuted: false, below_since: null, run: 0, run_at: 0, matrix: null, asked_at: 0, past_at: 0, alerted: false, told_alone: false },
    ...{ sampling: { since: started, next_at: null, turn: 0 }, failed: ['Europe', 'Asia'], passed: [] },
  },
};

type Look = readonly [continent: Continent, saw: 'pass' | 'fail', at: number];
const seenBy = (able: readonly Continent[], ...looks: readonly Look[]) =>
  looks.reduce((all, [place, saw, at]) => counted(all, { continent: place, ok: saw === 'pass', at }, able), incident);
const having = (...looks: readonly Look[]) => seenBy(['Europe', 'Asia'], ...looks);

describe('rule 15: the scope of an outage', () => {
  test('is told by every continent that passed meanwhile and never failed', () => {
    expect(having(['Africa', 'pass', confirmed]).scope).toBe('some_continents');
    expect(having(['Africa', 'pass', confirmed], ['Africa', 'fail', confirmed + 1_000]).scope).toBe('everywhere');
    const two = [
      ['Africa', 'pass', confirmed],
      ['Oceania', 'pass', confirmed],
    ] as const;
    expect(having(...two, ['Oceania', 'fail', confirmed + 1_000]).scope).toBe('some_continents');
  });

  test('is everywhere only once all that are asked have failed', () => {
    const three: readonly Continent[] = ['Europe', 'Asia', 'North America'];
    expect(scopeOf(null, { failed: ['Europe', 'Asia'], passed: [], asked: three })).toBe('some_continents');
    expect(scopeOf(null, { failed: ['Asia', 'North America', 'Europe'], passed: [], asked: three })).toBe('everywhere');
    expect(scopeOf(null, { failed: ['Europe'], passed: [], asked: ['Europe'] })).toBe('one_continent');
    expect(seenBy(three, ['Africa', 'fail', confirmed]).scope).toBe('some_continents');
    expect(seenBy(three, ['North America', 'fail', confirmed]).scope).toBe('everywhere');
    expect(seenBy(three, ['North America', 'fail', confirmed]).progress.asked).toEqual(three);
  });

  test('has passes until a minute after it was confirmed in it, and failures however late', () => {
    expect(having(['Africa', 'pass', confirmed + 60_000]).progress.passed).toEqual(['Africa']);
    expect(having(['Africa', 'pass', confirmed + 60_001])).toBe(incident);
    expect(having(['Africa', 'fail', confirmed + 600_000]).progress.failed).toEqual(['Europe', 'Asia', 'Africa']);
  });

  test('has nothing from before it began in it, and each continent once', () => {
    expect(having(['Africa', 'pass', started - 1])).toBe(incident);
    expect(having(['Africa', 'fail', started]).progress.failed).toEqual(['Europe', 'Asia', 'Africa']);
    expect(having(['Asia', 'fail', confirmed])).toBe(incident);
  });
});
