import { type Continent, continents } from '../../shared/base/continents.ts';
import type { Roster, RosterProbe } from '../../shared/checks/assignment.ts';
import { continentsOf, reachingInside } from '../../shared/checks/placement.ts';
import type { Watched } from './decision-types.ts';

/** From where a monitor can be seen: what rules 5, 9, 12 and 14 ask of the network. */
export type Reach = {
  /** Continents that can check it now. */
  readonly able: readonly Continent[];
  /** Whether its configuration, or the installation's, lets only one continent check it, however well the others are (rule 14). */
  readonly lone: boolean;
  /** How long a continent's turn takes: with n continents each checks every n × interval (rule 5). */
  readonly turn_ms: number;
};

/** A heartbeat has deadlines and no turns; while it is late its probes judge it again about once a minute. */
const heartbeatTurn = 60_000;

const registeredIn = new WeakMap<Roster, readonly Continent[]>();

const registeredContinents = (roster: Roster): readonly Continent[] => {
  const known = registeredIn.get(roster);
  if (known) return known;
  const made = continents.filter((continent) =>
    roster.probes.some((probe) => probe.organisation === null && probe.continent === continent),
  );
  registeredIn.set(roster, made);
  return made;
};

/** Continents with a public probe, well or not, whose host lets it reach what lies inside a network. */
const continentsReaching = (inside: readonly string[], roster: Roster): readonly Continent[] => {
  const reaching = reachingInside(inside, roster);
  return continents.filter((continent) => roster.probes.some((probe) => probe.continent === continent && reaching.has(probe.id)));
};

export const reachOf = (
  watched: Pick<Watched, 'id' | 'kind' | 'interval_ms' | 'continents' | 'probe' | 'inside'>,
  roster: Roster,
): Reach => {
  const { id, kind, interval_ms, continents: allowed, probe, inside } = watched;
  const able = continentsOf({ monitor: id, interval_ms, ordinal: 0, continents: allowed, probe, inside }, roster);
  const registered = inside === undefined ? registeredContinents(roster) : continentsReaching(inside, roster);
  const configured =
    probe !== null ? 1 : allowed === null ? registered.length : registered.filter((continent) => allowed.includes(continent)).length;
  const turn_ms = kind === 'heartbeat' ? heartbeatTurn : Math.max(1, able.length) * interval_ms;
  return { able, lone: configured <= 1, turn_ms };
};

/** Whether nobody else of its continent is there to see what this public probe sees. */
export const isOnlyOne = (probe: string, { probes }: Roster): boolean => {
  const place = probes.find(({ id }) => id === probe)?.continent;
  return !probes.some(
    ({ id, continent, organisation, healthy, quarantined }) =>
      id !== probe && continent === place && organisation === null && healthy && !quarantined,
  );
};

/** Whether what this probe sees may count for the monitor as it is configured now. */
export const mayCheck = (watched: Pick<Watched, 'continents' | 'probe'>, probe: string, continent: Continent): boolean =>
  watched.probe !== null ? watched.probe === probe : watched.continents === null || watched.continents.includes(continent);

/** Whether this probe could be given the monitor, now or if it were well. */
export const couldHold = (watched: Pick<Watched, 'continents' | 'probe' | 'inside'>, probe: RosterProbe, roster: Roster): boolean => {
  if (!mayCheck(watched, probe.id, probe.continent)) return false;
  if (watched.probe !== null) return true;
  return probe.organisation === null && (watched.inside === undefined || reachingInside(watched.inside, roster).has(probe.id));
};
