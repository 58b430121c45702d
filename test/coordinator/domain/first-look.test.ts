import { describe, expect, test } from 'vitest';
import { firstLook } from '../../../coordinator/domain/first-look.ts';
import type { Continent } from '../../../shared/base/continents.ts';
import type { Roster } from '../../../shared/checks/assignment.ts';
import { nextTurn, type Placed, turns } from '../../../shared/checks/placement.ts';

const places: readonly Continent[] = ['Asia', 'Europe', 'North America'];
const roster: Roster = {
  epoch: 1,
  probes: places.map((continent) => ({ id: continent, name: continent, continent, organisation: null, healthy: true, quarantined: false })),
};
const hourly: Placed = { monitor: 'one', interval_ms: 3_600_000, ordinal: 7, continents: null, probe: null };
const now = 1_800_000_000_000;
const turnOf = (placed: Placed, continent: Continent, from: number): number => {
  const its = turns(placed, continent, roster);
  if (!its) throw new Error(`${continent} has no turn`);
  return nextTurn(its, from);
};

describe('A first look', () => {
  test('is asked of the continent whose turn is next', () => {
    const next = places.toSorted((one, other) => turnOf(hourly, one, now) - turnOf(hourly, other, now))[0];
    expect(firstLook(hourly, roster, now)).toEqual({ continent: next, turn_at: turnOf(hourly, next ?? 'Asia', now) });
  });

  test('is not asked when a turn comes within ten seconds anyway', () => {
    const due = Math.min(...places.map((continent) => turnOf(hourly, continent, now)));
    expect(firstLook(hourly, roster, due - 9_000)).toBeUndefined();
    expect(firstLook(hourly, roster, due - 11_000)).toBeDefined();
    expect(firstLook({ ...hourly, interval_ms: 10_000 }, roster, now)).toBeUndefined();
  });

  test('is asked only where the monitor may be checked, and of nobody when nobody can', () => {
    expect(firstLook({ ...hourly, continents: ['Asia'] }, roster, now)?.continent).toBe('Asia');
    expect(firstLook({ ...hourly, continents: ['Africa'] }, roster, now)).toBeUndefined();
    expect(firstLook(hourly, { epoch: 2, probes: [] }, now)).toBeUndefined();
  });
});
