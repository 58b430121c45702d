import type { listMessages } from '../../../../shared/api/inner/inner-alerts.ts';
import type { OutputOf } from '../../../../shared/api/operation.ts';
import { durationText } from '../../../../shared/base/time.ts';
import { type Html, html, joined, type Part } from '../web-html.ts';
import type { Times } from '../web-times.ts';
import { type State, stateMark } from './part-states.ts';

/** What was told, and what was answered. */

export type Message = OutputOf<typeof listMessages>['items'][number];
type Attempt = Message['attempts'][number];

const stateWords: Readonly<Record<string, readonly [State, string]>> = {
  waiting: ['pending', 'On its way'],
  taken: ['up', 'Taken'],
  refused: ['down', 'Refused'],
  given_up: ['down', 'Given up'],
  overtaken: ['unknown', 'Overtaken'],
};

export const messageMark = ({ state }: Message): Html => {
  const [as, words] = stateWords[state] ?? ['unknown', state];
  return stateMark(as, words);
};

/** `status 200`, `mail code 250`, and where nothing was answered why: `timeout`. */
export const answerText = ({ status, class: kind }: Pick<Attempt, 'status' | 'class'>): string =>
  status === null ? kind.replaceAll('_', ' ') : `${kind === 'mail' ? 'mail code' : 'status'} ${status}`;

const answersOf = ({ attempts, words }: Message): Part => {
  if (attempts.length === 0) return '–';
  const last = attempts.at(-1);
  const count = attempts.length > 3 && html`<span class="softer">${attempts.length} attempts, the last: </span>`;
  const shown = joined(
    attempts.slice(-3).map((each) => html`<span class="answer">${answerText(each)}</span>`),
    ', ',
  );
  return html`${count}${shown}${last?.verdict !== 'taken' && words !== null && html`<span class="soft answer-words">${words}</span>`}`;
};

/** From due to taken. */
const latencyOf = ({ state, due_at, settled_at }: Message): string =>
  state === 'taken' && settled_at !== null ? durationText(Date.parse(settled_at) - Date.parse(due_at)) : '–';

export const messageTable = (channel: string, messages: readonly Message[], times: Times): Html =>
  html`<div class="table-card"><table class="cards"><thead><tr><th scope="col">Due</th><th scope="col">What was told</th><th scope="col">State</th><th scope="col">Answers</th><th scope="col" class="number">Taken after</th></tr></thead><tbody>${messages.map(
    (message) =>
      html`<tr id="message-${message.id}" data-row><td data-label="Due">${times.moment(message.due_at)}</td><td data-label="What was told"><a class="row-link" href="/alerts/${channel}/messages/${message.id}">${message.sentence}</a></td><td data-label="State">${messageMark(message)}</td><td data-label="Answers"><span>${answersOf(message)}</span></td><td data-label="Taken after" class="number">${latencyOf(message)}</td></tr>`,
  )}</tbody></table></div>`;

export const attemptTable = ({ attempts }: Message, times: Times): Html =>
  html`<div class="table-card"><table class="cards"><thead><tr><th scope="col">Attempt</th><th scope="col">At</th><th scope="col">Answer</th><th scope="col">Which means</th><th scope="col" class="number">Took</th></tr></thead><tbody>${attempts.map(
    (attempt, at) =>
      html`<tr><td data-label="Attempt">${at + 1}</td><td data-label="At">${times.precise(attempt.at)}</td><td data-label="Answer">${answerText(attempt)}</td><td data-label="Which means">${{ taken: 'taken', retry: 'not taken yet', refused: 'refused for good' }[attempt.verdict] ?? attempt.verdict}${attempt.words !== null && `: ${attempt.words}`}</td><td data-label="Took" class="number">${durationText(attempt.took_ms)}</td></tr>`,
  )}</tbody></table></div>`;
