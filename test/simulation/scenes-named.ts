import type { Continent } from '../../shared/base/continents.ts';
import { nextTurn, probeOf, turns } from '../../shared/checks/placement.ts';
import type { Chance } from './chance.ts';
import type { Happening, MonitorSpec, ProbeSpec } from './story.ts';

/** Scenes that must come about at one moment, or in one shape, to tell anything: each was made for a mistake that nothing else led to. */
type Stage = {
  readonly from: number;
  readonly probes: readonly ProbeSpec[];
  readonly places: readonly Continent[];
  /** How many monitors there are before. */
  readonly monitors: number;
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

/** When somebody first sees what is down everywhere from this moment on. */
const firstSeen = ({ index, id, interval_ms, continents }: MonitorSpec, { probes, places }: Stage, from: number): number => {
  const roster = {
    epoch: 0,
    probes: probes.map((probe) => ({ ...probe, name: '', organisation: null, healthy: true, quarantined: false })),
  };
  const placed = { monitor: id, interval_ms, ordinal: index, continents, probe: null };
  const firsts = places.flatMap((place) => {
    const its = probeOf(placed, place, roster) && turns(placed, place, roster);
    return its ? [nextTurn(its, from)] : [];
  });
  return Math.min(...firsts);
};

/** Its check is under way, and will fail, when it is paused (rules 17 and 18). */
const pausedAmidCheck: Scene = (chance, { from, places, make }) => {
  const spec = make({ interval_ms: 10_000, continents: null, sampled: chance.happens(0.5) });
  const at = from + seconds(chance, 20, 60);
  return [
    { is: 'outage', at: from, until: at + 30 * second, monitor: spec.index, where: [...places], slow: [...places], every: null },
    { is: 'paused', at, until: at + seconds(chance, 60, 180), monitor: spec.index },
  ];
};

/** It dies with what it has just written down, before anybody was asked, and the next turn is far: who goes on asks (rule 9). */
const diesBeforeAsking: Scene = (chance, stage) => {
  const spec = stage.make({ interval_ms: 300_000, continents: null, sampled: false });
  const at = stage.from + seconds(chance, 0, 300);
  const dead = firstSeen(spec, stage, at) + 15;
  return [
    outage(spec, stage.places, at, at + 50 * minute),
    { is: 'coordinator killed', at: dead, until: dead + seconds(chance, 1, 5), step: 2 },
  ];
};

/** Our clock, by which all probes go, was ahead and is set back; then an outage begins like any other (rule 1). */
const clockSetBack: Scene = (chance, { from, places, make }) => {
  const spec = make({ interval_ms: 20_000, continents: null, sampled: chance.happens(0.5) });
  const until = from + seconds(chance, 60, 300);
  const ahead: Happening = { is: 'clock ahead', at: from, until, by: seconds(chance, 1_800, 7_200) };
  const at = until + 3 * places.length * spec.interval_ms + seconds(chance, 150, 300);
  const scene = [ahead, outage(spec, places, at, at + seconds(chance, 60, 240))];
  const dead = until + seconds(chance, 5, 30);
  return chance.happens(0.3) ? [...scene, { is: 'coordinator killed', at: dead, until: dead + 2 * second, step: 3 }] : scene;
};

/** One continent cannot reach more than half of its targets, and less than four of five, which others refute (rule 16). */
const halfBlind: Scene = (chance, { from, places, monitors, make }) => {
  const continent = chance.pick(places);
  const until = from + seconds(chance, 300, 900);
  return Array.from({ length: Math.max(3, monitors) }, () =>
    outage(make({ interval_ms: 20_000, continents: null, sampled: true }), [continent], from, until),
  );
};

/**
 * Seen by one continent for minutes while nobody of the other one checks; then that one does, and cannot tell; then a coordinator takes over; then all
 * is told: what was stored before decides how it is dated (rule 3).
 */
const datedByWhatWasStored: Scene = (chance, { from, probes, places, make }) => {
  const [sees, other] = places;
  if (sees === undefined || other === undefined) return [];
  const spec = make({ interval_ms: 20_000, continents: [sees, other], sampled: chance.happens(0.5) });
  const risen = from + seconds(chance, 80, 110);
  const dead = risen + seconds(chance, 40, 90);
  const back = dead + seconds(chance, 10, 30);
  return [
    ...probes
      .filter(({ continent }) => continent === other)
      .map(({ index }): Happening => ({ is: 'probe dead', at: from - minute, until: risen, probe: index, keepsSpool: true })),
    { is: 'continent cut off', at: from - 30 * second, until: back, continent: other },
    outage(spec, [sees, other], from, back + 5 * minute),
    { is: 'coordinator killed', at: dead, until: dead + 2 * second, step: 3 },
  ];
};

const ofTwo: readonly Scene[] = [pausedAmidCheck, diesBeforeAsking, clockSetBack, datedByWhatWasStored];
/** Each target of the blind one needs monitors of its own, and a story of many takes long. */
const maxMonitors = 5;

export const makeNamedScene: Scene = (chance, stage) => {
  if (stage.places.length < 2) return chance.pick([pausedAmidCheck, clockSetBack])(chance, stage);
  return chance.pick(stage.monitors <= maxMonitors ? [...ofTwo, halfBlind] : ofTwo)(chance, stage);
};
