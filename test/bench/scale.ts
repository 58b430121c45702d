import type { Bench, Figure } from './figure.ts';
import { costOfCheck, detection } from './scale/measure.ts';
import { type ProbeStart, startsWith } from './scale/probe-start.ts';
import { startRig } from './scale/rig.ts';

/**
 * Cost as work grows: 1,000, 10,000 and 100,000 monitors that make as many checks a second, so that
 * only their number differs. A real coordinator, two real probes, http targets on loopback.
 */

const perSecond = 100;
const sizes = [1_000, 10_000, 100_000] as const;
/** Monitors whose target breaks; they are checked every 10 s whatever the others do. */
const canaries = 20;
const continents = ['Asia', 'Europe'] as const;
const usualWindowMs = 20_000;
const maxStartMs = 1_500;

type Seen = {
  readonly count: number;
  readonly check: number;
  readonly coordinator: number;
  readonly probes: number;
  readonly found: number;
  readonly worst: number;
  /** Of assignments, in the stream. */
  readonly messages: number;
  readonly start: ProbeStart;
};

const measure = async (
  count: number,
  interval_s: number,
  windowMs: number,
  say: (progress: string) => void,
): Promise<Omit<Seen, 'start'> & { checks: number }> => {
  const rig = await startRig(
    [
      { count, interval_s, target: 'well' },
      { count: canaries, interval_s: 10, target: 'breakable' },
    ],
    ['Asia', 'Europe'],
    (progress) => say(`${count} monitors: ${progress}`),
  );
  try {
    say(`${count} monitors: settling`);
    await costOfCheck(rig, windowMs / 2);
    say(`${count} monitors: CPU`);
    const cost = await costOfCheck(rig, windowMs);
    const memory = await rig.memory();
    const messages = await rig.messages();
    say(`${count} monitors: detection`);
    const found = await detection(rig, canaries);
    return {
      count,
      check: cost.all,
      checks: cost.checks,
      ...memory,
      found: found.median,
      worst: found.most,
      messages,
    };
  } finally {
    await rig.close();
  }
};

export const scale: Bench = {
  name: 'scale',
  about:
    '1,000, 10,000 and 100,000 monitors: CPU for each check, memory for each monitor, detection time (5 min)',
  run: async (say, { windowMs = usualWindowMs } = {}) => {
    const seen = [];
    for (const count of sizes) {
      const measured = await measure(count, count / perSecond, windowMs, say);
      say(`${count} monitors: start of a probe`);
      seen.push({ ...measured, start: await startsWith(count) });
    }
    const [base] = seen;
    if (!base) return [];
    const each = (mib: number, baseMib: number, count: number): number =>
      ((mib - baseMib) * 1_024 * 1_024) / (count - base.count);
    const row = (
      what: string,
      ours: number,
      theirs: number,
      unit: string,
      limit: number,
      digits = 2,
    ): Figure => ({
      what,
      ours: `${ours.toFixed(digits)} ${unit}`,
      against: `with ${base.count} ${theirs.toFixed(digits)} ${unit}`,
      ratio: ours / theirs,
      goal: `≤ ${limit.toFixed(2)} ×`,
      holds: ours / theirs <= limit,
    });
    const plain = (what: string, ours: string, goal: string, holds: boolean | null): Figure => ({
      what,
      ours,
      against: '–',
      ratio: null,
      goal,
      holds,
    });
    const started = (what: string, ours: number, theirs: number): Figure => ({
      ...row(what, ours, theirs, 'ms', 0, 0),
      goal: `≤ ${maxStartMs} ms`,
      holds: ours <= maxStartMs,
    });
    return seen.flatMap((one): Figure[] => {
      const name = `${one.count} monitors, ${perSecond} checks a second`;
      const first = [
        row(`${name}: CPU of a check, all processes`, one.check, base.check, 'ms', 1.5),
        row(`${name}: detection, median of ${canaries}`, one.found, base.found, 'ms', 2, 0),
        plain(`${name}: detection, slowest`, `${one.worst.toFixed(0)} ms`, '–', null),
        started(`${name}: a probe checks, from its start on`, one.start.fresh, base.start.fresh),
        started(`${name}: the same after a kill`, one.start.again, base.start.again),
        {
          what: `${name}: messages in the stream of assignments, for ${continents.length} places`,
          ours: String(one.messages),
          against: `one for each monitor and place ${one.count * continents.length}`,
          ratio: one.messages / (one.count * continents.length),
          goal: '–',
          holds: null,
        },
      ];
      if (one === base) return first;
      const [coordinator, probe] = [
        each(one.coordinator, base.coordinator, one.count),
        each(one.probes, base.probes, one.count) / 2,
      ];
      return [
        ...first,
        plain(
          `${name}: memory of the coordinator for each`,
          `${coordinator.toFixed(0)} B`,
          '≤ 1600 B',
          coordinator <= 1_600,
        ),
        plain(`${name}: memory of a probe for each`, `${probe.toFixed(0)} B`, '–', null),
      ];
    });
  },
};
