import { describe, expect, test } from 'vitest';
import type { Watched } from '../../../coordinator/core/types.ts';
import { mayCheck, reachOf } from '../../../coordinator/core/views.ts';
import type { Continent } from '../../../shared/base/continents.ts';
import type { Roster, RosterProbe } from '../../../shared/checks/assignment.ts';
import { story } from './story.ts';

/** Rules 5 and 14: from where a monitor can be seen, and whether only one place may. */

const probe = (id: string, continent: Continent, more: Partial<RosterProbe> = {}): RosterProbe => ({
  ...{ id, name: id, continent, organisation: null, healthy: true, quarantined: false },
  ...more,
});
const reach = (watched: Partial<Watched>, ...probes: RosterProbe[]) => {
  const roster: Roster = { epoch: 1, probes };
  return reachOf(story(['Europe'], watched).state().watched, roster);
};
const [asia, europe, africa] = [probe('a', 'Asia'), probe('e', 'Europe'), probe('f', 'Africa')] as const;
const lost = { healthy: false };

describe('rule 14: a monitor is checked by one continent alone', () => {
  test('where the installation has one, or its configuration names one', () => {
    expect(reach({}, asia)).toEqual({ able: ['Asia'], lone: true, turn_ms: 60_000 });
    expect(reach({ continents: ['Asia'] }, asia, europe)).toEqual({ able: ['Asia'], lone: true, turn_ms: 60_000 });
    expect(reach({ continents: ['Asia', 'Oceania'] }, asia, europe).lone).toBe(true);
    expect(reach({ probe: 'p' }, asia, europe, probe('p', 'Oceania', { organisation: 'organisation' }))).toMatchObject({
      able: ['Oceania'],
      lone: true,
    });
  });

  test('not where the others are lost or in quarantine', () => {
    expect(reach({}, asia, europe, africa)).toMatchObject({ lone: false, turn_ms: 180_000 });
    expect(reach({}, asia, { ...europe, ...lost })).toEqual({ able: ['Asia'], lone: false, turn_ms: 60_000 });
    expect(reach({}, asia, { ...europe, quarantined: true })).toMatchObject({ able: ['Asia'], lone: false });
    expect(reach({}, { ...asia, ...lost }, { ...europe, ...lost })).toEqual({ able: [], lone: false, turn_ms: 60_000 });
  });

  test('where private probes are the only others', () => {
    expect(reach({}, asia, probe('p', 'Europe', { organisation: 'organisation' })).lone).toBe(true);
  });

  test('where one continent alone has probes that may reach a target inside a network', () => {
    const inside = ['10.0.0.1'];
    const open = { allowed_cidrs: ['10.0.0.0/8'] };
    expect(reach({ inside }, { ...asia, ...open }, europe)).toMatchObject({ able: ['Asia'], lone: true });
    expect(reach({ inside }, { ...asia, ...open }, { ...europe, ...open })).toMatchObject({ able: ['Asia', 'Europe'], lone: false });
    expect(reach({ inside }, { ...asia, ...open }, { ...europe, ...open, ...lost })).toMatchObject({ able: ['Asia'], lone: false });
  });
});

test('rule 20: a heartbeat is judged again about once a minute, wherever it is judged', () => {
  expect(reach({ kind: 'heartbeat', interval_ms: 3_600_000 }, asia, europe).turn_ms).toBe(60_000);
});

test('rule 5: a private probe checks what names it, a public one what its continent may', () => {
  expect(mayCheck({ probe: 'p', continents: ['Asia'] }, 'p', 'Europe')).toBe(true);
  expect(mayCheck({ probe: 'p', continents: ['Asia'] }, 'a', 'Asia')).toBe(false);
  expect(mayCheck({ probe: null, continents: ['Asia'] }, 'a', 'Asia')).toBe(true);
  expect(mayCheck({ probe: null, continents: ['Asia'] }, 'e', 'Europe')).toBe(false);
  expect(mayCheck({ probe: null, continents: null }, 'e', 'Europe')).toBe(true);
});
