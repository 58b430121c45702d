import { type Continent, continents } from '../../shared/base/continents.ts';
import {
  makeNamedScene,
  makeRareScene,
  makeScene,
  outagesInPeace,
  probeThatLies,
} from './scenes.ts';
import {
  type Chance,
  createChance,
  type Happening,
  type MonitorSpec,
  type ProbeSpec,
  type Story,
} from './story.ts';

/** One happening after another, as likely as they are telling. */
type Scene = {
  readonly from: number;
  readonly long: number;
  readonly probes: readonly ProbeSpec[];
  readonly monitors: readonly MonitorSpec[];
  readonly places: readonly Continent[];
};
type Maker = (chance: Chance, scene: Scene) => Happening;

const second = 1000;
const minute = 60_000;

/** A span inside the episode; ends may lie at the very beginning of others. */
const span = (
  chance: Chance,
  { from, long }: Scene,
  limit = long,
): { at: number; until: number } => {
  const at = from + chance.between(0, Math.floor(long * 0.6));
  return { at, until: at + chance.between(second, Math.max(2 * second, Math.min(limit, long))) };
};
const moment = (chance: Chance, { from, long }: Scene): { at: number; until: number } => {
  const at = from + chance.between(0, long);
  return { at, until: at };
};
const monitorOf = (chance: Chance, { monitors }: Scene): number => chance.pick(monitors).index;
const probeOf = (chance: Chance, { probes }: Scene): number => chance.pick(probes).index;

const outage: Maker = (chance, scene) => {
  const where = chance.happens(0.55)
    ? [...scene.places]
    : chance.some(scene.places, 1, scene.places.length);
  const slow = chance.happens(0.3) ? chance.some(where, 1, where.length) : [];
  const every = chance.happens(0.15) ? chance.between(3, 90) * second : null;
  return {
    is: 'outage',
    ...span(chance, scene),
    monitor: monitorOf(chance, scene),
    where,
    slow,
    every,
  };
};

const window: Maker = (chance, scene) => {
  const { at, until } = span(chance, scene);
  const made = chance.happens(0.7) ? at - 10 * minute : chance.between(at, until);
  const deleted = chance.happens(0.3) ? chance.between(made, until) : null;
  const group = chance.happens(0.4) ? 'group' : null;
  return {
    is: 'window',
    at,
    until,
    monitor: group === null ? monitorOf(chance, scene) : null,
    group,
    made,
    deleted,
  };
};

/**
 * Only probes of one continent ever lie: against two continents that lie at once there is no
 * defence, and none is promised.
 */
const sick: Maker = (chance, scene) => {
  const chosen = chance.pick(scene.probes);
  const lies = chance.happens(0.6) && chosen.continent === scene.places[0];
  return { is: 'probe sick', ...span(chance, scene), probe: chosen.index, lies };
};

const probesCutOff = (
  chance: Chance,
  { at, until }: { readonly at: number; readonly until: number },
): Happening => ({
  is: 'probes cut off',
  at,
  until,
  apart_ms: Math.min(chance.pick([0, 4, 12]) * second, until - at),
});

/** An outage that begins, and often ends, while no probe can reach the bus. */
const unheardOutage = (chance: Chance, scene: Scene): readonly Happening[] => {
  const long = chance.pick([20, 60, 300]) * second;
  const cut = probesCutOff(chance, { at: scene.from, until: scene.from + long });
  const from = scene.from + chance.between(0, Math.floor(long / 2));
  return [
    cut,
    outage(chance, { ...scene, from, long: Math.floor(long * chance.pick([0.5, 1, 3])) }),
  ];
};

/**
 * All probes were away, or the bus was; one of them still is, and an outage of everywhere begins
 * before it is back.
 */
const outageAfterCut = (chance: Chance, scene: Scene): readonly Happening[] => {
  const { from, probes, monitors, places } = scene;
  const cut = { at: from, until: from + chance.pick([8, 15, 60]) * second };
  const isBus = chance.happens(0.5);
  const late = {
    at: from,
    until:
      cut.until + (chance.happens(0.7) ? chance.between(9, 14) : chance.between(15, 40)) * second,
  };
  const at = cut.until + chance.between((isBus ? 1 : 3) * second, 5 * second);
  const dies = at + chance.between(second, 15 * second);
  return [
    isBus ? { is: 'bus away', ...cut } : { is: 'probes cut off', ...cut, apart_ms: 0 },
    { is: 'probe cut off', ...late, probe: chance.pick(probes).index },
    {
      is: 'outage',
      at,
      until: at + chance.between(60, 300) * second,
      monitor: chance.pick(monitors).index,
      where: [...places],
      slow: [],
      every: null,
    },
    // Whoever goes on must not decide anything twice.
    ...(chance.happens(0.3)
      ? [
          {
            is: 'coordinator killed',
            at: dies,
            until: dies + 2 * second,
            step: chance.between(0, 3),
          } as const,
        ]
      : []),
  ];
};

/**
 * All probes were away, or the bus was, while an outage began of a monitor that only some
 * continents check. Those are back before somebody is who never checks it, and must not be waited
 * for.
 */
const outageOfSomeDuringCut = (chance: Chance, scene: Scene): readonly Happening[] => {
  const { from, probes, monitors } = scene;
  const { index: monitor, continents } = chance.pick(monitors);
  const where = continents ?? [];
  const cut = { at: from, until: from + chance.pick([30, 60]) * second };
  const never = probes.filter(({ continent }) => !where.includes(continent));
  return [
    chance.happens(0.5)
      ? { is: 'bus away', ...cut }
      : { is: 'probes cut off', ...cut, apart_ms: 0 },
    ...never.map(
      ({ index }) =>
        ({
          is: 'probe cut off',
          at: from,
          until: cut.until + chance.between(20, 40) * second,
          probe: index,
        }) as const,
    ),
    {
      is: 'outage',
      at: from + chance.between(second, 10 * second),
      until: cut.until + chance.between(60, 120) * second,
      monitor,
      where: [...where],
      slow: [],
      every: null,
    },
  ];
};

const makers: readonly (readonly [weight: number, Maker])[] = [
  [30, outage],
  [
    7,
    (chance, scene) => ({
      is: 'probe cut off',
      ...span(chance, scene, 300 * minute),
      probe: probeOf(chance, scene),
    }),
  ],
  [
    5,
    (chance, scene) => ({
      is: 'probe dead',
      ...span(chance, scene),
      probe: probeOf(chance, scene),
      keepsSpool: chance.happens(0.7),
    }),
  ],
  [6, sick],
  [
    2,
    (chance, scene) => ({
      is: 'probe skewed',
      ...span(chance, scene),
      probe: probeOf(chance, scene),
      by: chance.pick([-60, -20, -2, 2, 20, 60]) * second,
    }),
  ],
  [3, (chance, scene) => probesCutOff(chance, span(chance, scene, 5 * minute))],
  [
    3,
    (chance, scene) => ({
      is: 'continent cut off',
      ...span(chance, scene),
      continent: chance.pick(scene.places),
    }),
  ],
  [
    8,
    (chance, scene) => ({
      is: 'coordinator killed',
      ...span(chance, scene, chance.pick([5, 60, 600]) * second),
      step: chance.between(0, 3),
    }),
  ],
  [4, (chance, scene) => ({ is: 'coordinator frozen', ...span(chance, scene, 5 * minute) })],
  [4, (chance, scene) => ({ is: 'bus away', ...span(chance, scene, 10 * minute) })],
  [3, (chance, scene) => ({ is: 'bus wiped', ...moment(chance, scene) })],
  [
    6,
    (chance, scene) => ({
      is: 'rough bus',
      ...span(chance, scene),
      drops: chance.pick([0, 0.05, 0.3]),
      repeats: chance.pick([0, 0.05, 0.3]),
      delays: chance.pick([0, 0.05, 0.2]),
      delay_ms: chance.pick([2 * second, 30 * second, 60 * minute]),
    }),
  ],
  [
    3,
    (chance, scene) => ({
      is: 'edited',
      ...moment(chance, scene),
      monitor: monitorOf(chance, scene),
    }),
  ],
  [
    3,
    (chance, scene) => ({
      is: 'paused',
      ...span(chance, scene),
      monitor: monitorOf(chance, scene),
    }),
  ],
  [7, window],
  [
    3,
    (chance, scene) => ({
      is: 'moved',
      ...moment(chance, scene),
      monitor: monitorOf(chance, scene),
      group: chance.happens(0.6) ? 'group' : null,
    }),
  ],
];
const weights = makers.reduce((sum, [weight]) => sum + weight, 0);

const makeHappening = (chance: Chance, scene: Scene): Happening => {
  let left = chance.next() * weights;
  for (const [weight, make] of makers) {
    left -= weight;
    if (left < 0) return make(chance, scene);
  }
  return outage(chance, scene);
};

const day = 86_400_000;
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

/**
 * Places that fail although the target does not: two whose probes are sick in the same way, or one
 * that cannot reach it while others have a blip, and then an outage (rules 45 and 46).
 */
const placesAtFault = (
  chance: Chance,
  { from, probes, places }: Pick<Scene, 'from' | 'probes' | 'places'>,
  make: (spec: Pick<MonitorSpec, 'interval_ms' | 'continents' | 'sampled'>) => MonitorSpec,
): readonly Happening[] => {
  const spec = { interval_ms: chance.pick([10, 20]) * second, continents: null, sampled: true };
  const [one, other, ...rest] = chance.some(places, places.length, places.length);
  if (one === undefined || other === undefined) return [];
  if (chance.happens(0.4)) {
    for (let count = 0; count < 3; count += 1) make(spec);
    const until = from + chance.pick([40, 300]) * second;
    return probes
      .filter(({ continent }) => continent === one || continent === other)
      .map(
        ({ index }) => ({ is: 'probe sick', at: from, until, probe: index, lies: true }) as const,
      );
  }
  const { index: monitor } = make(spec);
  const outageOf = (where: readonly Continent[], at: number, until: number): Happening => ({
    ...{ is: 'outage', at, until, monitor },
    ...{ where: [...where], slow: [], every: null },
  });
  const blip = from + chance.between(400 * second, 800 * second);
  const gone = blip + chance.between(60 * second, 200 * second);
  return [
    outageOf([one], from, gone + 20 * minute),
    outageOf([other], blip, blip + chance.between(3 * second, 40 * second)),
    ...(chance.happens(0.6) ? [outageOf([other, ...rest], gone, gone + 3 * minute)] : []),
  ];
};

/**
 * For longer than it takes to be regional (rule 45), and yet not alone: two sick continents of
 * three, of which nobody knows whether they are right; or one that goes on failing when an outage
 * of all is over.
 */
const notAlone = (
  chance: Chance,
  { from, probes, places }: Pick<Scene, 'from' | 'probes' | 'places'>,
  make: (spec: Pick<MonitorSpec, 'interval_ms' | 'continents' | 'sampled'>) => MonitorSpec,
): readonly Happening[] => {
  const [one, other, third] = chance.some(places, places.length, places.length);
  if (one === undefined || other === undefined || third === undefined) return [];
  const interval_ms = chance.pick([10, 20]) * second;
  if (chance.happens(0.5)) {
    const until = from + chance.between(600 * second, 1_200 * second);
    const about = make({ interval_ms, continents: [one, other, third], sampled: true });
    return probes.flatMap(({ continent, index: probe }): Happening[] =>
      continent === one || continent === other
        ? [{ is: 'probe sick', at: from, until, probe, lies: true, monitor: about.index }]
        : [],
    );
  }
  const { index: monitor } = make({ interval_ms, continents: null, sampled: true });
  const over = from + chance.between(200 * second, 500 * second);
  const outageOf = (where: readonly Continent[], until: number): Happening => ({
    ...{ is: 'outage', at: from, until, monitor },
    ...{ where: [...where], slow: [], every: null },
  });
  return [
    outageOf(places, over),
    outageOf([one], over + chance.between(120 * second, 280 * second)),
  ];
};

/**
 * Clusters of trouble, hours of calm between them: a fault alone seldom shows what two at once do.
 */
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
  const monitors = Array.from({ length: chance.between(1, 5) }, (_, index) =>
    makeMonitor(chance, index, places),
  );
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
    const often = {
      ...makeMonitor(last, monitors.length, places),
      interval_ms: 5_000,
      timeout_ms: 2_500,
      continents: null,
    };
    monitors.push(often);
    happenings.push(
      ...outageAfterCut(last, { from, long: 10 * minute, probes, monitors: [often], places }),
    );
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
    happenings.push(
      ...outageOfSomeDuringCut(some, {
        from,
        long: 10 * minute,
        probes,
        monitors: [limited],
        places,
      }),
    );
    from += 100 * minute;
  }
  const staged = createChance(seed + 3_000_003);
  const makeOften = (interval_ms: number): MonitorSpec => {
    const monitor = {
      ...makeMonitor(staged, monitors.length, places),
      interval_ms,
      timeout_ms: interval_ms / 2,
      continents: null,
    };
    monitors.push(monitor);
    return monitor;
  };
  const often = (often_ms: number): MonitorSpec =>
    monitors.find(
      ({ interval_ms, continents: some }) => interval_ms === often_ms && some === null,
    ) ?? makeOften(often_ms);
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
    happenings.push(
      ...makeNamedScene(named, {
        from,
        probes,
        places,
        monitors: monitors.length,
        make: makeWith(named),
      }),
    );
    from += 180 * minute;
  }
  const apart = createChance(seed + 6_000_003);
  if (!wheel && places.length >= 3 && apart.happens(0.3)) {
    happenings.push(...placesAtFault(apart, { from, probes, places }, makeWith(apart)));
    from += 180 * minute;
  }
  const beside = createChance(seed + 7_000_003);
  if (!wheel && places.length >= 3 && beside.happens(0.15)) {
    happenings.push(...notAlone(beside, { from, probes, places }, makeWith(beside)));
    from += 180 * minute;
  }
  const end =
    Math.max(from, ...happenings.map(({ until }) => until + 90 * minute)) +
    (wheel ? 0 : chance.between(0, 3 * day));
  return {
    seed,
    start,
    end,
    probes,
    monitors,
    happenings: happenings.toSorted((a, b) => a.at - b.at),
    wheel,
  };
};
