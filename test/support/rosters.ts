import type { Continent } from '../../shared/base/continents.ts';
import type { Roster, RosterProbe } from '../../shared/checks/assignment.ts';
import type { Placed } from '../../shared/checks/placement.ts';

/** For test files: probes and monitors as placement knows them. */

export const idOf = (number: number): string =>
  `00000000-0000-4000-8000-${number.toString(16).padStart(12, '0')}`;

export const probeIn = (
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

export const rosterOf = (...probes: RosterProbe[]): Roster => ({ epoch: 1, probes });

export const placedMonitor = (number: number, more: Partial<Placed> = {}): Placed => ({
  monitor: idOf(1_000_000 + number * 7919),
  interval_ms: 60_000,
  ordinal: number,
  continents: null,
  probe: null,
  ...more,
});
