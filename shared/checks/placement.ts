import { createRecentCache, type RecentCache } from '../base/async.ts';
import { type Continent, continents } from '../base/continents.ts';
import { type Cidr, isPublic, mayReach, parseAddress, parseCidr } from '../base/network.ts';
import {
  type Assignment,
  type Config,
  hashOf,
  mixBits,
  type Roster,
  type RosterProbe,
} from './assignment.ts';
import { hostAndPort, hostIn } from './connection/config.ts';
import { parseResolver } from './dns/config.ts';
import { grpcEndpoint } from './grpc/config.ts';
import { httpsUrl } from './https/config.ts';
import { isForSome, type Kind } from './kinds.ts';
import { isPrivatePlace, type Place, publicPlace, regionPlace } from './places.ts';
import { websocketUrl } from './websocket/config.ts';

/**
 * Monitors of targets inside a private network: only probes whose host allows it can check them
 * (PROBE_ALLOW_CIDRS).
 */

type Inside = {
  /** Which key of the monitor contains it. */
  readonly key: 'target' | 'config.resolver';
  readonly host: string;
  /** None of them is public; reaching one is enough. */
  readonly addresses: readonly string[];
};

/** Undefined for a public address or a name. */
export function insideOf(kind: Kind, target: string, config: Config): Inside | undefined {
  const { key, hostIn } = dialed[kind];
  const host = hostIn(target, config);
  if (host === undefined) return undefined;
  const addresses = insideAddressesOf(host);
  return addresses.length === 0 ? undefined : { key, host, addresses };
}

/** Many monitors have the same few hosts, and placement asks again with every roster. */
const hosts = createRecentCache<string, readonly string[]>(1_000);

/** The addresses that a host certainly means, if none of them is public. */
function insideAddressesOf(host: string): readonly string[] {
  const known = hosts.find(host);
  if (known) return known;
  const addresses = addressesOf(host);
  const found = addresses.some((text) => isOpen(text)) ? [] : addresses;
  hosts.keep(host, found);
  return found;
}

/** A name means none: only the probe knows what it resolves to. */
function addressesOf(host: string): readonly string[] {
  const name = host
    .replace(/^\[|\]$/g, '')
    .replace(/\.$/, '')
    .toLowerCase();
  return name === 'localhost' || name.endsWith('.localhost')
    ? ['127.0.0.1', '::1']
    : parseAddress(name)
      ? [name]
      : [];
}

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

function isOpen(text: string): boolean {
  const address = parseAddress(text);
  return address !== undefined && isPublic(address);
}

const parsed = new WeakMap<readonly string[], readonly Cidr[]>();

/** Parsed once: a million monitors are judged by the same few lists. */
export function rangesFrom(texts: readonly string[]): readonly Cidr[] {
  const found =
    parsed.get(texts) ??
    texts.map((text) => parseCidr(text)).filter((range) => range !== undefined);
  parsed.set(texts, found);
  return found;
}

export function reachesAny(addresses: readonly string[], ranges: readonly Cidr[]): boolean {
  return addresses.some((text) => reaches(text, ranges));
}

function reaches(text: string, ranges: readonly Cidr[]): boolean {
  const address = parseAddress(text);
  return address !== undefined && mayReach(address, ranges);
}

export function reachesAll(addresses: readonly string[], ranges: readonly Cidr[]): boolean {
  return addresses.every((text) => reaches(text, ranges));
}

const none: readonly string[] = [];

/** Non-public ranges that this probe's host allows, according to the roster. */
export function rangesOf({ allowed_cidrs }: RosterProbe): readonly Cidr[] {
  return rangesFrom(allowed_cidrs ?? none);
}

/**
 * Who checks what, and when (rule 5): functions of the assignment and the roster alone. Every probe
 * and every coordinator computes the same answer without communication.
 *
 * What https checks may ask of a probe beyond what those of the first version do. A probe says
 * which of it it does, beside its kinds.
 */
export const httpsAbilities = ['client_certificate', 'both_families'] as const;
export type HttpsAbility = (typeof httpsAbilities)[number];

/** The ability that this config asks for. Probes with both families know certificates, too. */
export function abilityFor(
  kind: Kind,
  { ip_family, client_certificate = null }: Config,
): HttpsAbility | undefined {
  if (kind !== 'https') return undefined;
  if (ip_family === 'both') return 'both_families';
  return client_certificate === null ? undefined : 'client_certificate';
}

/** What only some probes do for a check: a kind besides the first ones, or the ability it needs. */
export function specialOf(
  kind: Kind | undefined,
  ability: HttpsAbility | undefined,
): Kind | HttpsAbility | undefined {
  return kind !== undefined && isForSome(kind) ? kind : ability;
}

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

/**
 * The public probes that can check it, healthy or not: they check its kind as it wants, and their
 * hosts may reach its private addresses. Undefined when all can.
 */
export function ableToCheck(
  { kind, ability, inside }: Pick<Placed, 'kind' | 'ability' | 'inside'>,
  roster: Roster,
): ReadonlySet<string> | undefined {
  // Nearly always, and asked at every decision.
  const special = specialOf(kind, ability);
  if (inside === undefined && special === undefined) return undefined;
  const { able } = arrange(roster);
  const name = `${special ?? ''} ${inside?.join() ?? ''}`;
  const existing = able.find(name);
  if (existing) return existing;
  const found = roster.probes.filter(
    (probe) =>
      probe.organisation === null &&
      says(probe, special) &&
      (inside === undefined || reachesAny(inside, rangesOf(probe))),
  );
  const made = new Set(found.map(({ id }) => id));
  able.keep(name, made);
  return made;
}

/** A roster indexed for lookups: who gets work on a continent and in a private place. */
type Arranged = {
  readonly byId: ReadonlyMap<string, RosterProbe>;
  readonly candidates: ReadonlyMap<string, readonly Candidate[]>;
  readonly places: ReadonlyMap<string, readonly Candidate[]>;
  /** Which probes can check something: the same few targets and kinds are asked about repeatedly. */
  readonly able: RecentCache<string, ReadonlySet<string>>;
  readonly served: readonly Continent[];
};

const arrangements = new WeakMap<Roster, Arranged>();

const maxReaching = 10_000;

function arrange(roster: Roster): Arranged {
  const known = arrangements.get(roster);
  if (known) return known;
  const all = roster.probes.map((probe) => ({ probe, hash: hashOf(probe.id) }));
  const candidates = Map.groupBy(
    all.filter((each) => each.probe.organisation === null && isWell(each)),
    ({ probe }): string => probe.continent,
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
}

function isWell({ probe: { healthy, quarantined } }: Candidate): boolean {
  return healthy && !quarantined;
}

function says({ kinds }: RosterProbe, word: string | undefined): boolean {
  return word === undefined || kinds?.includes(word) === true;
}

/**
 * The places that check this monitor now, in their fixed order: those it allows that have a probe
 * which is healthy, not quarantined, and can check it. Without chosen places these are continents.
 *
 * A private place whose probes are all lost keeps its turns only where no other place is left: no
 * other probe can replace them. Beside others it is left out like a continent without a probe, so
 * that the target still sees one check an interval; its view ends, and it is back with its probe.
 */
export function placesOf(assignment: Placed, roster: Roster): readonly Place[] {
  const { places: chosen, probe: home } = assignment;
  if (chosen) {
    const wanted = withoutCovered(chosen);
    const served = wanted.filter((place) => hereFor(assignment, place, roster)?.some(isWell));
    return served.length > 0
      ? served
      : wanted.filter((place) => isPrivatePlace(place) && hereFor(assignment, place, roster));
  }
  const { served, candidates, places } = arrange(roster);
  if (home !== null) {
    const continent = places.get(home)?.[0]?.probe.continent;
    return continent === undefined ? [] : [continent];
  }
  const { continents: allowed } = assignment;
  const wanted =
    allowed === null ? served : served.filter((continent) => allowed.includes(continent));
  const able = ableToCheck(assignment, roster);
  if (able === undefined) return wanted;
  return wanted.filter((continent) =>
    candidates.get(continent)?.some(({ probe }) => able.has(probe.id)),
  );
}

/** A region of a continent that is chosen as a whole is no place of its own. */
function withoutCovered(chosen: readonly Place[]): readonly Place[] {
  return [...new Set(chosen)].filter((place) => {
    const at = publicPlace(place);
    return at === undefined || at.region === null || !chosen.includes(at.continent);
  });
}

/** The chosen place that this probe checks for, whether it can or not; undefined for none. */
export function placeFor(
  {
    places: chosen,
    continents: allowed,
    probe: home,
  }: Pick<Placed, 'places' | 'continents' | 'probe'>,
  { organisation, continent, region }: Pick<RosterProbe, 'organisation' | 'continent' | 'region'>,
): Place | undefined {
  if (!chosen) {
    if (home !== null) return organisation === home ? continent : undefined;
    return organisation === null && allowed?.includes(continent) !== false ? continent : undefined;
  }
  if (organisation !== null) return chosen.includes(organisation) ? organisation : undefined;
  if (chosen.includes(continent)) return continent;
  const at = region ? regionPlace(continent, region) : undefined;
  return at !== undefined && chosen.includes(at) ? at : undefined;
}

/** The probes of this place among which the monitor's checks are drawn. */
function hereFor(
  assignment: Placed,
  place: Place,
  roster: Roster,
): readonly Candidate[] | undefined {
  const { places: chosen, probe: home, continents: allowed } = assignment;
  if (chosen) return chosenHere(assignment, chosen, place, roster);
  if (home !== null)
    return privateHere(assignment, home, roster, ({ probe }) => probe.continent === place);
  if (allowed !== null && !allowed.some((continent) => continent === place)) return undefined;
  return publicHere(assignment, place, roster);
}

/**
 * Also of a continent of which only regions are chosen: whoever asks a continent asks those of its
 * probes that check it.
 */
function chosenHere(
  assignment: Placed,
  chosen: readonly Place[],
  place: Place,
  roster: Roster,
): readonly Candidate[] | undefined {
  const at = publicPlace(place);
  if (at === undefined)
    return chosen.includes(place) ? privateHere(assignment, place, roster) : undefined;
  const all = publicHere(assignment, at.continent, roster);
  if (chosen.includes(at.continent)) return all;
  return all?.filter(({ probe }) => {
    const own = placeFor(assignment, probe);
    return own !== undefined && (at.region === null || own === place);
  });
}

function publicHere(
  assignment: Placed,
  continent: string,
  roster: Roster,
): readonly Candidate[] | undefined {
  const all = arrange(roster).candidates.get(continent);
  const able = ableToCheck(assignment, roster);
  return able ? all?.filter(({ probe }) => able.has(probe.id)) : all;
}

function privateHere(
  assignment: Placed,
  place: Place,
  roster: Roster,
  counts: (candidate: Candidate) => boolean = () => true,
): readonly Candidate[] | undefined {
  const all = arrange(roster).places.get(place)?.filter(counts);
  const special = specialOf(assignment.kind, assignment.ability);
  if (special === undefined) return all;
  const able = all?.filter(({ probe }) => says(probe, special));
  if (able && able.length > 0) return able;
  // Beside others it is left out; the only place has nobody else, who would have to be told.
  return assignment.places ? undefined : all;
}

/**
 * The probe that checks this monitor from this place: the one with the highest draw (rendezvous
 * hashing), so a probe that comes or goes moves only its own share. Undefined when no probe there
 * can. A continent may be asked of which only regions are chosen.
 */
export function probeOf(assignment: Placed, place: Place, roster: Roster): RosterProbe | undefined {
  return drawn(assignment, hereFor(assignment, place, roster) ?? []);
}

/**
 * The probe that is to confirm what another one saw (rule 9): where there is a choice, one in another
 * autonomous system, because two in one share what breaks in it.
 */
export function confirmerOf(
  assignment: Placed,
  place: Place,
  roster: Roster,
  seenBy: string | undefined,
): RosterProbe | undefined {
  const usual = probeOf(assignment, place, roster);
  const origin = arrange(roster).byId.get(seenBy ?? '')?.origin_as;
  if (origin === undefined || usual?.origin_as !== origin) return usual;
  const others = hereFor(assignment, place, roster)?.filter(
    ({ probe }) => (probe.origin_as ?? origin) !== origin,
  );
  return drawn(assignment, others ?? []) ?? usual;
}

function drawn(assignment: Placed, here: readonly Candidate[]): RosterProbe | undefined {
  if (here.length <= 1) return here[0]?.probe;
  const monitor = hashOf(assignment.monitor);
  let best: RosterProbe | undefined;
  let highest = -1;
  for (const { probe, hash } of here) {
    const draw = mixBits(monitor ^ hash);
    if (draw > highest || (draw === highest && best !== undefined && probe.id < best.id))
      [best, highest] = [probe, draw];
  }
  return best;
}

/**
 * The turns of a place: with n places each checks every n × interval, one interval after the other.
 * The target gets exactly one check per interval. The first place rotates with the ordinal.
 */
export function turns(assignment: Placed, place: Place, roster: Roster): Turns | undefined {
  const all = placesOf(assignment, roster);
  const index = all.indexOf(place);
  if (index < 0) return undefined;
  const { interval_ms, ordinal } = assignment;
  return {
    period_ms: all.length * interval_ms,
    offset_ms: phaseOf(assignment) + ((index + ordinal) % all.length) * interval_ms,
  };
}

/**
 * 2³² divided by the golden ratio: its multiples spread more evenly than those of any other number,
 * for any count.
 */
const goldenStep = 0x9e3779b9;

/**
 * When in its interval a monitor is checked. It depends on the ordinal alone, so a change of the
 * network moves no check.
 */
function phaseOf({ ordinal, interval_ms }: Placed): number {
  return Math.floor(((Math.imul(ordinal, goldenStep) >>> 0) / 2 ** 32) * interval_ms);
}

/**
 * The turns that this probe takes; undefined when another probe has the monitor. A quarantined
 * probe takes, as a shadow beside the others, the turns that it would have if it were healthy: its
 * observations count only for its return (rule 16). One that is called absent keeps what nobody else
 * may check: a probe that leaves can hand that over to no one (rule 7).
 */
export function shareOf(assignment: Placed, self: string, roster: Roster): Turns | undefined {
  const probe = arrange(roster).byId.get(self);
  if (!probe) return undefined;
  const isAlone = !probe.healthy && placesOf(assignment, roster).length === 0;
  const seen = probe.quarantined || isAlone ? asIfWell(roster, probe) : roster;
  const place = placeFor(assignment, probe);
  return place !== undefined && probeOf(assignment, place, seen)?.id === self
    ? turns(assignment, place, seen)
    : undefined;
}

const wellViews = new WeakMap<Roster, Map<string, Roster>>();

/** The roster as if that probe were healthy; made once for each roster. */
function asIfWell(roster: Roster, probe: RosterProbe): Roster {
  const views = wellViews.get(roster) ?? new Map<string, Roster>();
  wellViews.set(roster, views);
  const known = views.get(probe.id);
  if (known) return known;
  const probes = roster.probes.map((other) =>
    other.id === probe.id ? { ...other, healthy: true, quarantined: false } : other,
  );
  const made = { ...roster, probes };
  views.set(probe.id, made);
  return made;
}

/** The first turn at or after this time. */
export function nextTurn({ period_ms, offset_ms }: Turns, from: number): number {
  return from + ((((offset_ms - from) % period_ms) + period_ms) % period_ms);
}
