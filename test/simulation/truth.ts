import type { Continent } from '../../shared/base/continents.ts';
import { type Happening, type MonitorSpec, noise, type Story } from './story.ts';

/**
 * What really is, which nobody in the network knows: how targets and probes fare at any moment.
 * Read by the targets and by the oracle.
 */
export type Of<Is extends Happening['is']> = Extract<Happening, { is: Is }>;

export const happeningsOf = <Is extends Happening['is']>(story: Story, is: Is): Of<Is>[] =>
  story.happenings.filter((each): each is Of<Is> => each.is === is);

const lasts = ({ at, until }: { at: number; until: number }, time: number): boolean =>
  at <= time && time < until;

const isIn = (stretches: readonly { at: number; until: number }[], time: number): boolean => {
  for (const stretch of stretches) if (lasts(stretch, time)) return true;
  return false;
};

/** Whether an outage bites at this moment: one that alternates is down in every other stretch. */
const bites = (outage: Of<'outage'>, time: number): boolean =>
  lasts(outage, time) &&
  (outage.every === null || Math.floor((time - outage.at) / outage.every) % 2 === 0);

export type Truth = {
  /** How the target answers a check of this continent that starts now. */
  readonly answers: (
    monitor: number,
    continent: Continent,
    time: number,
  ) => 'ok' | 'refused' | 'slow';
  readonly isDown: (monitor: number, continent: Continent, time: number) => boolean;
  readonly isCut: (probe: number, time: number) => boolean;
  readonly isDead: (probe: number, time: number) => boolean;
  readonly sickness: (probe: number, time: number, monitor: number) => 'well' | 'sick' | 'lies';
  readonly skew: (probe: number, time: number) => number;
  readonly roughness: (time: number) => Of<'rough bus'> | undefined;
  readonly isBusAway: (time: number) => boolean;
  readonly isRefusing: (time: number) => boolean;
  /** How far the coordinator's clock is ahead. */
  readonly ahead: (time: number) => number;
  readonly isPaused: (monitor: number, time: number) => boolean;
  /** Stretches in which the monitor is covered by maintenance. */
  readonly covers: (monitor: number) => readonly { readonly from: number; readonly to: number }[];
  readonly isCovered: (monitor: number, time: number) => boolean;
};

/**
 * By rules 24 to 26: from the later of start and making, until the earlier of end and deletion,
 * while in the group.
 */
const coversOf = (story: Story, { index }: MonitorSpec): { from: number; to: number }[] => {
  const moves = happeningsOf(story, 'moved').filter(({ monitor }) => monitor === index);
  return happeningsOf(story, 'window')
    .flatMap(({ at, until, made, deleted, monitor, group }) => {
      const from = Math.max(at, made);
      const to = Math.min(until, deleted ?? until);
      if (monitor === index) return [{ from, to }];
      if (group === null) return [];
      return moves.flatMap((move, place) => {
        const left = moves[place + 1]?.at ?? Number.POSITIVE_INFINITY;
        return move.group === group
          ? [{ from: Math.max(from, move.at), to: Math.min(to, left) }]
          : [];
      });
    })
    .filter(({ from, to }) => from < to);
};

export const createTruth = (story: Story): Truth => {
  const outages = story.monitors.map(({ index }) =>
    happeningsOf(story, 'outage').filter(({ monitor }) => monitor === index),
  );
  const pauses = story.monitors.map(({ index }) =>
    happeningsOf(story, 'paused').filter(({ monitor }) => monitor === index),
  );
  const covers = story.monitors.map((monitor) => coversOf(story, monitor));
  /** When this probe is back; the last one is back at the end. */
  const back = (cut: Of<'probes cut off'>, probe: number): number =>
    cut.until -
    (probe === 0
      ? 0
      : Math.floor(noise(story.seed, probe, Math.floor(cut.at / 1000), 31) * cut.apart_ms));
  // Sorted out once for each probe, because this is asked of every probe in every second of every
  // story.
  const cuts = story.probes.map(({ index, continent }) => [
    ...happeningsOf(story, 'probe cut off').filter(({ probe }) => probe === index),
    ...happeningsOf(story, 'continent cut off').filter((cut) => cut.continent === continent),
    ...happeningsOf(story, 'probes cut off').map((cut) => ({
      at: cut.at,
      until: back(cut, index),
    })),
  ]);
  const deaths = happeningsOf(story, 'probe dead');
  const sicknesses = happeningsOf(story, 'probe sick');
  const skews = happeningsOf(story, 'probe skewed');
  const rough = happeningsOf(story, 'rough bus');
  const away = happeningsOf(story, 'bus away');
  const refusing = happeningsOf(story, 'database refuses');
  const wrong = happeningsOf(story, 'clock ahead');

  const answers: Truth['answers'] = (monitor, continent, time) => {
    let answer: 'ok' | 'refused' | 'slow' = 'ok';
    for (const outage of outages[monitor] ?? []) {
      if (!outage.where.includes(continent) || !bites(outage, time)) continue;
      answer = outage.slow.includes(continent) ? 'slow' : 'refused';
    }
    return answer;
  };

  return {
    answers,
    isDown: (monitor, continent, time) => answers(monitor, continent, time) !== 'ok',
    isCut: (probe, time) => isIn(cuts[probe] ?? [], time),
    isDead: (probe, time) => deaths.some((death) => death.probe === probe && lasts(death, time)),
    sickness: (probe, time, of) => {
      const ill = sicknesses.filter(
        (sickness) =>
          sickness.probe === probe &&
          lasts(sickness, time) &&
          (sickness.monitor === undefined || sickness.monitor === of),
      );
      if (ill.length === 0) return 'well';
      return ill.some(({ lies }) => lies) ? 'lies' : 'sick';
    },
    skew: (probe, time) =>
      skews.find((skewed) => skewed.probe === probe && lasts(skewed, time))?.by ?? 0,
    roughness: (time) => rough.find((each) => lasts(each, time)),
    isBusAway: (time) => isIn(away, time),
    isRefusing: (time) => isIn(refusing, time),
    ahead: (time) => wrong.find((each) => lasts(each, time))?.by ?? 0,
    isPaused: (monitor, time) => (pauses[monitor] ?? []).some((pause) => lasts(pause, time)),
    covers: (monitor) => covers[monitor] ?? [],
    isCovered: (monitor, time) =>
      (covers[monitor] ?? []).some(({ from, to }) => from <= time && time < to),
  };
};
