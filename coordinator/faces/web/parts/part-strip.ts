import { type Html, html } from '../web-html.ts';
import { type State, states, stateWords } from './part-states.ts';

/** A state, or nothing: it is from before there was anything. */
export type Bar = State | 'none';

/** How tall a bar of each state is, out of 24: states differ also for who sees no colour. */
const heights: Readonly<Record<State, number>> = { down: 24, verifying: 20, up: 16, maintenance: 16, unknown: 8, paused: 3, pending: 3 };

const [step, gap] = [10, 2.4];

const barPath = (at: number, state: State): string => {
  const [x, y, width, height] = [at * step, 24 - heights[state], step - gap, heights[state]];
  // Verifying has a notch, maintenance is hatched.
  if (state === 'verifying') return `M${x} ${y}h${(width / 2).toFixed(1)}v5h${(width / 2).toFixed(1)}v${height - 5}h-${width.toFixed(1)}z`;
  if (state === 'maintenance')
    return [0, 4, 8, 12].map((down) => `M${x} ${y + down + 2.6}l${width.toFixed(1)}-2.6v2.4l-${width.toFixed(1)} 2.6z`).join('');
  return `M${x} ${y}h${width.toFixed(1)}v${height}h-${width.toFixed(1)}z`;
};

/** A page has thousands of bars, and few kinds of them: each is drawn once. */
const drawn = new Map<State, string[]>(states.map((state) => [state, []]));
const drawnBar = (at: number, state: State): string => {
  const known = drawn.get(state);
  if (!known) return barPath(at, state);
  const path = known[at] ?? barPath(at, state);
  known[at] = path;
  return path;
};

const summary = (bars: readonly Bar[]): string =>
  states
    .map((state) => [stateWords[state].toLowerCase(), bars.filter((bar) => bar === state).length] as const)
    .filter(([, count]) => count > 0)
    .map(([word, count]) => `${word} in ${count} of ${bars.length} parts`)
    .join(', ');

/** Time as bars, oldest first: one path for each state. `over` says which time: "the last 24 hours". */
export const strip = (bars: readonly Bar[], over: string): Html => {
  const present = states.filter((state) => bars.includes(state));
  return html`<svg class="strip" viewBox="0 0 ${bars.length * step - gap} 24" preserveAspectRatio="none" role="img" aria-label="${over}: ${summary(bars)}">${present.map(
    (state) =>
      html`<path class="fill-${state === 'pending' ? 'paused' : state}" d="${bars.map((bar, at) => (bar === state ? drawnBar(at, state) : '')).join('')}"></path>`,
  )}</svg>`;
};
