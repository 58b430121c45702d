import type { explainAlerts } from '../../../../shared/api/inner/inner-alerts.ts';
import type { OutputOf } from '../../../../shared/api/operation.ts';
import { durationText } from '../../../../shared/base/time.ts';
import { type Html, html, joined } from '../web-html.ts';
import { icon } from '../web-icons.ts';
import { linkButton, notice } from '../web-layout.ts';
import type { Times } from '../web-times.ts';
import { alertLines } from './part-alert-lines.ts';
import { stateMark } from './part-states.ts';

/** Why was I told, and why was I not (rule 40): for every channel, step by step. */

export type Explained = OutputOf<typeof explainAlerts>;
type Channel = Explained['channels'][number];

const mark = ({ outcome, took_ms }: Channel): Html => {
  if (outcome === 'told') return stateMark('up', took_ms === null ? 'Told' : `Told, taken in ${durationText(took_ms)}`);
  return outcome === 'waiting' ? stateMark('pending', 'Waiting') : stateMark('unknown', 'Not told');
};

const channelStory = (channel: Channel, times: Times): Html => {
  const { channel: id, name, deleted, lines } = channel;
  return html`<details class="why-channel" id="why-${id}"><summary>${icon('next')}<span class="why-name">${name}</span>${mark(channel)}</summary><div class="why-steps">${alertLines(lines, times)}${
    deleted === null
      ? html`<p><a href="/alerts/${id}">The channel and its messages</a></p>`
      : html`<p class="soft">It was deleted ${times.ago(deleted)}.</p>`
  }</div></details>`;
};

const sentenceOf = (channels: readonly Channel[]): string => {
  const told = channels.filter(({ outcome }) => outcome === 'told');
  const waiting = channels.filter(({ outcome }) => outcome === 'waiting').length;
  const [only] = told;
  const first =
    only === undefined ? 'Nobody was told.' : told.length === 1 ? `${only.name} was told.` : `${told.length} channels were told.`;
  return waiting === 0 ? first : `${first} ${waiting === 1 ? 'One is' : `${waiting} are`} told later, if it is needed then.`;
};

const lastResort = ({ last_resort }: Explained, times: Times): Html | null =>
  last_resort &&
  notice(
    'down',
    'No channel took it within 2 min, so that the owners were mailed.',
    html`${times.moment(last_resort.at)}${last_resort.mailed.length > 0 ? html`: ${joined(last_resort.mailed, ', ')}` : '; but mail is not set up here'}.`,
  );

export const whyTold = (explained: Explained, times: Times): Html => {
  const { channels } = explained;
  return html`<section class="card" id="why"><h2>Why was I told, or why not</h2>${lastResort(explained, times)}${
    channels.length === 0
      ? html`<p class="soft">There is no channel, so that nobody could be told.</p><p class="actions">${linkButton('/alerts', 'See who is told')}</p>`
      : html`<p class="soft">${sentenceOf(channels)}</p>${channels.map((each) => channelStory(each, times))}`
  }</section>`;
};
