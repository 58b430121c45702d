import type { Continent } from '../../shared/base/continents.ts';
import type { Chance } from './chance.ts';
import type { Happening, MonitorSpec } from './story.ts';

/** Scenes for mistakes that somebody could make in one place of the core, and that no other scene leads to. */
type Stage = {
  readonly from: number;
  readonly places: readonly Continent[];
  /** A monitor that is checked so often, from these, and is sampled or is not. */
  readonly make: (spec: Pick<MonitorSpec, 'interval_ms' | 'continents' | 'sampled'>) => MonitorSpec;
};
type Scene = (chance: Chance, stage: Stage) => readonly Happening[];

const second = 1_000;
const minute = 60_000;
const seconds = (chance: Chance, least: number, most: number): number => chance.between(least * second, most * second);

const outage = ({ index }: MonitorSpec, where: readonly Continent[], at: number, until: number): Happening => ({
  is: 'outage',
  ...{ at, until, monitor: index, where: [...where], slow: [], every: null },
});

/** It leaves its group in the middle of the group's window (rule 26). */
const leavesItsGroup: Scene = (chance, { from, make }) => {
  const { index: monitor } = make({ interval_ms: 20_000, continents: null, sampled: true });
  const [at, until] = [from + minute, from + 20 * minute];
  const left = from + seconds(chance, 120, 900);
  return [
    { is: 'moved', at: from, until: from, monitor, group: 'group' },
    { is: 'window', at, until, monitor: null, group: 'group', made: from, deleted: null },
    { is: 'moved', at: left, until: left, monitor, group: null },
  ];
};

/** What is checked changes, or is not checked for a while, while it is down everywhere (rules 17 and 18). */
const changedWhileDown: Scene = (chance, { from, places, make }) => {
  const spec = make({ interval_ms: 5_000, continents: null, sampled: chance.happens(0.5) });
  const at = from + seconds(chance, 0, 25);
  const about = { monitor: spec.index };
  const change: Happening = chance.happens(0.5)
    ? { is: 'edited', at, until: at, ...about }
    : { is: 'paused', at, until: at + seconds(chance, 2, 60), ...about };
  return [outage(spec, places, from, from + seconds(chance, 60, 180)), change];
};

/** Nobody of the continent that saw it reports any more (rule 11). */
const unobserved: Scene = (chance, { from, places, make }) => {
  const spec = make({ interval_ms: 10_000, continents: null, sampled: true });
  const continent = chance.pick(places);
  const cut = from + places.length * 10_000 + seconds(chance, 5, 20);
  return [outage(spec, [continent], from, from + 20 * minute), { is: 'continent cut off', at: cut, until: cut + 12 * minute, continent }];
};

/** Those that saw it are away, and the others pass (rule 12). */
const observersCutOff: Scene = (chance, { from, places, make }) => {
  const spec = make({ interval_ms: 10_000, continents: null, sampled: true });
  const where = places.slice(0, 2);
  const cut = from + places.length * 10_000 + seconds(chance, 5, 20);
  const away = where.map((continent): Happening => ({ is: 'continent cut off', at: cut, until: cut + 10 * minute, continent }));
  return [outage(spec, where, from, from + 9 * minute), ...away];
};

/** Seen by two while nobody could tell of it, and over in one of them by then: nobody is alerted (rule 4). */
const halfOver: Scene = (chance, { from, places, make }) => {
  const where = places.slice(0, 2);
  const spec = make({ interval_ms: 5_000, continents: where, sampled: true });
  const over = from + seconds(chance, 25, 35);
  return [
    { is: 'probes cut off', at: from, until: from + minute, apart_ms: 0 },
    outage(spec, where, from + 2 * second, over),
    outage(spec, where.slice(0, 1), over, from + 5 * minute),
  ];
};

/** The database refuses what is decided, or never answers, while an outage begins or ends: all comes again. */
const refusedWhileDown: Scene = (chance, { from, places, make }) => {
  const spec = make({ interval_ms: 5_000, continents: null, sampled: chance.happens(0.5) });
  const [begins, ends] = [from, from + seconds(chance, 150, 240)];
  const at = chance.pick([begins, ends]) + seconds(chance, -10, 5);
  const is = chance.pick(['database refuses', 'call hangs'] as const);
  return [outage(spec, places, begins, ends), { is, at, until: at + (is === 'call hangs' ? 0 : seconds(chance, 1, 40)) }];
};

/** It dies with what it has just written down, before anybody was asked: the next one asks (rule 9). */
const diesAsking: Scene = (chance, { from, places, make }) => {
  const spec = make({ interval_ms: 300_000, continents: null, sampled: false });
  const at = from + chance.between(0, 300 * second);
  const dead = Math.ceil((at + seconds(chance, 0, 300)) / second) * second;
  return [outage(spec, places, at, at + 50 * minute), { is: 'coordinator killed', at: dead, until: dead + 60 * second, step: 2 }];
};

const ofMany: readonly Scene[] = [unobserved, halfOver, leavesItsGroup, changedWhileDown, changedWhileDown, refusedWhileDown, diesAsking];

export const makeRareScene: Scene = (chance, stage) => {
  if (stage.places.length < 2) return leavesItsGroup(chance, stage);
  return chance.pick(stage.places.length >= 3 ? [...ofMany, observersCutOff, observersCutOff] : ofMany)(chance, stage);
};
