import { expect, test } from 'vitest';
import { chosenPlaces } from '../../../coordinator/assignments/publishing.ts';
import { isRoutinePass } from '../../../coordinator/core/decide.ts';
import type { SeenResult } from '../../../coordinator/core/types.ts';

const office = '00000000-0000-4000-8000-000000000001';

test('an assignment goes once to each continent that has a chosen place, and to each private one', () => {
  const places = ['Europe/Paris', office, 'Europe/Oslo', 'Asia', 'Africa', office];
  expect(chosenPlaces(places, ['Asia', 'Europe', 'Oceania'])).toEqual([
    { is: 'continent', continent: 'Asia' },
    { is: 'continent', continent: 'Europe' },
    { is: 'private', place: office },
  ]);
});

test('a pass of the inside takes the fast path only where the inside decides', () => {
  const now = 1_000_000;
  const pass = (place?: string): SeenResult => ({
    ...{ seq: 1, monitor: 'm', config_version: 1, at: now, took_ms: 1, outcome: 'ok', cause: null },
    ...{ phases: null, evidence: null, look: null, quarantined: false, handed_over: false },
    from: { probe: 'p', name: 'p', continent: 'Europe', ...(place ? { place } : {}) },
  });
  const isFast = (result: SeenResult, inside_counts: boolean, places: readonly string[]) =>
    isRoutinePass(
      result,
      {
        ...{ kind: 'https', interval_ms: 60_000, timeout_ms: 5_000, continents: null, probe: null },
        ...{ places, inside_counts },
      },
      {
        ...{ config_version: 1, created_at: 0, paused_at: null, decides_from: 0 },
        ...{ clock: now, covered_until: now, gaps_until: Number.NEGATIVE_INFINITY },
      },
      now,
    );
  expect(isFast(pass(), false, ['Europe', office])).toBe(true);
  expect(isFast(pass(office), false, ['Europe', office])).toBe(false);
  expect(isFast(pass(office), true, ['Europe', office])).toBe(true);
  expect(isFast(pass(office), false, [office])).toBe(true);
  expect(isFast(pass(office), true, ['Europe'])).toBe(false);
});
