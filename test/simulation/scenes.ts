import type { Continent } from '../../shared/base/continents.ts';
import { nextTurn, probeOf, turns } from '../../shared/checks/placement.ts';
import type { Chance, Happening, MonitorSpec, ProbeSpec } from './story.ts';

/**
 * What hardly ever comes about by chance alone: each of these leads to a place in the rules that
 * years of other trouble do not reach.
 */
type Stage = {
  readonly from: number;
  readonly probes: readonly ProbeSpec[];
  readonly places: readonly Continent[];
  /** A monitor that is checked so often, and by all. */
  readonly often: (interval_ms: number) => MonitorSpec;
};
type Scene = (chance: Chance, stage: Stage) => readonly Happening[];

const second = 1_000;
/** Several see within seconds what befalls it. */
const closely = 5 * second;
const minute = 60_000;

const seconds = (chance: Chance, least: number, limit: number): number =>
  chance.between(least * second, limit * second);

/** Seen by all, at once. */
const outageOf = (
  { index }: MonitorSpec,
  where: readonly Continent[],
  at: number,
  long: number,
): Happening => ({
  is: 'outage',
  at,
  until: at + long,
  monitor: index,
  where: [...where],
  slow: [],
  every: null,
});

/**
 * Each monitor is down for a while and nothing else befalls anybody: what is then made of it must
 * be right to the millisecond.
 */
export const outagesInPeace = (
  chance: Chance,
  from: number,
  monitors: readonly MonitorSpec[],
  places: readonly Continent[],
): Happening[] =>
  monitors.flatMap((monitor) => {
    const { index, interval_ms, timeout_ms, continents } = monitor;
    const seeing = places.filter((place) => continents === null || continents.includes(place));
    const turn = seeing.length * interval_ms;
    const at = from + chance.between(0, turn);
    const long =
      chance.pick([
        chance.between(second, turn),
        chance.between(turn, 2 * turn),
        turn + seconds(chance, 30, 900),
      ]) + timeout_ms;
    const where = chance.happens(0.7) ? seeing : chance.some(seeing, 1, seeing.length);
    const slow = chance.happens(0.25) ? chance.some(where, 1, where.length) : [];
    const outage: Happening = {
      is: 'outage',
      at,
      until: at + long,
      monitor: index,
      where,
      slow,
      every: null,
    };
    if (!chance.happens(0.3)) return [outage];
    const covered = {
      at: at + chance.between(-minute, long),
      long: chance.between(10 * second, long + 2 * minute),
    };
    const until = covered.at + covered.long;
    const made = chance.pick([from - 30 * minute, chance.between(covered.at, until)]);
    const deleted = chance.happens(0.3) ? chance.between(Math.max(made, covered.at), until) : null;
    return [
      outage,
      { is: 'window', at: covered.at, until, monitor: index, group: null, made, deleted },
    ];
  });

/**
 * An operation, or a fault of ours, in the very seconds in which an outage opens, is confirmed, or
 * ends.
 */
const atTheWorstMoment: Scene = (chance, { from, probes, places, often }) => {
  const monitor = often(closely);
  const outage = outageOf(monitor, places, from, seconds(chance, 5, 240));
  const moment = () => chance.pick([outage.at, outage.until]) + seconds(chance, -2, 12);
  const about = { monitor: monitor.index };
  const worst = (): Happening => {
    const at = moment();
    const [soon, later] = [at + seconds(chance, 1, 7), at + seconds(chance, 10, 90)];
    return chance.pick<Happening>([
      { is: 'edited', at, until: at, ...about },
      { is: 'paused', at, until: chance.pick([soon, later]), ...about },
      { is: 'moved', at, until: at, ...about, group: chance.pick(['group', null]) },
      {
        is: 'window',
        at: chance.pick([at - minute, at]),
        until: later,
        ...about,
        group: null,
        made: at,
        deleted: null,
      },
      {
        is: 'window',
        at: at - 5 * minute,
        until: later,
        ...about,
        group: null,
        made: at - 6 * minute,
        deleted: soon,
      },
      { is: 'coordinator killed', at, until: soon, step: chance.between(0, 3) },
      { is: 'coordinator frozen', at, until: chance.pick([soon, later]) },
      { is: 'bus wiped', at, until: at },
      { is: 'bus away', at, until: soon },
      {
        is: 'probe cut off',
        at,
        until: chance.pick([soon, later]),
        probe: chance.pick(probes).index,
      },
      {
        is: 'probe dead',
        at,
        until: later,
        probe: chance.pick(probes).index,
        keepsSpool: chance.happens(0.5),
      },
    ]);
  };
  return [outage, ...Array.from({ length: chance.between(1, 2) }, worst)];
};

/** Our own side is away when a long outage begins: it is found all the same, and dated right. */
const outageDuringAbsence: Scene = (chance, { from, places, often }) => {
  const monitor = often(closely);
  const away = { at: from, until: from + seconds(chance, 2, 120) };
  const absence = chance.pick<Happening>([
    { is: 'coordinator killed', ...away, step: chance.between(0, 3) },
    { is: 'coordinator frozen', ...away },
    { is: 'bus away', ...away },
    { is: 'bus wiped', at: away.until, until: away.until },
  ]);
  const at = chance.between(away.at - 10 * second, away.until);
  return [absence, outageOf(monitor, places, at, away.until - at + seconds(chance, 120, 240))];
};

/**
 * A "down" is held by its cover when we go away, and what it tells of is over when we are back
 * (rules 4 and 25).
 */
const heldDuringAbsence: Scene = (chance, { from, places, often }) => {
  const monitor = often(closely);
  const outage = outageOf(monitor, places, from + minute, seconds(chance, 30, 120));
  const away = {
    at: outage.at + seconds(chance, 12, 25),
    until: outage.until + seconds(chance, 45, 150),
  };
  return [
    outage,
    chance.happens(0.7)
      ? { is: 'coordinator killed', ...away, step: chance.between(0, 3) }
      : { is: 'bus away', ...away },
    {
      is: 'window',
      at: from,
      until: chance.between(away.at, away.until + 30 * second),
      monitor: monitor.index,
      group: null,
      made: from - minute,
      deleted: null,
    },
  ];
};

/** Seen by two while no probe can reach the bus, and perhaps over when they can. */
const outageOfTheUnheard: Scene = (chance, { from, places, often }) => {
  const monitor = often(closely);
  const long = seconds(chance, 30, 90);
  const until = from + 5 * second + long;
  const outage = outageOf(
    monitor,
    places,
    from + seconds(chance, 1, 6),
    chance.pick([seconds(chance, 6, 15), seconds(chance, 60, 240)]),
  );
  return [
    { is: 'probes cut off', at: from, until, apart_ms: chance.pick([0, 4, 12]) * second },
    outage,
  ];
};

/** Continents on which another probe takes over when one is lost. */
const twiceServed = ({ probes, places }: Pick<Stage, 'probes' | 'places'>): readonly Continent[] =>
  places.filter((place) => probes.filter(({ continent }) => continent === place).length > 1);

/**
 * Whoever sees it first is cut off; another probe of that continent takes over and opens the
 * incident; then the first is back (rule 3).
 */
const olderFailure: Scene = (chance, { from, probes, places, often }) => {
  const monitor = often(20 * second);
  const place = chance.pick(twiceServed({ probes, places }));
  const network = {
    epoch: 0,
    probes: probes.map((probe) => ({
      ...probe,
      name: '',
      organisation: null,
      healthy: true,
      quarantined: false,
    })),
  };
  const placed = { ...monitor, monitor: monitor.id, ordinal: monitor.index, probe: null };
  const holder =
    probes.find(({ id }) => id === probeOf(placed, place, network)?.id) ?? chance.pick(probes);
  const itsTurns = turns(placed, place, network) ?? {
    period_ms: monitor.interval_ms,
    offset_ms: 0,
  };
  const seen = nextTurn(itsTurns, from + 30 * second);
  const taken = seen + itsTurns.period_ms;
  return [
    {
      is: 'probe cut off',
      at: seen - seconds(chance, 0, 12),
      until: taken + seconds(chance, 1, 20),
      probe: holder.index,
    },
    outageOf(
      monitor,
      [place],
      seen - seconds(chance, 0, 12),
      taken - seen + seconds(chance, 30, 180),
    ),
  ];
};

const scenes: readonly Scene[] = [
  atTheWorstMoment,
  atTheWorstMoment,
  outageDuringAbsence,
  heldDuringAbsence,
  outageOfTheUnheard,
];

export const makeScene: Scene = (chance, stage) => {
  const mayTakeOver = stage.places.length > 1 && twiceServed(stage).length > 0;
  return chance.pick(mayTakeOver ? [...scenes, olderFailure, olderFailure] : scenes)(chance, stage);
};

/**
 * A probe that sees failures everywhere until nobody believes it, and then checks in vain until it
 * is believed again (rule 16).
 */
export const probeThatLies = (
  chance: Chance,
  from: number,
  { probes, places }: Pick<Stage, 'probes' | 'places'>,
  monitors: readonly MonitorSpec[],
) => {
  const liar = chance.pick(probes.filter(({ continent }) => continent === places[0]));
  const until = from + seconds(chance, 60, 600);
  const happenings: Happening[] = [
    { is: 'probe sick', at: from, until, probe: liar.index, lies: true },
  ];
  if (chance.happens(0.5))
    happenings.push(
      outageOf(
        chance.pick(monitors),
        places,
        chance.between(from, until + minute),
        seconds(chance, 10, 120),
      ),
    );
  if (chance.happens(0.3)) {
    const at = chance.between(from + 30 * second, until + minute);
    happenings.push({
      is: 'coordinator killed',
      at,
      until: at + 2 * second,
      step: chance.between(0, 3),
    });
  }
  return happenings;
};

/**
 * Scenes that must come about at one moment, or in one shape, to tell anything: each was made for a
 * mistake that nothing else led to.
 */
type NamedStage = {
  readonly from: number;
  readonly probes: readonly ProbeSpec[];
  readonly places: readonly Continent[];
  /** How many monitors there are before. */
  readonly monitors: number;
  /** A monitor that is checked so often, from these, and is sampled or is not. */
  readonly make: (spec: Pick<MonitorSpec, 'interval_ms' | 'continents' | 'sampled'>) => MonitorSpec;
};
type NamedScene = (chance: Chance, stage: NamedStage) => readonly Happening[];

const outage = (
  { index }: MonitorSpec,
  where: readonly Continent[],
  at: number,
  until: number,
): Happening => ({
  is: 'outage',
  at,
  until,
  monitor: index,
  where: [...where],
  slow: [],
  every: null,
});

/** When somebody first sees what is down everywhere from this moment on. */
const firstSeen = (
  { index, id, interval_ms, continents }: MonitorSpec,
  { probes, places }: NamedStage,
  from: number,
): number => {
  const roster = {
    epoch: 0,
    probes: probes.map((probe) => ({
      ...probe,
      name: '',
      organisation: null,
      healthy: true,
      quarantined: false,
    })),
  };
  const placed = { monitor: id, interval_ms, ordinal: index, continents, probe: null };
  const firsts = places.flatMap((place) => {
    const its = probeOf(placed, place, roster) && turns(placed, place, roster);
    return its ? [nextTurn(its, from)] : [];
  });
  return Math.min(...firsts);
};

/** Its check is under way, and will fail, when it is paused (rules 17 and 18). */
const pausedAmidCheck: NamedScene = (chance, { from, places, make }) => {
  const spec = make({ interval_ms: 10_000, continents: null, sampled: chance.happens(0.5) });
  const at = from + seconds(chance, 20, 60);
  return [
    {
      is: 'outage',
      at: from,
      until: at + 30 * second,
      monitor: spec.index,
      where: [...places],
      slow: [...places],
      every: null,
    },
    { is: 'paused', at, until: at + seconds(chance, 60, 180), monitor: spec.index },
  ];
};

/**
 * It dies with what it has just written down, before anybody was asked, and the next turn is far:
 * who goes on asks (rule 9).
 */
const diesBeforeAsking: NamedScene = (chance, stage) => {
  const spec = stage.make({ interval_ms: 300_000, continents: null, sampled: false });
  const at = stage.from + seconds(chance, 0, 300);
  const dead = firstSeen(spec, stage, at) + 15;
  return [
    outage(spec, stage.places, at, at + 50 * minute),
    { is: 'coordinator killed', at: dead, until: dead + seconds(chance, 1, 5), step: 2 },
  ];
};

/**
 * Our clock, by which all probes go, was ahead and is set back; then an outage begins like any
 * other (rule 1).
 */
const clockSetBack: NamedScene = (chance, { from, places, make }) => {
  const spec = make({ interval_ms: 20_000, continents: null, sampled: chance.happens(0.5) });
  const until = from + seconds(chance, 60, 300);
  const ahead: Happening = {
    is: 'clock ahead',
    at: from,
    until,
    by: seconds(chance, 1_800, 7_200),
  };
  const at = until + 3 * places.length * spec.interval_ms + seconds(chance, 150, 300);
  const scene = [ahead, outage(spec, places, at, at + seconds(chance, 60, 240))];
  const dead = until + seconds(chance, 5, 30);
  return chance.happens(0.3)
    ? [...scene, { is: 'coordinator killed', at: dead, until: dead + 2 * second, step: 3 }]
    : scene;
};

/**
 * One continent cannot reach more than half of its targets, and less than four of five, which
 * others refute (rule 16).
 */
const halfBlind: NamedScene = (chance, { from, places, monitors, make }) => {
  const continent = chance.pick(places);
  const until = from + seconds(chance, 300, 900);
  return Array.from({ length: Math.max(3, monitors) }, () =>
    outage(
      make({ interval_ms: 20_000, continents: null, sampled: true }),
      [continent],
      from,
      until,
    ),
  );
};

/**
 * Seen by one continent for minutes while nobody of the other one checks; then that one does, and
 * cannot tell; then a coordinator takes over; then all is told: what was stored before decides how
 * it is dated (rule 3).
 */
const datedByWhatWasStored: NamedScene = (chance, { from, probes, places, make }) => {
  const [sees, other] = places;
  if (sees === undefined || other === undefined) return [];
  const spec = make({
    interval_ms: 20_000,
    continents: [sees, other],
    sampled: chance.happens(0.5),
  });
  const risen = from + seconds(chance, 80, 110);
  const dead = risen + seconds(chance, 40, 90);
  const back = dead + seconds(chance, 10, 30);
  return [
    ...probes
      .filter(({ continent }) => continent === other)
      .map(
        ({ index }): Happening => ({
          is: 'probe dead',
          at: from - minute,
          until: risen,
          probe: index,
          keepsSpool: true,
        }),
      ),
    { is: 'continent cut off', at: from - 30 * second, until: back, continent: other },
    outage(spec, [sees, other], from, back + 5 * minute),
    { is: 'coordinator killed', at: dead, until: dead + 2 * second, step: 3 },
  ];
};

const ofTwo: readonly NamedScene[] = [
  pausedAmidCheck,
  diesBeforeAsking,
  clockSetBack,
  datedByWhatWasStored,
];
/** Each target of the blind one needs monitors of its own, and a story of many takes long. */
const maxMonitors = 5;

export const makeNamedScene: NamedScene = (chance, stage) => {
  if (stage.places.length < 2) return chance.pick([pausedAmidCheck, clockSetBack])(chance, stage);
  return chance.pick(stage.monitors <= maxMonitors ? [...ofTwo, halfBlind] : ofTwo)(chance, stage);
};

/**
 * Scenes for mistakes that somebody could make in one place of the core, and that no other scene
 * leads to.
 */
type RareStage = {
  readonly from: number;
  readonly places: readonly Continent[];
  /** A monitor that is checked so often, from these, and is sampled or is not. */
  readonly make: (spec: Pick<MonitorSpec, 'interval_ms' | 'continents' | 'sampled'>) => MonitorSpec;
};
type RareScene = (chance: Chance, stage: RareStage) => readonly Happening[];

/** It leaves its group in the middle of the group's window (rule 26). */
const leavesItsGroup: RareScene = (chance, { from, make }) => {
  const { index: monitor } = make({ interval_ms: 20_000, continents: null, sampled: true });
  const [at, until] = [from + minute, from + 20 * minute];
  const left = from + seconds(chance, 120, 900);
  return [
    { is: 'moved', at: from, until: from, monitor, group: 'group' },
    { is: 'window', at, until, monitor: null, group: 'group', made: from, deleted: null },
    { is: 'moved', at: left, until: left, monitor, group: null },
  ];
};

/**
 * What is checked changes, or is not checked for a while, while it is down everywhere (rules 17 and
 * 18).
 */
const changedWhileDown: RareScene = (chance, { from, places, make }) => {
  const spec = make({ interval_ms: 5_000, continents: null, sampled: chance.happens(0.5) });
  const at = from + seconds(chance, 0, 25);
  const about = { monitor: spec.index };
  const change: Happening = chance.happens(0.5)
    ? { is: 'edited', at, until: at, ...about }
    : { is: 'paused', at, until: at + seconds(chance, 2, 60), ...about };
  return [outage(spec, places, from, from + seconds(chance, 60, 180)), change];
};

/** Nobody of the continent that saw it reports any more (rule 11). */
const unobserved: RareScene = (chance, { from, places, make }) => {
  const spec = make({ interval_ms: 10_000, continents: null, sampled: true });
  const continent = chance.pick(places);
  const cut = from + places.length * 10_000 + seconds(chance, 5, 20);
  return [
    outage(spec, [continent], from, from + 20 * minute),
    { is: 'continent cut off', at: cut, until: cut + 12 * minute, continent },
  ];
};

/** Those that saw it are away, and the others pass (rule 12). */
const observersCutOff: RareScene = (chance, { from, places, make }) => {
  const spec = make({ interval_ms: 10_000, continents: null, sampled: true });
  const where = places.slice(0, 2);
  const cut = from + places.length * 10_000 + seconds(chance, 5, 20);
  const away = where.map(
    (continent): Happening => ({
      is: 'continent cut off',
      at: cut,
      until: cut + 10 * minute,
      continent,
    }),
  );
  return [outage(spec, where, from, from + 9 * minute), ...away];
};

/**
 * Seen by two while nobody could tell of it, and over in one of them by then: nobody is alerted
 * (rule 4).
 */
const halfOver: RareScene = (chance, { from, places, make }) => {
  const where = places.slice(0, 2);
  const spec = make({ interval_ms: 5_000, continents: where, sampled: true });
  const over = from + seconds(chance, 25, 35);
  return [
    { is: 'probes cut off', at: from, until: from + minute, apart_ms: 0 },
    outage(spec, where, from + 2 * second, over),
    outage(spec, where.slice(0, 1), over, from + 5 * minute),
  ];
};

/**
 * The database refuses what is decided, or never answers, while an outage begins or ends: all comes
 * again.
 */
const refusedWhileDown: RareScene = (chance, { from, places, make }) => {
  const spec = make({ interval_ms: 5_000, continents: null, sampled: chance.happens(0.5) });
  const [begins, ends] = [from, from + seconds(chance, 150, 240)];
  const at = chance.pick([begins, ends]) + seconds(chance, -10, 5);
  const is = chance.pick(['database refuses', 'call hangs'] as const);
  return [
    outage(spec, places, begins, ends),
    { is, at, until: at + (is === 'call hangs' ? 0 : seconds(chance, 1, 40)) },
  ];
};

/**
 * It dies with what it has just written down, before anybody was asked: the next one asks (rule 9).
 */
const diesAsking: RareScene = (chance, { from, places, make }) => {
  const spec = make({ interval_ms: 300_000, continents: null, sampled: false });
  const at = from + chance.between(0, 300 * second);
  const dead = Math.ceil((at + seconds(chance, 0, 300)) / second) * second;
  return [
    outage(spec, places, at, at + 50 * minute),
    { is: 'coordinator killed', at: dead, until: dead + 60 * second, step: 2 },
  ];
};

const ofMany: readonly RareScene[] = [
  unobserved,
  halfOver,
  leavesItsGroup,
  changedWhileDown,
  changedWhileDown,
  refusedWhileDown,
  diesAsking,
];

export const makeRareScene: RareScene = (chance, stage) => {
  if (stage.places.length < 2) return leavesItsGroup(chance, stage);
  return chance.pick(
    stage.places.length >= 3 ? [...ofMany, observersCutOff, observersCutOff] : ofMany,
  )(chance, stage);
};
