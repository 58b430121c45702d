import type { Continent } from '../../shared/base/continents.ts';
import type { Database } from './database.ts';
import { type Known, newest, newestByContinent } from './oracle-views.ts';
import type { Round } from './round.ts';
import type { ProbeSpec, Story } from './story.ts';

/** Rule 16: nobody believes a quarantined probe again before 20 clean shadow checks. */
const cleanRun = 20;

export type QuarantineOracle = { readonly onCommit: (round: Round) => string[] };

export const createQuarantineOracle = (database: Database): QuarantineOracle => {
  const passes = new Map<number, number>();
  return {
    onCommit: ({ results }) => {
      for (const { made } of results)
        if (made.quarantined && made.outcome === 'ok') passes.set(made.probe, (passes.get(made.probe) ?? 0) + 1);
      for (const probe of database.quarantined.keys()) if (!passes.has(probe)) passes.set(probe, 0);
      const back = [...passes].filter(([probe]) => !database.quarantined.has(probe));
      for (const [probe] of back) passes.delete(probe);
      return back.flatMap(([probe, count]) => (count < cleanRun ? [`probe ${probe} is believed again after ${count} clean checks`] : []));
    },
  };
};

/** Whoever sees so large a share of its targets fail alone is quarantined, also if nobody else is there to see for its continent. */
const fewestTargets = 3;
const largeShare = 0.5;
/** What is told later tells of a time that others have left behind. */
const live = 5_000;
/** What an ordinary decision may take. */
const soon = 10_000;

export type Believed = {
  readonly story: Story;
  readonly database: Database;
  readonly known: readonly Known[];
  /** Continents that can check the monitor. */
  readonly ableOf: (monitor: number) => readonly Continent[];
  /** Since when this coordinator has been at work: what was refuted before, it need not know. */
  readonly since: number;
  readonly now: number;
};

/** Whether the newest that this probe saw of it lately was a failure, and all others passed right after it. */
const isRefuted = (of: Believed, probe: ProbeSpec, monitor: number): boolean => {
  const about = of.known[monitor];
  const able = of.ableOf(monitor);
  if (!about || about.isPaused || !able.includes(probe.continent)) return false;
  const last = newest(about.decided, (made) => made.probe === probe.index);
  if (last?.outcome !== 'fail' || last.decided_at === null) return false;
  const isOld = last.at < of.now - 2 * able.length * (of.story.monitors[monitor]?.interval_ms ?? 0);
  const isJudged = last.decided_at >= of.since && last.decided_at < of.now - soon && last.decided_at - last.at < live;
  const others = able.filter((place) => place !== probe.continent);
  const passes = newestByContinent(about.decided, others).filter(({ outcome, at }) => outcome === 'ok' && at >= last.at);
  return isJudged && !isOld && others.length > 0 && passes.length === others.length;
};

/** Rule 16: those who are believed although others refute what they see of many targets. */
export const faultsOfBelief = (of: Believed): string[] => {
  const targets = of.story.monitors.length;
  return of.story.probes.flatMap((probe) => {
    if (of.database.quarantined.has(probe.index)) return [];
    const refuted = of.story.monitors.filter(({ index }) => isRefuted(of, probe, index)).length;
    const isLarge = refuted >= fewestTargets && refuted >= targets * largeShare;
    return isLarge ? [`probe ${probe.index} is believed at ${of.now}, although others refute ${refuted} of ${targets} targets`] : [];
  });
};
