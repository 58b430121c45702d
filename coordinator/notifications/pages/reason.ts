import type { OutputOf } from '../../../shared/api/operation.ts';
import { durationText } from '../../../shared/base/time.ts';
import { linkButton, notice, stateMark } from '../../web/elements.ts';
import { type Html, html, joined, type Part } from '../../web/html.ts';
import type { Times } from '../../web/times.ts';
import type { explainNotifications } from '../contract.ts';
import { alertLines } from './parts.ts';
import { type Recipient, shutMark } from './recipients.ts';

/** Why was I notified, or why not (rule 40): for every channel, step by step. */
export type Explained = Omit<Story, 'channels'> & { readonly channels: readonly NotifiedChannel[] };

type Story = OutputOf<typeof explainNotifications>;
type NotifiedChannel = Story['channels'][number] & {
  /** Why nothing reaches it now, where an alert has not. */
  readonly shut: string | null;
};

/** A story, beside what can reach its channels now. */
export function explainedNow(story: Story, recipients: readonly Recipient[]): Explained {
  const shut = new Map(recipients.map((each) => [each.channel, each.shut]));
  return {
    ...story,
    channels: story.channels.map((each) => {
      const of = each.outcome === 'notified' ? null : (shut.get(each.channel) ?? null);
      return { ...each, shut: of, outcome: of === null ? each.outcome : 'not_notified' };
    }),
  };
}

export function notificationReason(explained: Explained, times: Times): Html {
  const { channels } = explained;
  return html`
    <section class="card" id="why">
      <h2>Notifications</h2>
      ${lastResort(explained, times)}
      ${
        channels.length === 0
          ? html`
            <p class="soft">No channels yet, so nobody was notified.</p>
            <p class="actions">${linkButton('/alerts', 'Add a channel')}</p>
          `
          : html`
            ${sentenceOf(channels)}
            <div class="lines">${channels.map((each) => channelStory(each, times))}</div>
          `
      }
    </section>
  `;
}

function lastResort({ last_resort }: Explained, times: Times): Html | null {
  return (
    last_resort &&
    notice(
      'down',
      'No channel delivered the alert within 2 min, so the owners were mailed',
      html`
      ${times.moment(last_resort.at)}
      ${
        last_resort.mailed.length > 0
          ? html`: ${joined(last_resort.mailed, ', ')}`
          : ', but e-mail is not set up'
      }.
    `,
    )
  );
}

/** What their lines do not say. */
function sentenceOf(channels: readonly NotifiedChannel[]): Part {
  const waiting = channels.filter(({ outcome }) => outcome === 'waiting').length;
  const words = [
    ...(channels.some(({ outcome }) => outcome === 'notified') ? [] : ['Nobody was notified.']),
    ...(waiting === 0
      ? []
      : [
          `${waiting === 1 ? 'One more is' : `${waiting} more are`} notified later if the outage is still open.`,
        ]),
  ];
  return words.length > 0 && html`<p class="soft">${words.join(' ')}</p>`;
}

function channelStory(channel: NotifiedChannel, times: Times): Html {
  const { channel: id, name, deleted, lines } = channel;
  return html`
    <details class="why-channel" id="why-${id}">
      <summary><span class="why-name">${name}</span>${mark(channel)}</summary>
      <div class="stack why-steps">
        ${alertLines(lines, times)}
        ${
          deleted === null
            ? html`<p><a href="/alerts/${id}">Channel and messages</a></p>`
            : html`<p class="soft">Deleted ${times.ago(deleted)}.</p>`
        }
      </div>
    </details>
  `;
}

/** Later than a person would wait for. */
const lateMs = 60_000;

/** Of one that was not notified, its last line says why. */
function mark({ outcome, took_ms, shut, lines }: NotifiedChannel): Html {
  if (shut !== null) return shutMark(shut);
  if (outcome === 'waiting') return stateMark('pending', 'Waiting');
  if (outcome !== 'notified')
    return stateMark('unknown', lines.at(-1)?.text.replace(/\.$/, '') ?? 'Not notified', 'none');
  if (took_ms === null) return stateMark('up', 'Delivered');
  return took_ms > lateMs
    ? stateMark('verifying', `Delivered late, in ${durationText(took_ms)}`)
    : stateMark('up', `Delivered in ${durationText(took_ms)}`);
}
