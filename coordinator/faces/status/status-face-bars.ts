import { type DayState, dayState, type PublicDay } from '../../domain/public-page.ts';
import { type Html, html } from '../web/web-html.ts';
import type { View } from './status-face-view.ts';

type Shown = Exclude<DayState, 'none'>;

/** How tall a bar of each state is, out of 24: states differ also for who sees no colour. */
const heights: Readonly<Record<Shown, number>> = { down: 24, maintenance: 12, up: 18, unknown: 6 };
export const barStates: readonly Shown[] = ['up', 'down', 'maintenance', 'unknown'];

/** Days that are alike beside each other are one shape; the style cuts it into bars. Else ninety bars for fifty services would fill a page. */
const runs = (states: readonly Shown[], state: Shown): string => {
  let path = '';
  for (let at = 0; at < states.length; at += 1) {
    if (states[at] !== state) continue;
    const from = at;
    while (states[at + 1] === state) at += 1;
    path += `M${from} ${24 - heights[state]}h${at - from + 1}v${heights[state]}H${from}z`;
  }
  return path;
};

/** What the bars say, for who does not see them. */
const summary = (states: readonly Shown[], { words }: View): string => {
  const counted = (['down', 'maintenance', 'unknown', 'up'] as const)
    .map((state) => [state, states.filter((each) => each === state).length] as const)
    .filter(([, count]) => count > 0);
  return `${words.barsOf(states.length)}: ${counted.map(([state, count]) => words.dayCounts[state](count)).join(', ')}`;
};

export const bars = (days: readonly PublicDay[], view: View): Html => {
  // Before it was made, nothing was measured either.
  const states = days.map(dayState).map((state): Shown => (state === 'none' ? 'unknown' : state));
  return html`<svg class="bars" viewBox="0 0 ${days.length} 24" preserveAspectRatio="none" role="img" aria-label="${summary(states, view)}">${barStates.map(
    (state) => states.includes(state) && html`<path class="f-${state}" d="${runs(states, state)}"/>`,
  )}</svg>`;
};

/** What the bars mean, once for all of them. */
export const legend = ({ words, page, formats }: View, first: number | undefined): Html =>
  html`<p class="legend"><span>${words.eachBar}</span>${barStates.map(
    (state) =>
      html` <span class="key"><svg class="key-bar" viewBox="0 0 6 24" aria-hidden="true"><path class="f-${state}" d="M0 ${24 - heights[state]}h6v${heights[state]}H0z"/></svg>${words.legend[state]}</span>`,
  )}${first !== undefined && html` <span class="span">${formats.shortDay(first)} – ${formats.shortDay(page.now)} (${words.today})</span>`}</p>`;
