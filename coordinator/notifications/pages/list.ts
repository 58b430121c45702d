import { createChannel, listChannels } from '../../../shared/api/channels.ts';
import type { OutputOf } from '../../../shared/api/operation.ts';
import { heading, moreLink } from '../../web/elements.ts';
import { formOf } from '../../web/form-data.ts';
import { freshForm, hiddenField, textField } from '../../web/forms.ts';
import { type Html, html, icon } from '../../web/html.ts';
import { type MembersRequest, type Page, seeOther, show } from '../../web/page.ts';
import { listChannelKinds, muteAlerts, showMute, unmuteAlerts } from '../contract.ts';
import {
  type Channel,
  channelMark,
  channelStateOf,
  coversText,
  delayText,
  kindName,
  p95Text,
  whereOf,
} from './parts.ts';
import { mailMissingNotice } from './recipients.ts';

type Kinds = OutputOf<typeof listChannelKinds>;

const rowOf = (
  channel: Channel,
  { items: kinds, mail }: Kinds,
  { times }: MembersRequest,
): Html => {
  const { id, name, kind, owner, hours, delay_s, p95_ms, last_taken_at, failure } = channel;
  const where = whereOf(channel, kinds);
  const isWell = ['up', 'pending', 'paused'].includes(channelStateOf(channel, mail).state);
  return html`
    <tr id="channel-${id}" data-row>
      <td data-label="State">
        <span>
          ${channelMark(channel, mail)}
          ${!isWell && failure !== null && html`<span class="soft answer-words">${failure}</span>`}
        </span>
      </td>
      <td data-label="Channel">
        <span>
          <a class="row-link" href="/alerts/${id}">${name}</a>
          <span class="channel-where">
            ${kindName(kinds, kind)}
            ${
              where !== undefined &&
              where !== name &&
              html`${' '}<span class="softer">·</span> ${where}`
            }
          </span>
        </span>
      </td>
      <td data-label="Told of">${coversText(channel)}</td>
      <td data-label="When">${delayText(delay_s)}${hours !== null && ', in its hours'}</td>
      <td data-label="Whose">${owner ?? 'the organisation'}</td>
      <td data-label="95 % taken within" class="number">${p95Text(p95_ms)}</td>
      <td data-label="Last taken" class="number">
        ${last_taken_at === null ? '–' : times.ago(last_taken_at)}
      </td>
    </tr>
  `;
};

const sentenceOf = (items: readonly Channel[], isMore: boolean, mail: boolean): string => {
  const failing = items.filter((each) => channelStateOf(each, mail).state === 'down');
  const [first] = failing;
  if (first)
    return failing.length === 1
      ? `${first.name} does not deliver.`
      : `${failing.length} channels do not deliver.`;
  const able = items.filter((each) => ['up', 'pending'].includes(channelStateOf(each, mail).state));
  if (able.length === 0) return 'Nobody is told of an outage.';
  if (isMore) return `More than ${able.length} channels are told of outages.`;
  return able.length === 1
    ? 'One channel is told of outages.'
    : `${able.length} channels are told of outages.`;
};

/** Shown before there is any channel: one sentence and one form. */
const beginning = ({ may, signedIn }: MembersRequest, mail: boolean): Html => {
  const sentence = 'Nobody is told of an outage yet.';
  if (!may(createChannel))
    return heading({
      sentence,
      below: 'Whoever may change things here can add the first channel.',
    });
  const state = freshForm(formOf({ address: signedIn.person.email }));
  return html`
    ${!mail && mailMissingNotice}
    ${heading({
      sentence,
      below: 'Say where alerts should go, and send a test before anything is saved.',
    })}
    <form class="card begin" action="/alerts/new">
      ${hiddenField('kind', 'email')}
      ${textField({
        name: 'address',
        label: 'E-mail address',
        type: 'email',
        state,
        autocomplete: 'email',
        required: true,
        autofocus: true,
      })}
      <button class="button button-main">Go on</button>
    </form>
    <p class="soft">Or <a href="/alerts/new">another way</a>: chat, phone, pager, webhook.</p>
  `;
};

const muteForm = async ({ ask, may }: MembersRequest): Promise<Html | null> => {
  if (!may(muteAlerts) || (await ask(showMute)).until !== null) return null;
  return html`
    <section class="card mute">
      <div>
        <h2>Quiet for a while</h2>
        <p class="soft">
          What would be told is held and told afterwards, if it still lasts. It ends by itself, and
          every page says so meanwhile.
        </p>
      </div>
      <form method="post" action="/alerts/mute">
        <button class="button" name="minutes" value="60">${icon('pause')}Mute all for 1 h</button>
      </form>
    </section>
  `;
};

/** Who is notified, and how well that works. */
export const channelsPage: Page = {
  method: 'GET',
  path: '/alerts',
  needs: 'member',
  answer: async (request) => {
    const { ask, may, query } = request;
    const cursor = query.cursor;
    const [{ items, next_cursor }, kinds, mute] = await Promise.all([
      ask(listChannels, { limit: 100, ...(cursor === undefined ? {} : { cursor }) }),
      ask(listChannelKinds),
      muteForm(request),
    ]);
    const common = { place: 'alerts', live: cursor === undefined } as const;
    if (items.length === 0 && cursor === undefined)
      return show({ ...common, title: 'Alerts', main: beginning(request, kinds.mail) });
    const failing = items.filter((each) => channelStateOf(each, kinds.mail).state === 'down');
    return show({
      ...common,
      title: failing[0] === undefined ? 'Alerts' : `Not delivering: ${failing[0].name}`,
      main: html`
        ${heading({
          sentence: sentenceOf(items, next_cursor !== null, kinds.mail),
          below:
            failing[0] === undefined
              ? 'As soon as an outage is confirmed from another continent, and when it is over.'
              : 'Until somebody looks after that, alerts reach people by the other channels alone.',
          actions:
            may(createChannel) &&
            html`
              <a class="button button-main" href="/alerts/new" data-new>
                ${icon('add')}New channel
              </a>
            `,
        })}
        <div class="table-card">
          <table class="cards">
            <thead>
              <tr>
                <th scope="col">State</th>
                <th scope="col">Channel</th>
                <th scope="col">Told of</th>
                <th scope="col">When</th>
                <th scope="col">Whose</th>
                <th scope="col" class="number">95 % taken within</th>
                <th scope="col" class="number">Last taken</th>
              </tr>
            </thead>
            <tbody>${items.map((each) => rowOf(each, kinds, request))}</tbody>
          </table>
        </div>
        ${
          next_cursor !== null &&
          moreLink(`/alerts?cursor=${encodeURIComponent(next_cursor)}`, 'More')
        }
        ${mute}
      `,
    });
  },
};

export const mute: Page = {
  method: 'POST',
  path: '/alerts/mute',
  needs: 'member',
  answer: async ({ ask, form }) => {
    await ask(muteAlerts, { minutes: form.value('minutes') ?? '60' });
    return seeOther('/alerts');
  },
};

export const unmute: Page = {
  method: 'POST',
  path: '/alerts/unmute',
  needs: 'member',
  answer: async ({ ask }) => {
    await ask(unmuteAlerts);
    return seeOther('/alerts', {
      said: 'Alerts are told again, and what was held goes out if it still lasts.',
    });
  },
};
