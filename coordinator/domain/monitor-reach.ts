import { type Continent, isContinent } from '../../shared/base/continents.ts';
import { Refusal } from '../../shared/base/errors.ts';
import type { Config } from '../../shared/checks/assignment.ts';
import type { Kind } from '../../shared/checks/kinds.ts';
import { insideOf, rangesFrom, reachesAny } from '../../shared/checks/placement.ts';

/** What the row of a probe says of it, whether or not it is present this second. Revoked ones are not among these. */
export type Checker = {
  readonly id: string;
  /** The organisation of a private probe; null for a public one. */
  readonly organisation: string | null;
  readonly continent: Continent;
  readonly allowed_cidrs: readonly string[];
};

const hasOwn = (organisation: string, checkers: readonly Checker[]): boolean =>
  checkers.some((checker) => checker.organisation === organisation);

/** Why this is not the probe that could be named. */
const unfitProbe = (isPublic: boolean, has: boolean): string => {
  if (isPublic) return 'is a public probe, and only a private one can be named; choose places by `continents`, or leave both out.';
  return has
    ? 'is no private probe of this organisation; give the id of one, or leave it out.'
    : 'this organisation has no private probe that could be named; leave it out, or set up one first.';
};

/** The probes that may be given this monitor. @throws Refusal `nobody_can_check` when its config chooses none that exists. */
const chosen = (config: Config, organisation: string, checkers: readonly Checker[]): readonly Checker[] => {
  if (typeof config.probe === 'string') {
    const id = config.probe.toLowerCase();
    const named = checkers.find((checker) => checker.id === id);
    if (named?.organisation === organisation) return [named];
    throw new Refusal('nobody_can_check', `config.probe: ${unfitProbe(named?.organisation === null, hasOwn(organisation, checkers))}`);
  }
  const open = checkers.filter((checker) => checker.organisation === null);
  if (!Array.isArray(config.continents)) return open;
  const wanted = config.continents.filter(isContinent);
  const there = open.filter(({ continent }) => wanted.includes(continent));
  if (there.length > 0) return there;
  const served = [...new Set(open.map(({ continent }) => continent))].toSorted();
  const remedy = served.length === 0 ? 'there are no probes yet' : `probes are in ${served.join(', ')}`;
  throw new Refusal('nobody_can_check', `config.continents: no probe is in ${wanted.join(' or ')}; ${remedy}.`);
};

/**
 * Refuses at once what no probe could ever check: a choice of places where none is, or an address that none of those may reach.
 * @throws Refusal `nobody_can_check` or `target_forbidden`.
 */
export const refuseUnreachable = (
  monitor: { readonly kind: Kind; readonly target: string; readonly config: Config; readonly organisation: string },
  checkers: readonly Checker[],
): void => {
  const candidates = chosen(monitor.config, monitor.organisation, checkers);
  const inside = insideOf(monitor.kind, monitor.target, monitor.config);
  if (!inside) return;
  // The same judgement that the probe's guard makes when it connects, from what its host last said that it allows.
  if (candidates.some(({ allowed_cidrs }) => reachesAny(inside.addresses, rangesFrom(allowed_cidrs)))) return;
  const remedy = hasOwn(monitor.organisation, checkers)
    ? 'name one of your private probes as `config.probe` whose host allows it (PROBE_ALLOW_CIDRS)'
    : 'give a public address, or set up a private probe inside that network';
  throw new Refusal(
    'target_forbidden',
    `${inside.key}: ${inside.host} is not a public address, and no probe that could check it may reach it; ${remedy}.`,
  );
};
