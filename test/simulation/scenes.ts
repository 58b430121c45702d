import type { Continent } from '../../shared/base/continents.ts';
import { nextTurn, probeOf, turns } from '../../shared/checks/placement.ts';
import type { Chance } from './chance.ts';
import type { Happening, MonitorSpec, ProbeSpec } from './story.ts';

/** What hardly ever comes about by chance alone: each of these leads to a place in the rules that years of other trouble do not reach. */
type Stage = {
  readonly from: number;
  readonly probes: readonly ProbeSpec[];
  readonly places: readonly Continent[];
  /** A monitor that is checked so often, and by all. */
  readonly often: (interval_ms: number) => MonitorSpec;
};
type Scene = (chance: Chance, stage: Stage) => readonly Happening[];

const second = 1000;
/** Several see within seconds what befalls it. */
const closely = 5 * second;
const minute = 60_000;

const seconds = (chance: Chance, least: number, most: number): number => chance.between(least * second, most * second);

/** Seen by all, at once. */
const outageOf = ({ index }: MonitorSpec, where: readonly Continent[], at: number, long: number): Happening => ({
  is: 'outage',
  ...{ at, until: at + long, monitor: index, where: [...where], slow: [], every: null },
});

/** Each monitor is down for a while and nothing else befalls anybody: what is then made of it must be right to the millisecond. */
export const outagesInPeace = (chance: Chance, from: number, monitors: readonly MonitorSpec[], places: readonly Continent[]): Happening[] =>
  monitors.flatMap((monitor) => {
    const { index, interval_ms, timeout_ms, continents } = monitor;
    const seeing = places.filter((place) => continents === null || continents.includes(place));
    const turn = seeing.length * interval_ms;
    const at = from + chance.between(0, turn);
    const long = chance.pick([chance.between(second, turn), chance.between(turn, 2 * turn), turn + seconds(chance, 30, 900)]) + timeout_ms;
    const where = chance.happens(0.7) ? seeing : chance.some(seeing, 1, seeing.length);
    const slow = chance.happens(0.25) ? chance.some(where, 1, where.length) : [];
    const outage: Happening = { is: 'outage', at, until: at + long, monitor: index, where, slow, every: null };
    if (!chance.happens(0.3)) return [outage];
    const covered = { at: at + chance.between(-minute, long), long: chance.between(10 * second, long + 2 * minute) };
    const until = covered.at + covered.long;
    const made = chance.pick([from - 30 * minute, chance.between(covered.at, until)]);
    const deleted = chance.happens(0.3) ? chance.between(Math.max(made, covered.at), until) : null;
    return [outage, { is: 'window', at: covered.at, until, monitor: index, group: null, made, deleted }];
  });

/** An operation, or a fault of ours, in the very seconds in which an outage opens, is confirmed, or ends. */
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
      { is: 'window', at: chance.pick([at - minute, at]), until: later, ...about, group: null, made: at, deleted: null },
      { is: 'window', at: at - 5 * minute, until: later, ...about, group: null, made: at - 6 * minute, deleted: soon },
      { is: 'coordinator killed', at, until: soon, step: chance.between(0, 3) },
      { is: 'coordinator frozen', at, until: chance.pick([soon, later]) },
      { is: 'bus wiped', at, until: at },
      { is: 'bus away', at, until: soon },
      { is: 'probe cut off', at, until: chance.pick([soon, later]), probe: chance.pick(probes).index },
      { is: 'probe dead', at, until: later, probe: chance.pick(probes).index, keepsSpool: chance.happens(0.5) },
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

/** A "down" is held by its cover when we go away, and what it tells of is over when we are back (rules 4 and 25). */
const heldDuringAbsence: Scene = (chance, { from, places, often }) => {
  const monitor = often(closely);
  const outage = outageOf(monitor, places, from + minute, seconds(chance, 30, 120));
  const away = { at: outage.at + seconds(chance, 12, 25), until: outage.until + seconds(chance, 45, 150) };
  return [
    outage,
    chance.happens(0.7) ? { is: 'coordinator killed', ...away, step: chance.between(0, 3) } : { is: 'bus away', ...away },
    {
      is: 'window',
      ...{ at: from, until: chance.between(away.at, away.until + 30 * second), monitor: monitor.index },
      ...{ group: null, made: from - minute, deleted: null },
    },
  ];
};

/** Seen by two while no probe can reach the bus, and perhaps over when they can. */
const outageOfTheUnheard: Scene = (chance, { from, places, often }) => {
  const monitor = often(closely);
  const long = seconds(chance, 30, 90);
  const until = from + 5 * second + long;
  const outage = outageOf(monitor, places, from + seconds(chance, 1, 6), chance.pick([seconds(chance, 6, 15), seconds(chance, 60, 240)]));
  return [{ is: 'probes cut off', at: from, until, apart_ms: chance.pick([0, 4, 12]) * second }, outage];
};

/** Continents on which another probe takes over when one is lost. */
const twiceServed = ({ probes, places }: Pick<Stage, 'probes' | 'places'>): readonly Continent[] =>
  places.filter((place) => probes.filter(({ continent }) => continent === place).length > 1);

/** Whoever sees it first is cut off; another probe of that continent takes over and opens the incident; then the first is back (rule 3). */
const olderFailure: Scene = (chance, { from, probes, places, often }) => {
  const monitor = often(20 * second);
  const place = chance.pick(twiceServed({ probes, places }));
  const network = {
    epoch: 0,
    probes: probes.map((probe) => ({ ...probe, name: '', organisation: null, healthy: true, quarantined: false })),
  };
  const placed = { ...monitor, monitor: monitor.id, ordinal: monitor.index, probe: null };
  const holder = probes.find(({ id }) => id === probeOf(placed, place, network)?.id) ?? chance.pick(probes);
  const itsTurns = turns(placed, place, network) ?? { period_ms: monitor.interval_ms, offset_ms: 0 };
  const seen = nextTurn(itsTurns, from + 30 * second);
  const taken = seen + itsTurns.period_ms;
  return [
    { is: 'probe cut off', at: seen - seconds(chance, 0, 12), until: taken + seconds(chance, 1, 20), probe: holder.index },
    outageOf(monitor, [place], seen - seconds(chance, 0, 12), taken - seen + seconds(chance, 30, 180)),
  ];
};

const scenes: readonly Scene[] = [atTheWorstMoment, atTheWorstMoment, outageDuringAbsence, heldDuringAbsence, outageOfTheUnheard];

export const makeScene: Scene = (chance, stage) => {
  const mayTakeOver = stage.places.length > 1 && twiceServed(stage).length > 0;
  return chance.pick(mayTakeOver ? [...scenes, olderFailure, olderFailure] : scenes)(chance, stage);
};

/** A probe that sees failures everywhere until nobody believes it, and then checks in vain until it is believed again (rule 16). */
export const probeThatLies = (
  chance: Chance,
  from: number,
  { probes, places }: Pick<Stage, 'probes' | 'places'>,
  monitors: readonly MonitorSpec[],
) => {
  const liar = chance.pick(probes.filter(({ continent }) => continent === places[0]));
  const until = from + seconds(chance, 60, 600);
  const happenings: Happening[] = [{ is: 'probe sick', at: from, until, probe: liar.index, lies: true }];
  if (chance.happens(0.5))
    happenings.push(outageOf(chance.pick(monitors), places, chance.between(from, until + minute), seconds(chance, 10, 120)));
  if (chance.happens(0.3)) {
    const at = chance.between(from + 30 * second, until + minute);
    happenings.push({ is: 'coordinator killed', at, until: at + 2 * second, step: chance.between(0, 3) });
  }
  return happenings;
};
