import type { Rules } from '../../coordinator/core/types.ts';
import { smallestThatFails } from './smallest-case.ts';
import type { Happening, Story } from './story.ts';
import { live } from './world.ts';

/** The shortest story that still ends as badly: what can be left out is left out, what can be shorter is made shorter. */

/** What is wrong, without its numbers: a shorter story has other times and names for the same fault. */
const kindOf = (violation: string): string => violation.replaceAll(/[\d.]+/g, '#').replaceAll(/ in [A-Z][A-Za-z+ ]*:/g, ':');

export const violationOf = (story: Story, rules: Rules): string | undefined => live(story, rules).record.violations[0];

const withoutMonitor = (story: Story, gone: number): Story => {
  const renumbered = (happening: Happening): Happening[] => {
    if (!('monitor' in happening) || happening.monitor === null) return [happening];
    if (happening.monitor === gone) return [];
    return [happening.monitor > gone ? { ...happening, monitor: happening.monitor - 1 } : happening];
  };
  const monitors = story.monitors.filter(({ index }) => index !== gone).map((monitor, index) => ({ ...monitor, index }));
  return { ...story, monitors, happenings: story.happenings.flatMap(renumbered) };
};

const withoutProbe = (story: Story, gone: number): Story => {
  const renumbered = (happening: Happening): Happening[] => {
    if (!('probe' in happening)) return [happening];
    if (happening.probe === gone) return [];
    return [happening.probe > gone ? { ...happening, probe: happening.probe - 1 } : happening];
  };
  const probes = story.probes.filter(({ index }) => index !== gone).map((probe, index) => ({ ...probe, index }));
  return { ...story, probes, happenings: story.happenings.flatMap(renumbered) };
};

/** Smaller stories, the boldest first. */
function* smaller(story: Story): Generator<Story> {
  const { happenings, monitors, probes, start, end } = story;
  for (let size = Math.ceil(happenings.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let from = 0; from < happenings.length; from += size) yield { ...story, happenings: happenings.toSpliced(from, size) };
  }
  if (monitors.length > 1) for (const { index } of monitors) yield withoutMonitor(story, index);
  if (probes.length > 1) for (const { index } of probes) yield withoutProbe(story, index);
  const last = Math.max(start, ...happenings.map(({ until }) => until));
  for (const after of [5, 30, 120]) if (end > last + after * 60_000) yield { ...story, end: last + after * 60_000 };
  const first = Math.min(end, ...happenings.map((each) => (each.is === 'window' ? Math.min(each.made, each.at) : each.at)));
  if (first - start > 3_600_000) yield { ...story, start: first - 1_200_000 };
  for (const [index, happening] of happenings.entries()) {
    const half = Math.floor((happening.until - happening.at) / 2);
    if (half >= 1_000) yield { ...story, happenings: happenings.with(index, { ...happening, until: happening.until - half }) };
  }
}

/** Tries until nothing smaller fails in the same way, or after so many attempts. */
export const shrink = (story: Story, rules: Rules, attempts = 400): { readonly story: Story; readonly fault: string } =>
  smallestThatFails(story, { faultOf: (one) => violationOf(one, rules), kindOf, smaller }, attempts);
