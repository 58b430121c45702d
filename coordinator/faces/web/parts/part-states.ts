import { type Html, html } from '../web-html.ts';
import { icon } from '../web-icons.ts';

/** What a monitor, a group or a stretch of time can be, as people are shown it: a shape, a word and a colour, never colour alone. */
export const states = ['up', 'verifying', 'down', 'maintenance', 'unknown', 'paused', 'pending'] as const;
export type State = (typeof states)[number];

export const stateWords: Readonly<Record<State, string>> = {
  up: 'Up',
  verifying: 'Verifying',
  down: 'Down',
  maintenance: 'Maintenance',
  unknown: 'Unknown',
  paused: 'Paused',
  pending: 'Waiting',
};

export const stateMark = (state: State, words: string = stateWords[state]): Html =>
  html`<span class="state state-${state}">${icon(state)}${words}</span>`;
