import { decide, nextTick } from '../../coordinator/core/decide.ts';
import { checkpointOf, createState, restore } from '../../coordinator/core/lifecycle.ts';
import type { Incident, MonitorState, SeenResult, Watched } from '../../coordinator/core/types.ts';
import type { Continent } from '../../shared/base/continents.ts';
import type { Roster, RosterProbe } from '../../shared/checks/assignment.ts';
import {
  nextTurn,
  type Placed,
  placesOf,
  probeOf,
  shareOf,
  type Turns,
} from '../../shared/checks/placement.ts';
import {
  type Decided,
  faultsOfDecision,
  faultsOfLife,
  faultsOfTurns,
  isPrivatePlace,
  type PlacesStory,
  type Stretch,
  vantageOf,
  vantagesIn,
} from './places-oracle.ts';
import { type Chance, createChance, noise } from './story.ts';

/**
 * The life of one monitor that is checked from a mix of places: public ones, regions of them and
 * private ones at one site or at several, with outages of either side, probes that go, results that
 * come late, and restarts.
 */

const epoch = 1_800_000_000_000;
const second = 1_000;
const minute = 60_000;

type Site = string | null;
type Described = Pick<RosterProbe, 'id' | 'continent' | 'organisation' | 'region' | 'site'>;
const open = (id: string, continent: Continent, region: string): Described => ({
  ...{ id, continent, organisation: null, region },
});
const own = (id: string, place: string, continent: Continent, site: Site): Described => ({
  ...{ id, continent, organisation: place, site },
});

/** Berlin has a spare; the attic is behind Berlin's address; where the boat is nobody knows. */
const probes: readonly RosterProbe[] = [
  open('frankfurt', 'Europe', 'Frankfurt'),
  open('paris', 'Europe', 'Paris'),
  open('tokyo', 'Asia', 'Tokyo'),
  open('lagos', 'Africa', 'Lagos'),
  own('berlin-1', 'berlin', 'Europe', 'one'),
  own('berlin-2', 'berlin', 'Europe', 'one'),
  own('attic-1', 'attic', 'Europe', 'one'),
  own('osaka-1', 'osaka', 'Asia', 'two'),
  own('boat-1', 'boat', 'Oceania', null),
].map((probe) => ({
  ...probe,
  name: probe.id,
  healthy: true,
  quarantined: false,
  kinds: ['places'],
}));

const publicChoices = [
  ['Europe', 'Asia'],
  ['Europe', 'Asia', 'Africa'],
  ['Europe/Paris', 'Europe/Frankfurt'],
  ['Europe/Paris', 'Europe/Frankfurt', 'Asia'],
  ['Africa'],
] as const;
const privateChoices = [
  ['berlin'],
  ['berlin', 'osaka'],
  ['berlin', 'attic'],
  ['berlin', 'attic', 'osaka'],
  ['osaka', 'boat'],
] as const;

export const makePlacesStory = (seed: number): PlacesStory => {
  const chance = createChance(seed);
  const has = chance.pick(['both', 'both', 'both', 'inside', 'outside'] as const);
  const places: string[] = [
    ...(has === 'inside' ? [] : chance.pick(publicChoices)),
    ...(has === 'outside' ? [] : chance.pick(privateChoices)),
  ];
  const interval_ms = chance.pick([10, 20, 60]) * second;
  const isCalm = chance.happens(0.4);
  const outages: PlacesStory['outages'][number][] = [];
  let at = epoch + 3 * minute + places.length * 2 * interval_ms;
  for (let count = chance.between(1, 4); count > 0; count -= 1) {
    const until = at + chance.between(30, 400) * second;
    outages.push({ at, until, where: whereOf(chance, vantagesIn(places)) });
    // Some begin while the one before lasts.
    at = chance.happens(0.3) && !isCalm ? at + chance.between(5, 60) * second : until + 8 * minute;
  }
  const last = Math.max(...outages.map(({ until }) => until));
  const loss = () => {
    const from = epoch + chance.between(60, Math.floor((last - epoch) / second)) * second;
    const probe = chance.pick(probes).id;
    return { probe, at: from, until: from + chance.between(10, 300) * second };
  };
  return {
    seed,
    places,
    inside_counts: has === 'both' && chance.happens(0.5),
    interval_ms,
    outages,
    losses: isCalm ? [] : Array.from({ length: chance.between(0, 4) }, loss),
    restarts: isCalm ? [] : chance.some(outages, 0, 2).map((one) => one.at + 20 * second),
    late: !isCalm && chance.happens(0.3),
    end: last + 15 * minute + 6 * places.length * interval_ms,
  };
};

const whereOf = (chance: Chance, all: readonly string[]): readonly string[] => {
  const side = chance.happens(0.5) ? isPrivatePlace : (place: string) => !isPrivatePlace(place);
  const some = chance.pick([all, all.filter(side), all.filter(side), chance.some(all, 1, 3)]);
  return some.length > 0 ? some : all;
};

/** Who is silent for so long is lost. */
const lostAfter = 15 * second;

const rosterAt = ({ losses }: PlacesStory, time: number): Roster => ({
  epoch: time,
  probes: probes.map((probe) => ({
    ...probe,
    healthy: !losses.some(
      (loss) => loss.probe === probe.id && loss.at + lostAfter <= time && time < loss.until,
    ),
  })),
});

const watchedOf = ({ places, inside_counts, interval_ms }: PlacesStory): Watched => ({
  id: 'monitor',
  organisation: 'organisation',
  kind: 'https',
  interval_ms,
  timeout_ms: 5 * second,
  continents: null,
  probe: null,
  places,
  inside_counts,
  config_version: 1,
  alert_after_ms: 0,
  sampled: true,
  created_at: epoch,
  paused_at: null,
});

type Waiting = { readonly arrives: number; readonly result: SeenResult };

/** What is wrong with what placement and core make of a story. */
export const placesFault = (story: PlacesStory): string | undefined => {
  const { seed, interval_ms, losses, outages } = story;
  const watched = watchedOf(story);
  const placed: Placed = { ...watched, monitor: watched.id, ordinal: seed };
  const incidents = new Map<string, Incident>();
  const decided: SeenResult[] = [];
  let state: MonitorState = createState(watched);
  let waiting: readonly Waiting[] = [];
  let [now, ids, checks] = [epoch, 0, 0];
  let roster = rosterAt(story, now);
  let shares = new Map<string, Turns>();
  const due = new Map<string, number>();
  const faults: string[] = [];

  const isOff = (probe: string, time: number) =>
    losses.some((loss) => loss.probe === probe && loss.at <= time && time < loss.until);

  const check = (
    { id, name, continent, organisation }: RosterProbe,
    at: number,
    look: string | null,
  ) => {
    if (isOff(id, at)) return;
    checks += 1;
    const from = {
      probe: id,
      name,
      continent,
      ...(organisation === null ? {} : { place: organisation }),
    };
    const isDown = outages.some(
      ({ where, at: began, until }) => began <= at && at < until && where.includes(vantageOf(from)),
    );
    const delay = 60 + Math.floor(noise(seed, checks, 1, 41) * 200);
    const isLate = story.late && noise(seed, checks, 2, 42) < 0.03;
    const result: SeenResult = {
      ...{ seq: checks, monitor: watched.id, config_version: 1, at, took_ms: 50, look, from },
      outcome: isDown ? 'fail' : 'ok',
      cause: isDown ? { class: 'connection_refused', params: {} } : null,
      ...{ phases: null, evidence: null, quarantined: false, handed_over: isLate },
      ...(isDown ? { others: { passed: 3, failed: 0 } } : {}),
    };
    const arrives = at + delay + (isLate ? 30 * second : 0);
    waiting = [...waiting, { arrives, result }].toSorted((a, b) => a.arrives - b.arrives);
  };

  const tell = (event: Parameters<typeof decide>[1]) => {
    const newId = () => {
      ids += 1;
      return `id-${ids}`;
    };
    const decision = decide(state, event, { now, network: roster, newId });
    state = decision.state;
    const about: Decided = { story, watched, roster, decided, state };
    for (const effect of decision.effects) {
      if (effect.is === 'incident') {
        incidents.set(effect.incident.id, effect.incident);
        const isLive = event.is === 'result' && !event.result.handed_over;
        faults.push(...faultsOfDecision(about, effect.incident, effect.change, isLive));
      }
      if (effect.is === 'look')
        for (const place of effect.places) {
          const probe = probeOf(placed, place, roster);
          if (probe) check(probe, now + 20, effect.look);
        }
    }
    return about;
  };

  const heed = () => {
    roster = rosterAt(story, now);
    shares = new Map();
    due.clear();
    for (const probe of roster.probes) {
      const mine = shareOf(placed, probe.id, roster);
      if (!mine) continue;
      shares.set(probe.id, mine);
      due.set(probe.id, nextTurn(mine, now + 1));
    }
    faults.push(...faultsOfTurns(shares, placesOf(placed, roster).length, interval_ms, roster));
  };

  const startAgain = () => {
    state = restore({
      watched,
      checkpoint: checkpointOf(state),
      results: [],
      resumed_at: null,
      incident: state.incident,
      last_down: state.last_down,
      gaps: state.gaps,
    });
  };

  const changes = losses.flatMap(({ at, until }) => [at + lostAfter, until]);
  const moments = [...changes, ...story.restarts].toSorted((a, b) => a - b);
  heed();
  while (now < story.end && faults.length === 0) {
    const tick = nextTick(state, roster);
    now = Math.min(
      story.end,
      ...due.values(),
      waiting[0]?.arrives ?? story.end,
      moments.find((moment) => moment > now) ?? story.end,
      tick === null ? story.end : Math.max(tick, now + 100),
    );
    if (story.restarts.includes(now)) startAgain();
    if (changes.includes(now)) heed();
    for (const [id, at] of due) {
      const [probe, mine] = [roster.probes.find((one) => one.id === id), shares.get(id)];
      if (at > now || !probe || !mine) continue;
      due.set(id, nextTurn(mine, at + 1));
      check(probe, at, null);
    }
    for (let next = waiting[0]; next && next.arrives <= now; next = waiting[0]) {
      const { result } = next;
      waiting = waiting.slice(1);
      decided.push(result);
      tell({ is: 'result', result });
    }
    if (tick !== null && tick <= now) tell({ is: 'tick' });
  }
  const about: Decided = { story, watched, roster, decided, state };
  return faults[0] ?? faultsOfLife(about, [...incidents.values()])[0];
};

/** The shortest story that ends with a fault: each happening that can be left out is. */
export const shrinkPlaces = (
  story: PlacesStory,
): { readonly story: PlacesStory; readonly fault: string | undefined } => {
  let shortest = story;
  const attempt = (shorter: PlacesStory): void => {
    if (placesFault(shorter) !== undefined) shortest = shorter;
  };
  for (let nth = story.losses.length - 1; nth >= 0; nth -= 1)
    attempt({ ...shortest, losses: shortest.losses.toSpliced(nth, 1) });
  for (let nth = story.outages.length - 1; nth >= 0; nth -= 1)
    attempt({ ...shortest, outages: shortest.outages.toSpliced(nth, 1) });
  attempt({ ...shortest, restarts: [] });
  attempt({ ...shortest, late: false });
  return { story: shortest, fault: placesFault(shortest) };
};

const secondsOf = ({ at, until }: Stretch): string =>
  `${(at - epoch) / second} s to ${(until - epoch) / second} s`;

export const describePlaces = (story: PlacesStory): string =>
  [
    `from ${story.places.join(', ')} every ${story.interval_ms / second} s${story.inside_counts ? ', the inside counts' : ''}${story.late ? ', some results late' : ''}`,
    ...story.outages.map((each) => `${secondsOf(each)} down from ${each.where.join(', ')}`),
    ...story.losses.map((each) => `${secondsOf(each)} ${each.probe} is off`),
    ...story.restarts.map((at) => `${(at - epoch) / second} s restart`),
  ].join('\n');
