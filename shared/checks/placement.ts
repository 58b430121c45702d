import { createRecentCache, type RecentCache } from '../base/async.ts';
import { type Continent, continents } from '../base/continents.ts';
import { type Cidr, isPublic, mayReach, parseAddress, parseCidr } from '../base/network.ts';
import {
  type Assignment,
  type Config,
  hashOf,
  type Roster,
  type RosterProbe,
  stir,
} from './assignment.ts';
import { hostAndPort, hostIn } from './connection/config.ts';
import { parseResolver } from './dns/config.ts';
import { grpcEndpoint } from './grpc/config.ts';
import { httpsUrl } from './https/config.ts';
import { isForSome, type Kind } from './kinds.ts';
import { websocketUrl } from './websocket/config.ts';

/**
 * Monitors of targets inside a private network: only probes whose host allows it can check them
 * (PROBE_ALLOW_CIDRS).
 */

/**
 * The addresses that a host certainly means. A name means none here: only the probe knows what it
 * resolves to.
 */
const addressesOf = (host: string): readonly string[] => {
  const name = host
    .replace(/^\[|\]$/g, '')
    .replace(/\.$/, '')
    .toLowerCase();
  return name === 'localhost' || name.endsWith('.localhost')
    ? ['127.0.0.1', '::1']
    : parseAddress(name)
      ? [name]
      : [];
};

export type Inside = {
  /** Which key of the monitor contains it. */
  readonly key: 'target' | 'config.resolver';
  readonly host: string;
  /** None of them is public; reaching one is enough. */
  readonly addresses: readonly string[];
};

/** Undefined for a public address or a name. */
export const insideOf = (kind: Kind, target: string, config: Config): Inside | undefined => {
  const { key, hostIn } = dialed[kind];
  const host = hostIn(target, config);
  if (host === undefined) return undefined;
  const addresses = addressesOf(host);
  if (addresses.length === 0 || addresses.some((text) => isOpen(text))) return undefined;
  return { key, host, addresses };
};

/** The host that a probe connects to for a check, and the member that names it. */
const dialed: Readonly<
  Record<
    Kind,
    {
      readonly key: Inside['key'];
      readonly hostIn: (target: string, config: Config) => string | undefined;
    }
  >
> = {
  https: { key: 'target', hostIn: (target) => httpsUrl(target)?.hostname },
  dns: {
    key: 'config.resolver',
    hostIn: (_, { resolver }) =>
      typeof resolver === 'string' ? parseResolver(resolver)?.address : undefined,
  },
  tcp: { key: 'target', hostIn: (target) => hostAndPort('tcp', target)?.host },
  tls: { key: 'target', hostIn: (target) => hostAndPort('tls', target)?.host },
  websocket: { key: 'target', hostIn: (target) => websocketUrl(target)?.hostname },
  grpc: { key: 'target', hostIn: (target) => grpcEndpoint(target)?.host },
  heartbeat: { key: 'target', hostIn: () => undefined },
  domain: { key: 'target', hostIn: () => undefined },
  icmp: { key: 'target', hostIn: (target) => hostIn(target) },
};

const isOpen = (text: string): boolean => {
  const address = parseAddress(text);
  return address !== undefined && isPublic(address);
};

export const rangesFrom = (texts: readonly string[]): readonly Cidr[] =>
  texts.map((text) => parseCidr(text)).filter((range) => range !== undefined);

const reaches = (text: string, ranges: readonly Cidr[]): boolean => {
  const address = parseAddress(text);
  return address !== undefined && mayReach(address, ranges);
};

export const reachesAny = (addresses: readonly string[], ranges: readonly Cidr[]): boolean =>
  addresses.some((text) => reaches(text, ranges));
export const reachesAll = (addresses: readonly string[], ranges: readonly Cidr[]): boolean =>
  addresses.every((text) => reaches(text, ranges));

const known = new WeakMap<RosterProbe, readonly Cidr[]>();

/** Non-public ranges that this probe's host allows, according to the roster. */
export const rangesOf = (probe: RosterProbe): readonly Cidr[] => {
  const found = known.get(probe) ?? rangesFrom(probe.allowed_cidrs ?? []);
  known.set(probe, found);
  return found;
};

/**
 * Who checks what, and when (rule 5): functions of the assignment and the roster alone. Every probe
 * and every coordinator computes the same answer without communication.
 */

/**
 * What https checks may ask of a probe beyond what those of the first version do. A probe says
 * which of it it does, beside its kinds.
 */
export const httpsAbilities = ['client_certificate', 'both_families'] as const;
export type HttpsAbility = (typeof httpsAbilities)[number];

/** The ability that this config asks for. Probes with both families know certificates, too. */
export const abilityFor = (
  kind: Kind,
  { ip_family, client_certificate = null }: Config,
): HttpsAbility | undefined => {
  if (kind !== 'https') return undefined;
  if (ip_family === 'both') return 'both_families';
  return client_certificate === null ? undefined : 'client_certificate';
};

/** What only some probes do for a check: a kind besides the first ones, or the ability it needs. */
export const specialOf = (
  kind: Kind | undefined,
  ability: HttpsAbility | undefined,
): Kind | HttpsAbility | undefined => (kind !== undefined && isForSome(kind) ? kind : ability);

/**
 * What placement needs of an assignment. `inside`: the addresses of its target, when none of them
 * is public.
 */
export type Placed = Pick<
  Assignment,
  'monitor' | 'interval_ms' | 'ordinal' | 'continents' | 'probe' | 'places'
> & {
  readonly inside?: readonly string[] | undefined;
  /** Undefined: one that every probe checks. */
  readonly kind?: Kind | undefined;
  readonly ability?: HttpsAbility | undefined;
};

/**
 * A monitor's turns in one place: due whenever (t − offset) mod period = 0, t in milliseconds since
 * the epoch.
 */
export type Turns = { readonly period_ms: number; readonly offset_ms: number };

type Candidate = { readonly probe: RosterProbe; readonly hash: number };

/** A roster indexed for lookups: who gets work on a continent and in a private place. */
type Arranged = {
  readonly byId: ReadonlyMap<string, RosterProbe>;
  readonly candidates: ReadonlyMap<Continent, readonly Candidate[]>;
  readonly places: ReadonlyMap<string, readonly Candidate[]>;
  /** Which probes can check something: the same few targets and kinds are asked about repeatedly. */
  readonly able: RecentCache<string, ReadonlySet<string>>;
  readonly served: readonly Continent[];
};

const maxReaching = 10_000;

const arrangements = new WeakMap<Roster, Arranged>();

const arrange = (roster: Roster): Arranged => {
  const known = arrangements.get(roster);
  if (known) return known;
  const all = roster.probes.map((probe) => ({ probe, hash: hashOf(probe.id) }));
  const isWell = ({ probe: { healthy, quarantined } }: Candidate) => healthy && !quarantined;
  const candidates = Map.groupBy(
    all.filter((each) => each.probe.organisation === null && isWell(each)),
    ({ probe }) => probe.continent,
  );
  const places = new Map<string, readonly Candidate[]>();
  for (const [place, members] of Map.groupBy(all, ({ probe }) => probe.organisation)) {
    if (place === null) continue;
    const well = members.filter(isWell);
    places.set(place, well.length > 0 ? well : members);
  }
  const byId = new Map(roster.probes.map((probe) => [probe.id, probe] as const));
  const made = {
    byId,
    candidates,
    places,
    able: createRecentCache<string, ReadonlySet<string>>(maxReaching),
    served: continents.filter((continent) => candidates.has(continent)),
  };
  arrangements.set(roster, made);
  return made;
};

/**
 * The public probes that can check it, healthy or not: they check its kind as it wants, and their
 * hosts may reach its private addresses. Undefined when all can.
 */
export const ableToCheck = (
  { kind, ability, inside }: Pick<Placed, 'kind' | 'ability' | 'inside'>,
  roster: Roster,
): ReadonlySet<string> | undefined => {
  const special = specialOf(kind, ability);
  if (special === undefined && inside === undefined) return undefined;
  const { able } = arrange(roster);
  const name = `${special ?? ''} ${inside?.join() ?? ''}`;
  const existing = able.find(name);
  if (existing) return existing;
  const found = roster.probes.filter(
    (probe) =>
      probe.organisation === null &&
      (special === undefined || probe.kinds?.includes(special) === true) &&
      (inside === undefined || reachesAny(inside, rangesOf(probe))),
  );
  const made = new Set(found.map(({ id }) => id));
  able.keep(name, made);
  return made;
};

/**
 * The continents that check this monitor now, in their fixed order: those it allows that have a
 * public probe which is healthy, not quarantined, and can check it. A monitor of a private place is
 * checked from the continent of that place, also while none of its probes is healthy, because no
 * other probe can replace them.
 */
export const continentsOf = (assignment: Placed, roster: Roster): readonly Continent[] => {
  const { served, candidates, places } = arrange(roster);
  if (assignment.probe !== null) {
    const home = places.get(assignment.probe)?.[0]?.probe.continent;
    return home === undefined ? [] : [home];
  }
  const { continents: allowed } = assignment;
  const wanted =
    allowed === null ? served : served.filter((continent) => allowed.includes(continent));
  const able = ableToCheck(assignment, roster);
  if (able === undefined) return wanted;
  return wanted.filter((continent) =>
    candidates.get(continent)?.some(({ probe }) => able.has(probe.id)),
  );
};

/**
 * The probes of this continent, or of the private place, among which the monitor's checks are
 * drawn.
 */
const hereFor = (
  assignment: Placed,
  continent: Continent,
  roster: Roster,
): readonly Candidate[] | undefined => {
  const { candidates, places } = arrange(roster);
  const { probe: place, continents: allowed, kind, ability } = assignment;
  if (place !== null) {
    const all = places.get(place)?.filter(({ probe }) => probe.continent === continent);
    const special = specialOf(kind, ability);
    if (special === undefined) return all;
    const able = all?.filter(({ probe }) => probe.kinds?.includes(special));
    return able && able.length > 0 ? able : all;
  }
  if (allowed !== null && !allowed.includes(continent)) return undefined;
  const all = candidates.get(continent);
  const able = ableToCheck(assignment, roster);
  return able ? all?.filter(({ probe }) => able.has(probe.id)) : all;
};

/**
 * The probe that checks this monitor from this continent: the one with the highest draw (rendezvous
 * hashing), so a probe that comes or goes moves only its own share. Undefined when no probe there
 * can.
 */
export const probeOf = (
  assignment: Placed,
  continent: Continent,
  roster: Roster,
): RosterProbe | undefined => {
  const here = hereFor(assignment, continent, roster);
  if (!here || here.length <= 1) return here?.[0]?.probe;
  const monitor = hashOf(assignment.monitor);
  let best: RosterProbe | undefined;
  let highest = -1;
  for (const { probe, hash } of here) {
    const draw = stir(monitor ^ hash);
    if (draw > highest || (draw === highest && best !== undefined && probe.id < best.id))
      [best, highest] = [probe, draw];
  }
  return best;
};

/**
 * 2³² divided by the golden ratio: its multiples spread more evenly than those of any other number,
 * for any count.
 */
const goldenStep = 0x9e3779b9;

/**
 * When in its interval a monitor is checked. It depends on the ordinal alone, so a change of the
 * network moves no check.
 */
const phaseOf = ({ ordinal, interval_ms }: Placed): number =>
  Math.floor(((Math.imul(ordinal, goldenStep) >>> 0) / 2 ** 32) * interval_ms);

/**
 * The turns of a continent: with n continents each checks every n × interval, one interval after
 * the other. The target gets exactly one check per interval. The first continent rotates with the
 * ordinal.
 */
export const turns = (
  assignment: Placed,
  continent: Continent,
  roster: Roster,
): Turns | undefined => {
  const all = continentsOf(assignment, roster);
  const place = all.indexOf(continent);
  if (place < 0) return undefined;
  const { interval_ms, ordinal } = assignment;
  return {
    period_ms: all.length * interval_ms,
    offset_ms: phaseOf(assignment) + ((place + ordinal) % all.length) * interval_ms,
  };
};

const wellViews = new WeakMap<Roster, Map<string, Roster>>();

/** The roster as if that probe were healthy; made once for each roster. */
const asIfWell = (roster: Roster, probe: RosterProbe): Roster => {
  const views = wellViews.get(roster) ?? new Map<string, Roster>();
  wellViews.set(roster, views);
  const known = views.get(probe.id);
  if (known) return known;
  const probes = roster.probes.map((other) =>
    other.id === probe.id ? { ...other, quarantined: false } : other,
  );
  const made = { ...roster, probes };
  views.set(probe.id, made);
  return made;
};

/**
 * The turns that this probe takes; undefined when another probe has the monitor. A quarantined
 * probe takes, as a shadow beside the others, the turns that it would have if it were healthy: its
 * observations count only for its return (rule 16).
 */
export const shareOf = (assignment: Placed, self: string, roster: Roster): Turns | undefined => {
  const probe = arrange(roster).byId.get(self);
  if (!probe) return undefined;
  const seen = probe.quarantined ? asIfWell(roster, probe) : roster;
  return probeOf(assignment, probe.continent, seen)?.id === self
    ? turns(assignment, probe.continent, seen)
    : undefined;
};

/** The first turn at or after this time. */
export const nextTurn = ({ period_ms, offset_ms }: Turns, from: number): number =>
  from + ((((offset_ms - from) % period_ms) + period_ms) % period_ms);
