import { describe, expect, test } from 'vitest';
import type { Continent } from '../../../shared/base/continents.ts';
import {
  type Assigned,
  assignedElement,
  type Roster,
  type RosterProbe,
} from '../../../shared/checks/assignment.ts';
import {
  nextTurn,
  type Placed,
  placesOf,
  probeOf,
  shareOf,
  turns,
} from '../../../shared/checks/placement.ts';

const idOf = (number: number): string =>
  `00000000-0000-4000-8000-${number.toString(16).padStart(12, '0')}`;

const probeIn = (
  continent: Continent,
  number: number,
  more: Partial<RosterProbe> = {},
): RosterProbe => ({
  id: idOf(number),
  name: `probe-${number}`,
  continent,
  organisation: null,
  healthy: true,
  quarantined: false,
  ...more,
});

const rosterOf = (...probes: RosterProbe[]): Roster => ({ epoch: 1, probes });

const monitor = (number: number, more: Partial<Placed> = {}): Placed => ({
  monitor: idOf(1_000_000 + number * 7919),
  interval_ms: 60_000,
  ordinal: number,
  continents: null,
  probe: null,
  ...more,
});

describe('chosen places', () => {
  const [officeId, clusterId] = [idOf(100), idOf(200)];
  const at = (region: string, number: number, more: Partial<RosterProbe> = {}) =>
    probeIn('Europe', number, { region, ...more });
  const frankfurt = at('Frankfurt', 11);
  const paris = at('Paris', 12);
  const tokyo = probeIn('Asia', 13);
  const office = probeIn('Europe', 100, { organisation: officeId });
  const spare = probeIn('Europe', 101, { organisation: officeId });
  const cluster = probeIn('Asia', 200, { organisation: clusterId });
  const roster = rosterOf(frankfurt, paris, tokyo, office, spare, cluster);
  const choosing = (...places: string[]) => monitor(5, { places });
  const lost = { healthy: false };

  test.each<[string, string[], Roster, string[]]>([
    ['all kinds of them, as chosen', ['Asia', officeId, 'Europe/Paris'], roster, []],
    ['two regions of one continent', ['Europe/Paris', 'Europe/Frankfurt'], roster, []],
    ['a continent without its regions beside it', ['Europe', 'Europe/Paris'], roster, ['Europe']],
    ['none that has no probe', ['Europe/Oslo', 'Asia', idOf(300)], roster, ['Asia']],
    [
      'none whose probes are all lost, while another is left',
      ['Asia', officeId],
      rosterOf(tokyo, { ...office, ...lost }, { ...spare, ...lost }),
      ['Asia'],
    ],
    [
      'private ones whose probes are all lost, where no other is left',
      ['Asia', officeId],
      rosterOf({ ...tokyo, ...lost }, { ...office, ...lost }),
      [officeId],
    ],
  ])('have turns: %s', (_, places, of, expected) => {
    expect(placesOf(choosing(...places), of)).toEqual(expected.length > 0 ? expected : places);
  });

  test('give the target one check an interval in all', () => {
    const placed = choosing('Asia', officeId, 'Europe/Paris', 'Europe/Frankfurt');
    const moments = placesOf(placed, roster).map((place) => {
      const its = turns(placed, place, roster);
      expect(its?.period_ms).toBe(4 * placed.interval_ms);
      return its ? nextTurn(its, 1_800_000_000_000) : Number.NaN;
    });
    const sorted = moments.toSorted((a, b) => a - b);
    expect(sorted.map((moment) => moment - (sorted[0] ?? 0))).toEqual([
      0, 60_000, 120_000, 180_000,
    ]);
  });

  test('are each checked by one of their own probes, and a spare takes over', () => {
    const placed = choosing('Europe/Paris', officeId);
    expect(probeOf(placed, 'Europe/Paris', roster)?.id).toBe(paris.id);
    expect(shareOf(placed, frankfurt.id, roster)).toBeUndefined();
    expect(shareOf(placed, cluster.id, roster)).toBeUndefined();
    const first = probeOf(placed, officeId, roster);
    const members = [office, spare].map((probe) =>
      probe.id === first?.id ? { ...probe, ...lost } : probe,
    );
    const after = rosterOf(paris, ...members);
    const second = members.find(({ healthy }) => healthy);
    expect(probeOf(placed, officeId, after)?.id).toBe(second?.id);
    expect(shareOf(placed, second?.id ?? '', after)).toEqual(turns(placed, officeId, roster));
  });

  test('answer for their continent when that is asked', () => {
    const placed = choosing('Europe/Paris', officeId);
    expect(probeOf(placed, 'Europe', roster)?.id).toBe(paris.id);
    expect(probeOf(placed, 'Asia', roster)).toBeUndefined();
    expect(probeOf(placed, clusterId, roster)).toBeUndefined();
  });

  test('change the digest of an assignment, and only theirs', () => {
    const assigned: Assigned = {
      monitor: idOf(1),
      config_version: 1,
      interval_ms: 60_000,
      ordinal: 1,
      continents: null,
      probe: null,
      key: null,
    };
    expect(assignedElement({ ...assigned, places: null })).toEqual(assignedElement(assigned));
    expect(assignedElement({ ...assigned, places: ['Asia'] })).not.toEqual(
      assignedElement({ ...assigned, places: ['Europe'] }),
    );
  });
});
