import { type Html, html } from '../web-html.ts';
import type { Times } from '../web-times.ts';
import { byContinent, shortName } from './part-continents.ts';

export type LaneSample = { readonly at: string; readonly continent: string; readonly outcome: string };

const width = 1_000;
const laneHeight = 26;

const markOf = (outcome: string, x: number, y: number): string => {
  if (outcome === 'fail') return `M${x} ${y}v16`;
  return outcome === 'ok' ? `M${x} ${y + 6}v10` : `M${x} ${y + 11}v5`;
};

const countWords = (samples: readonly LaneSample[]): string => {
  const failed = samples.filter(({ outcome }) => outcome === 'fail').length;
  const passed = samples.filter(({ outcome }) => outcome === 'ok').length;
  return `${failed} failed, ${passed} passed`;
};

/** What every continent saw over time, a lane for each: failures stand tall, passes are short, what a probe cannot vouch for is shorter. */
export const sampleLanes = (samples: readonly LaneSample[], times: Times): Html | null => {
  const [first, last] = [samples[0], samples.at(-1)];
  if (!first || !last) return null;
  const [from, to] = [Date.parse(first.at), Date.parse(last.at)];
  const long = Math.max(1, to - from);
  const lanes = [...Map.groupBy(samples, ({ continent }) => continent)]
    .map(([continent, all]) => ({ continent, all }))
    .toSorted(byContinent);
  const x = (at: string): number => Math.round(((Date.parse(at) - from) / long) * (width - 4)) + 2;
  const outcomes = ['fail', 'ok', 'unknown'] as const;
  return html`<div class="lanes">${lanes.map(
    ({ continent, all }) =>
      html`<div class="sample-lane"><span class="lane-name">${shortName(continent)}</span><svg viewBox="0 0 ${width} ${laneHeight - 8}" preserveAspectRatio="none" role="img" aria-label="${continent}: ${countWords(
        all,
      )}">${outcomes.map((outcome) => {
        const marks = all.filter((sample) => sample.outcome === outcome);
        return marks.length === 0
          ? null
          : html`<path class="tick tick-${outcome}" d="${marks.map(({ at }) => markOf(outcome, x(at), 1)).join('')}"></path>`;
      })}</svg></div>`,
  )}<div class="sample-lane lane-ends"><span class="lane-name"></span><span class="lane-times"><span>${times.moment(from)}</span><span>${times.moment(to)}</span></span></div>
<p class="legend"><span class="key key-fail"></span>fails <span class="key key-ok"></span>passes <span class="key key-unknown"></span>the probe cannot tell</p></div>`;
};
