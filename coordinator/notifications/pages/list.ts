import { createChannel, listChannels } from '../../../shared/api/channels.ts';
import { muteAlerts, unmuteAlerts } from '../../../shared/api/notifications.ts';
import type { OutputOf } from '../../../shared/api/operation.ts';
import { capital, listInWords } from '../../../shared/base/text.ts';
import { showFrame } from '../../web/contract.ts';
import { heading, moreLink, rowAct, stateMark } from '../../web/elements.ts';
import { formOf } from '../../web/form-data.ts';
import { freshForm, hiddenField, textField } from '../../web/forms.ts';
import { type Html, html, icon, safeUrl } from '../../web/html.ts';
import { mailMissingWords } from '../../web/layout.ts';
import { forMembers, type MembersRequest, seeOther, show } from '../../web/page.ts';
import { acts, led, number, stacked, stepTable } from '../../web/tables.ts';
import { listChannelKinds } from '../contract.ts';
import {
  type Channel,
  channelStateOf,
  coversText,
  delayText,
  kindName,
  kindSymbol,
  mayChange,
  whereOf,
} from './parts.ts';
import { mailMissingNotice } from './recipients.ts';

/** Who is notified, and how well that works. */
export const channelsPage = forMembers.get('/alerts', async (request) => {
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
  const isUnconfirmed = (each: Channel): boolean =>
    channelStateOf(each, kinds.mail).state === 'verifying' && mayChange(request, each);
  return show({
    ...common,
    title: failing[0] === undefined ? 'Alerts' : `Cannot deliver: ${failing[0].name}`,
    main: html`
        ${heading({
          sentence: sentenceOf(items, next_cursor !== null, kinds.mail),
          below:
            failing[0] === undefined
              ? 'You are notified once another continent confirms an outage, and again when it is resolved.'
              : meanwhile(items, next_cursor !== null, kinds.mail),
          actions:
            may(createChannel) &&
            html`
              <a class="button button-main" href="/alerts/new" data-new>
                ${icon('add')}New channel
              </a>
            `,
        })}
        <div class="channels">
          ${stepTable(
            [...failing, ...items.filter((each) => !failing.includes(each))].map((each) => ({
              ...rowOf(each, kinds, request),
              ...(items.some(isUnconfirmed) && {
                'Resend confirmation': acts(isUnconfirmed(each) && resendForm(each)),
              }),
            })),
          )}
        </div>
        ${
          next_cursor !== null &&
          moreLink(`/alerts?cursor=${encodeURIComponent(next_cursor)}`, 'More')
        }
        ${mute}
      `,
  });
});

async function muteForm({ ask, may }: MembersRequest): Promise<Html | null> {
  if (!may(muteAlerts) || (await ask(showFrame)).mute.until !== null) return null;
  return html`
    <section class="notice row">
      <div>
        <h2>Mute alerts</h2>
        <p class="soft">
          Alerts are held, and sent when the mute ends if the outage is still open. Every page shows
          that alerts are muted.
        </p>
      </div>
      <form method="post" action="/alerts/mute">
        <button class="button" name="minutes" value="60">${icon('pause')}Mute all for 1 h</button>
      </form>
    </section>
  `;
}

/** Shown before there is any channel: one sentence and one form. */
function beginning({ may, signedIn }: MembersRequest, mail: boolean): Html {
  const sentence = 'Nobody is notified of outages yet';
  if (!may(createChannel))
    return heading({
      sentence,
      below: 'Members with write access can add the first channel.',
    });
  const state = freshForm(formOf({ address: signedIn.person.email }));
  return html`
    ${!mail && mailMissingNotice}
    ${heading({
      sentence,
      below: 'Choose where alerts go. You can send a test before you save.',
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
      <button class="button button-main">Continue</button>
    </form>
    <p class="soft">Or choose <a href="/alerts/new">another kind</a>: chat, phone, pager, webhook.</p>
  `;
}

function sentenceOf(items: readonly Channel[], isMore: boolean, mail: boolean): string {
  const failing = items.filter((each) => channelStateOf(each, mail).state === 'down');
  const [first] = failing;
  if (first)
    return failing.length === 1
      ? `${first.name} cannot deliver alerts`
      : `${failing.length} channels cannot deliver alerts`;
  const able = ableOf(items, mail);
  if (able.length === 0) return 'Nobody is notified of outages';
  if (isMore) return `More than ${able.length} channels receive alerts`;
  return able.length === 1
    ? 'One channel receives alerts'
    : `${able.length} channels receive alerts`;
}

function ableOf(items: readonly Channel[], mail: boolean): readonly Channel[] {
  return items.filter((each) => ['up', 'pending'].includes(channelStateOf(each, mail).state));
}

/** `Until you fix it, only #ops receives alerts.` */
function meanwhile(items: readonly Channel[], isMore: boolean, mail: boolean): string {
  const able = ableOf(items, mail).map(({ name }) => name);
  if (isMore || able.length > 3)
    return 'Until you fix it, alerts arrive only through the other channels.';
  return able.length === 0
    ? 'Until you fix it, nobody is notified.'
    : `Until you fix it, only ${listInWords(able)} ${able.length === 1 ? 'receives' : 'receive'} alerts.`;
}

type Kinds = OutputOf<typeof listChannelKinds>;

function rowOf(channel: Channel, { items: kinds, mail }: Kinds, request: MembersRequest) {
  const { id, name, kind, owner, hours, delay_s, last_delivered_at } = channel;
  const where = whereOf(channel, kinds);
  return {
    id: `channel-${id}`,
    State: stateCell(channel, mail, request),
    Channel: led(
      kindSymbol(kind),
      html`<a class="row-link" href="/alerts/${id}">${name}</a>`,
      `${kindName(kinds, kind)}${where === undefined || where === name ? '' : ` · ${where}`}`,
    ),
    Monitors: capital(coversText(channel)),
    Notify: stacked(capital(delayText(delay_s)), hours !== null && 'in active hours'),
    Owner: owner ?? html`<span class="usual">Team</span>`,
    'Last delivered': number(
      last_delivered_at === null ? '–' : request.times.ago(last_delivered_at),
    ),
  };
}

function resendForm({ id, name }: Channel): Html {
  return html`
    <form method="post" action="/alerts/${id}/ask">
      ${rowAct({ symbol: 'send', words: 'Resend confirmation', of: `to ${name}` })}
    </form>
  `;
}

/** With the reason of one that cannot deliver, and the way to what can be done about it. */
function stateCell(channel: Channel, mail: boolean, request: MembersRequest): Html {
  const { state, words } = channelStateOf(channel, mail);
  if (state !== 'down') return stateMark(state, words);
  const [title = words, reason = channel.failure ?? ''] = words.split(': ');
  const to = words === mailMissingWords ? '/docs/settings' : `/alerts/${channel.id}/edit`;
  return stacked(
    stateMark(state, title),
    html`
      ${capital(reason)}
      ${mayChange(request, channel) && html`${' '}<a href="${safeUrl(to)}">Fix</a>`}
    `,
  );
}

export const mute = forMembers.post('/alerts/mute', async ({ ask, form }) => {
  await ask(muteAlerts, { minutes: form.value('minutes') ?? '60' });
  return seeOther('/alerts');
});

export const unmute = forMembers.post('/alerts/unmute', async ({ ask }) => {
  await ask(unmuteAlerts);
  return seeOther('/alerts', {
    said: 'Alerts unmuted. Held alerts are sent if the outage is still open.',
  });
});
