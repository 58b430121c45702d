import { describe, expect, test } from 'vitest';
import type { Roster } from '../../../shared/checks/assignment.ts';
import { confirmerOf, probeOf } from '../../../shared/checks/placement.ts';
import { idOf, placedMonitor, probeIn, rosterOf } from '../../support/rosters.ts';

const europe = probeIn('Europe', 1);

describe('who confirms what a probe saw', () => {
  const seeing = { ...europe, origin_as: 64_500 };
  const here = (number: number, origin_as?: number) =>
    probeIn('Asia', number, origin_as === undefined ? {} : { origin_as });
  const asked = (roster: Roster, seenBy: string | undefined = seeing.id) =>
    Array.from({ length: 100 }, (_, number) => {
      const of = confirmerOf(placedMonitor(number), 'Asia', roster, seenBy);
      return { of: of?.id, usual: probeOf(placedMonitor(number), 'Asia', roster)?.id };
    });

  test('is in another autonomous system, where there is a choice', () => {
    const [same, other, unknown] = [here(11, 64_500), here(12, 64_501), here(13)];
    const roster = rosterOf(seeing, same, other, unknown);
    const ofEach = asked(roster);
    expect(new Set(ofEach.map(({ usual }) => usual))).toEqual(
      new Set([same.id, other.id, unknown.id]),
    );
    for (const { of, usual } of ofEach) expect(of).toBe(usual === same.id ? other.id : usual);
  });

  test('is who checks there, where there is none, or nothing is known', () => {
    const same = here(11, 64_500);
    const alike = rosterOf(seeing, same, here(13));
    const unknown = rosterOf(europe, same, here(12, 64_501));
    for (const roster of [alike, unknown])
      for (const { of, usual } of asked(roster)) expect(of).toBe(usual);
    const roster = rosterOf(seeing, same, here(12, 64_501));
    for (const seenBy of ['', idOf(99)])
      for (const { of, usual } of asked(roster, seenBy)) expect(of).toBe(usual);
  });
});
