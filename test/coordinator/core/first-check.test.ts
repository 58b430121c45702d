import { describe, expect, test } from 'vitest';
import { firstCheck } from '../../../coordinator/core/rechecks.ts';
import type { Continent } from '../../../shared/base/continents.ts';
import type { Roster } from '../../../shared/checks/assignment.ts';
import { nextTurn, type Placed, turns } from '../../../shared/checks/placement.ts';

type Asked = Parameters<typeof firstCheck>[0];

const places: readonly Continent[] = ['Asia', 'Europe', 'North America'];
const roster: Roster = {
  epoch: 1,
  probes: places.map((continent) => ({ id: continent, name: continent, continent, organisation: null, healthy: true, quarantined: false })),
};
const hourly: Asked = { monitor: 'one', interval_ms: 3_600_000, timeout_ms: 10_000, ordinal: 7, continents: null, probe: null };
const now = 1_800_000_000_000;
const turnOf = (placed: Placed, continent: Continent, from: number): number => {
  const its = turns(placed, continent, roster);
  if (!its) throw new Error(`${continent} has no turn`);
  return nextTurn(its, from);
};
const without = (...gone: readonly string[]): Roster => ({
  epoch: 2,
  probes: roster.probes.map((probe) => ({ ...probe, healthy: !gone.includes(probe.id) })),
});
const asked = (assignment: Asked, at: number) => firstCheck(assignment, undefined, roster, at);

describe('A first look', () => {
  test('is asked of the continent whose turn is next', () => {
    const next = places.toSorted((one, other) => turnOf(hourly, one, now) - turnOf(hourly, other, now))[0];
    expect(asked(hourly, now).look).toEqual({ continent: next, turn_at: turnOf(hourly, next ?? 'Asia', now) });
  });

  test('is not asked when a turn comes within a second anyway', () => {
    const due = Math.min(...places.map((continent) => turnOf(hourly, continent, now)));
    expect(asked(hourly, due - 900).look).toBeUndefined();
    expect(asked(hourly, due - 1_100).look).toBeDefined();
    expect(asked(hourly, due - 5_000).look).toBeDefined();
  });

  test('is asked only where the monitor may be checked, and of nobody when nobody can', () => {
    expect(asked({ ...hourly, continents: ['Asia'] }, now).look?.continent).toBe('Asia');
    expect(asked({ ...hourly, continents: ['Africa'] }, now)).toEqual({ awaited: undefined, look: undefined });
    expect(firstCheck(hourly, undefined, { epoch: 2, probes: [] }, now)).toEqual({ awaited: undefined, look: undefined });
  });

  test('is not asked again while it is awaited, whoever else comes or goes', () => {
    const { awaited, look } = asked(hourly, now);
    const others = places.filter((continent) => continent !== look?.continent);
    for (const network of [roster, without(...others)])
      expect(firstCheck(hourly, awaited, network, now + 20_000)).toEqual({ awaited, look: undefined });
  });

  test('is asked at once of another when the probe that was asked is lost', () => {
    const { awaited, look } = asked(hourly, now);
    const again = firstCheck(hourly, awaited, without(look?.continent ?? ''), now + 1);
    expect(again.look?.continent).not.toBe(look?.continent);
    expect(again.awaited).toMatchObject({ probe: again.look?.continent, until: now + 1 + 25_000 });
  });

  test('is asked again when it was not answered within its time limit and a quarter of a minute, then half as often each time', () => {
    const times: number[] = [];
    let { awaited } = asked(hourly, now);
    for (let at = now; at < now + 200_000; at += 1_000) {
      const step = firstCheck(hourly, awaited, roster, at);
      if (step.look) times.push((at - now) / 1_000);
      awaited = step.awaited;
    }
    expect(times).toEqual([25, 75, 175]);
  });

  test('is asked after a turn that was to come soon, and brought nothing', () => {
    const due = Math.min(...places.map((continent) => turnOf(hourly, continent, now)));
    const { awaited } = asked(hourly, due - 900);
    expect(firstCheck(hourly, awaited, roster, due + 24_999).look).toBeUndefined();
    expect(firstCheck(hourly, awaited, roster, due + 25_000).look).toBeDefined();
  });
});
