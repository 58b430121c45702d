import { type Continent, continents } from '../../shared/base/continents.ts';
import { type Chance, createChance } from './chance.ts';
import { makeHappening, outageAfterCut, outageOfSomeDuringCut, unheardOutage } from './happenings.ts';
import { makeScene, outagesInPeace, probeThatLies } from './scenes.ts';
import { makeNamedScene } from './scenes-named.ts';
import { makeRareScene } from './scenes-rare.ts';
import type { Happening, MonitorSpec, Story } from './story.ts';

const day = 86_400_000;
const minute = 60_000;
const epoch = 1_800_000_000_000;

const idOf = (what: number, index: number): string =>
  `00000000-0000-4000-8000-${String(what).padStart(4, '0')}${String(index).padStart(8, '0')}`;

const makeMonitor = (chance: Chance, index: number, places: readonly Continent[]): MonitorSpec => {
  const interval_ms = chance.pick([10, 20, 30, 60, 60, 60, 120, 300, 900]) * 1000;
  return {
    index,
    id: idOf(7, chance.between(1, 9_999_999)),
    interval_ms,
    timeout_ms: Math.min(10_000, interval_ms / 2),
    continents: chance.happens(0.25) ? chance.some(places, 1, places.length) : null,
    alert_after_ms: chance.happens(0.25) ? chance.pick([5_000, 60_000, 300_000]) : 0,
    sampled: chance.happens(0.85),
    channels: chance.happens(0.5) ? ['mail'] : ['mail', 'chat'],
  };
};

/** Clusters of trouble, hours of calm between them: a fault alone seldom shows what two at once do. */
export const makeStory = (seed: number): Story => {
  const chance = createChance(seed);
  const wheel = chance.happens(0.04);
  const places = chance.some(continents, 1, chance.happens(0.8) ? 5 : 2);
  const probes = places
    .flatMap((continent) => Array.from({ length: chance.happens(0.3) ? 2 : 1 }, () => continent))
    .map((continent, index) => ({ index, id: idOf(3, index), continent }));
  // From a chance of its own, so that all other stories stay as they are.
  const last = createChance(seed + 1_000_003);
  const endsWithReturn = !wheel && last.happens(0.3);
  const monitors = Array.from({ length: chance.between(1, 5) }, (_, index) => makeMonitor(chance, index, places));
  const start = epoch + chance.between(0, day);
  const happenings: Happening[] = [];
  const episodes = wheel ? 1 : chance.between(2, 8);
  let from = start + 20 * minute;
  for (let episode = 0; episode < episodes; episode += 1) {
    from += wheel ? minute : chance.between(30 * minute, 12 * day);
    const long = chance.between(4, wheel ? 10 : 40) * minute;
    const count = chance.between(1, 5);
    const scene = { from, long, probes, monitors, places };
    if (chance.happens(0.15)) happenings.push(...unheardOutage(chance, scene));
    else for (let each = 0; each < count; each += 1) happenings.push(makeHappening(chance, scene));
    from += long + 90 * minute;
  }
  if (endsWithReturn) {
    // Checked so often that several see it within the seconds that it takes.
    const often = { ...makeMonitor(last, monitors.length, places), interval_ms: 5_000, timeout_ms: 2_500, continents: null };
    monitors.push(often);
    happenings.push(...outageAfterCut(last, { from, long: 10 * minute, probes, monitors: [often], places }));
    from += 100 * minute;
  }
  const some = createChance(seed + 2_000_003);
  if (!wheel && places.length >= 3 && some.happens(0.2)) {
    const limited = {
      ...makeMonitor(some, monitors.length, places),
      interval_ms: 5_000,
      timeout_ms: 2_500,
      continents: places.slice(0, 2),
    };
    monitors.push(limited);
    happenings.push(...outageOfSomeDuringCut(some, { from, long: 10 * minute, probes, monitors: [limited], places }));
    from += 100 * minute;
  }
  const staged = createChance(seed + 3_000_003);
  const makeOften = (interval_ms: number): MonitorSpec => {
    const monitor = { ...makeMonitor(staged, monitors.length, places), interval_ms, timeout_ms: interval_ms / 2, continents: null };
    monitors.push(monitor);
    return monitor;
  };
  const often = (often_ms: number): MonitorSpec =>
    monitors.find(({ interval_ms, continents: some }) => interval_ms === often_ms && some === null) ?? makeOften(often_ms);
  if (!wheel && staged.happens(0.4)) {
    happenings.push(...makeScene(staged, { from, probes, places, often }));
    from += 100 * minute;
  }
  if (!wheel && places.length >= 2 && staged.happens(0.1)) {
    const three = [10_000, 10_000, 20_000].map(makeOften);
    happenings.push(...probeThatLies(staged, from, { probes, places }, three));
    from += 120 * minute;
  }
  if (!wheel && staged.happens(0.5)) {
    happenings.push(...outagesInPeace(staged, from, monitors, places));
    from += 180 * minute;
  }
  const makeWith =
    (its: Chance) =>
    (spec: Pick<MonitorSpec, 'interval_ms' | 'continents' | 'sampled'>): MonitorSpec => {
      const timeout_ms = Math.min(10_000, spec.interval_ms / 2);
      const monitor = { ...makeMonitor(its, monitors.length, places), ...spec, timeout_ms };
      monitors.push(monitor);
      return monitor;
    };
  const rare = createChance(seed + 4_000_003);
  if (!wheel && rare.happens(0.5)) {
    happenings.push(...makeRareScene(rare, { from, places, make: makeWith(rare) }));
    from += 180 * minute;
  }
  const named = createChance(seed + 5_000_003);
  if (!wheel && named.happens(0.25)) {
    happenings.push(...makeNamedScene(named, { from, probes, places, monitors: monitors.length, make: makeWith(named) }));
    from += 180 * minute;
  }
  const end = Math.max(from, ...happenings.map(({ until }) => until + 90 * minute)) + (wheel ? 0 : chance.between(0, 3 * day));
  return { seed, start, end, probes, monitors, happenings: happenings.toSorted((a, b) => a.at - b.at), wheel };
};
