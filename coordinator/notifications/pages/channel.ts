import {
  createChannel,
  deleteChannel,
  getChannel,
  testChannel,
  updateChannel,
} from '../../../shared/api/channels.ts';
import { listMessages } from '../../../shared/api/notifications.ts';
import { Refusal } from '../../../shared/base/errors.ts';
import { capital } from '../../../shared/base/text.ts';
import { durationText } from '../../../shared/base/time.ts';
import { getChannelChoices } from '../../search/contract.ts';
import { confirm } from '../../web/confirm.ts';
import { copyable, figure, heading, linkButton, notice } from '../../web/elements.ts';
import { formOf } from '../../web/form-data.ts';
import {
  type FormState,
  formSummary,
  freshForm,
  refusedForm,
  refuseUnlessMay,
} from '../../web/forms.ts';
import { type Html, html, icon } from '../../web/html.ts';
import { mailMissingWords } from '../../web/layout.ts';
import { menuLink, moreActions } from '../../web/menu.ts';
import {
  forMembers,
  type MembersRequest,
  type Page,
  type PageAnswer,
  seeOther,
  show,
} from '../../web/page.ts';
import { stacked } from '../../web/tables.ts';
import type { Times } from '../../web/times.ts';
import { askMailbox, listChannelKinds, showMessage, tryChannel } from '../contract.ts';
import { type EditedChannel, formPage, isFillable, kindPage, triedNotice } from './form.ts';
import { configIn, formOfChannel, inputIn } from './input.ts';
import {
  alertLines,
  asTitle,
  attemptTable,
  type Channel,
  channelMark,
  channelStateOf,
  coversText,
  delayText,
  failureNotice,
  hoursText,
  type Kind,
  kindName,
  mayChange,
  messageMark,
  messageTable,
  p95Text,
  refusedChannelForm,
  refuseUnlessMayChange,
  whereOf,
} from './parts.ts';
import { mailMissingNotice } from './recipients.ts';

const channelPage = forMembers.get('/alerts/:channel_id', (request) => pageOf(request));

async function pageOf(
  request: MembersRequest,
  said?: Html,
  state?: FormState,
): Promise<PageAnswer> {
  const { ask, path, times } = request;
  const [channel, { items: kinds, mail }, { items: messages }] = await Promise.all([
    ask(getChannel, { channel_id: path.channel_id }),
    ask(listChannelKinds),
    ask(listMessages, { channel: path.channel_id, limit: '100' }),
  ]);
  return show({
    title: `${channelStateOf(channel, mail).words}: ${channel.name}`,
    place: 'alerts',
    live: true,
    status: state?.status ?? 200,
    main: html`
      <div class="stack" id="channel-${channel.id}">
        ${heading({
          sentence: sentenceOf(channel, mail),
          below: channelStateOf(channel, mail).state === 'up' && channelMark(channel, mail),
          actions: actionsOf(request, channel),
          trail: [{ href: '/alerts', name: 'Alerts' }],
        })}
        ${state && formSummary(state)}
        ${said}
        ${whyNot(request, channel, mail)}
        ${facts(channel, kinds, times)}
        <section>
          <div class="section-head">
            <h2>Messages</h2>
            ${messages.length === 100 && html`<p class="soft">The last 100 messages</p>`}
          </div>
          ${
            messages.length === 0
              ? html`<p class="nothing card">No messages yet</p>`
              : messageTable(channel.id, messages, times)
          }
        </section>
      </div>
    `,
  });
}

function sentenceOf(channel: Channel, mail: boolean): string {
  const { name } = channel;
  const { state } = channelStateOf(channel, mail);
  if (state === 'paused') return `${name} is off`;
  if (state === 'unknown') return `${name} has unsubscribed`;
  if (state === 'verifying') return `${name} is not confirmed yet`;
  if (state === 'down') return `${name} cannot deliver alerts`;
  return `${name} receives alerts for ${coversText(channel)}`;
}

function actionsOf(request: MembersRequest, channel: Channel): Html | null {
  if (!mayChange(request, channel)) return null;
  const { id, verified } = channel;
  return html`
    ${
      verified &&
      html`
        <form method="post" action="/alerts/${id}/test">
          <button class="button">${icon('send')}Send a test</button>
        </form>
      `
    }
    ${linkButton(`/alerts/${id}/edit`, 'Edit', { symbol: 'edit' })}
    ${moreActions(menuLink(`/alerts/${id}/delete`, 'Delete', { symbol: 'delete', danger: true }))}
  `;
}

function whyNot(request: MembersRequest, channel: Channel, mail: boolean): Html | null {
  const { id, kind, unsubscribed, verified, delivering, enabled, failure } = channel;
  if (!enabled) return null;
  if (unsubscribed)
    return notice(
      'unknown',
      'Someone there unsubscribed from these mails',
      'Only they can undo it. To use another address, create another channel.',
    );
  if (kind === 'email' && !mail) return mailMissingNotice;
  if (!verified)
    return html`
      ${notice(
        'verifying',
        'Waiting for confirmation',
        'We sent a mail with a confirmation link, valid for a day. No alerts are sent there until it is confirmed.',
      )}
      ${
        mayChange(request, channel) &&
        html`
          <form method="post" action="/alerts/${id}/ask">
            <button class="button">${icon('send')}Resend confirmation</button>
          </form>
        `
      }
    `;
  if (delivering)
    return failure === null
      ? null
      : notice('verifying', 'The last message is not delivered yet', `${asTitle(failure)}.`);
  return failureNotice(channel);
}

function facts(channel: Channel, kinds: readonly Kind[], times: Times): Html {
  const { kind, reminder_s, owner, last_delivered_at, p95_ms } = channel;
  return html`
    <dl class="figures facts-row">
      <div class="double">
        <dt>Sends to</dt>
        <dd>${kindName(kinds, kind)} · ${whereOf(channel, kinds) ?? 'a secret address'}</dd>
      </div>
      ${figure('Monitors', capital(coversText(channel)))}
      ${figure('Notify', capital(delayText(channel.delay_s)))}
      ${figure(
        'Repeat',
        reminder_s === null
          ? 'Never'
          : `After ${durationText(reminder_s * 1_000)}, then at doubling intervals`,
      )}
      ${figure('Active hours', capital(hoursText(channel)))}
      ${figure('Owner', owner ?? 'Team')}
      ${figure(
        'Last delivered',
        last_delivered_at === null
          ? '–'
          : stacked(
              times.ago(last_delivered_at),
              p95_ms !== null && `95% within ${p95Text(p95_ms)}`,
            ),
      )}
    </dl>
  `;
}

const test = forMembers.post('/alerts/:channel_id/test', (request) =>
  actOn(request, async (channel_id) =>
    pageOf(request, triedNotice(await request.ask(testChannel, { channel_id }))),
  ),
);

/** Runs an action of the page; a refusal is shown at its top. */
async function actOn(
  request: MembersRequest,
  act: (channel_id: string) => Promise<PageAnswer>,
): Promise<PageAnswer> {
  const { path, form } = request;
  try {
    return await act(path.channel_id ?? '');
  } catch (error) {
    const state = refusedForm(form, error, { fields: ['config.address'] });
    // Missing permission and missing objects have pages of their own.
    if (state.status === 403 || state.status === 404) throw error;
    return pageOf(request, undefined, {
      ...state,
      faults: new Map(),
      objections: [...state.objections, ...state.faults.values()],
    });
  }
}

const askAgain = forMembers.post('/alerts/:channel_id/ask', (request) =>
  actOn(request, async (channel_id) => {
    const { address } = await request.ask(askMailbox, { channel_id });
    return seeOther(`/alerts/${channel_id}`, {
      said: `Confirmation sent to ${address}. The earlier link no longer works.`,
    });
  }),
);

const deletePages = forMembers.form('/alerts/:channel_id/delete', async (request) => {
  const channel = await request.ask(getChannel, { channel_id: request.path.channel_id });
  refuseUnlessMayChange(request, channel);
  const { id, name } = channel;
  return {
    shown: (state) =>
      confirm({
        state,
        title: `Delete ${name}`,
        place: 'alerts',
        below:
          'It gets no more alerts, not even recoveries of open outages. Its past messages stay with each incident. To stop alerts for a while, turn it off instead.',
        trail: [
          { href: '/alerts', name: 'Alerts' },
          { href: `/alerts/${id}`, name },
        ],
        act: 'Delete channel',
      }),
    act: async () => {
      await request.ask(deleteChannel, { channel_id: id });
      return seeOther('/alerts', { said: `${name} deleted.` });
    },
  };
});

/** The target of every message's link: each step from the incident to the answer (rule 40). */
const messagePage = forMembers.get(
  '/alerts/:channel_id/messages/:message_id',
  async ({ ask, path, times }) => {
    const message = await ask(showMessage, {
      channel_id: path.channel_id,
      message_id: path.message_id,
    });
    const { channel, channel_name, channel_deleted, sentence, stories, attempts } = message;
    const more = message.incidents.length - stories.length;
    const [first, ...others] = stories;
    const about =
      first === undefined || first.incident !== null
        ? { one: `/incidents/${first?.incident}`, all: '/incidents', word: 'incident' }
        : { one: `/monitors/${first.monitor}`, all: '/?warning=any', word: 'monitor' };
    const isOne = first !== undefined && others.length === 0 && more === 0;
    return show({
      title: `Notification: ${sentence}`,
      place: 'alerts',
      live: true,
      main: html`
        <div class="stack">
          ${heading({
            sentence: 'Why you got this',
            below: html`${messageMark(message)} <span class="softer">·</span> ${sentence}`,
            actions: linkButton(
              isOne ? about.one : about.all,
              `View ${about.word}${isOne ? '' : 's'}`,
              { main: true },
            ),
            trail: [
              { href: '/alerts', name: 'Alerts' },
              ...(channel_deleted === null
                ? [{ href: `/alerts/${channel}`, name: channel_name }]
                : []),
            ],
          })}
          ${stories.map(
            ({ incident, monitor, name, lines }) =>
              html`
                <section class="card">
                  <h2 class="links">
                    ${
                      incident === null
                        ? html`<a href="/monitors/${monitor}">${name}</a>`
                        : html`<a href="/incidents/${incident}">${name}</a>`
                    }
                  </h2>
                  ${alertLines(lines, times)}
                </section>
              `,
          )}
          ${more > 0 && html`<p class="soft">The same message covered ${more} more.</p>`}
          <section>
            <div class="section-head"><h2>Delivery attempts</h2></div>
            ${
              attempts.length === 0
                ? html`<p class="nothing card">No attempts yet</p>`
                : attemptTable(message, times)
            }
          </section>
          <p class="soft">
            ${
              channel_deleted === null
                ? html`
                  Change what this channel receives and
                  when <a href="/alerts/${channel}">in its settings</a>.
                `
                : html`
                  The channel ${channel_name} was deleted ${times.ago(channel_deleted)}.
                `
            }
          </p>
        </div>
      `,
    });
  },
);

export const channelPages: readonly Page[] = [
  channelPage,
  test,
  askAgain,
  ...deletePages,
  messagePage,
];

/** Runs the action of the pressed button. A refusal shows the form again with its reasons. */
async function act(request: MembersRequest, subject: EditedChannel): Promise<PageAnswer> {
  const { form, ask } = request;
  const { kind, channel } = subject;
  const asked = form.value('act');
  if (asked === 'more') return formPage(request, subject, freshForm(form));
  try {
    if (asked === 'try') {
      const tried = await ask(tryChannel, {
        kind: kind.id,
        config: configIn(form, kind),
        channel: channel?.id ?? null,
      });
      return formPage(request, subject, freshForm(form), tried);
    }
    return await (channel === undefined
      ? create(request, subject)
      : change(request, subject, channel));
  } catch (error) {
    if (
      error instanceof Refusal &&
      (error.code === 'channel_not_found' || error.code === 'role_insufficient')
    )
      throw error;
    return formPage(request, subject, refusedChannelForm(form, error, kind));
  }
}

async function create({ ask, form }: MembersRequest, subject: EditedChannel): Promise<PageAnswer> {
  const { kind } = subject;
  const made = await ask(createChannel, {
    kind: kind.id,
    ...inputIn(form, kind),
    personal: form.value('personal') ?? 'false',
    try: 'false',
  });
  return made.secret === null
    ? seeOther(`/alerts/${made.id}`, { said: saidOf(made, subject) })
    : secretPage(made.id, made.name, made.secret);
}

function saidOf({ kind, verified, name }: Channel, { mail, channel }: EditedChannel): string {
  const done = channel === undefined ? 'Channel created.' : 'Channel saved.';
  if (kind === 'email' && !mail) return `${done} ${mailMissingWords}.`;
  return kind === 'email' && !verified
    ? `${done} Confirmation sent to ${name}: alerts start once it is confirmed.`
    : done;
}

/**
 * A generated secret is shown in the answer itself, because it must not appear in an address or a
 * cookie.
 */
function secretPage(id: string, name: string, secret: string): PageAnswer {
  return show({
    title: 'Channel created',
    place: 'alerts',
    headers: { 'cache-control': 'no-store' },
    main: html`
      ${heading({
        sentence: 'Channel created',
        below: html`
          ${name} signs its messages with this secret (Standard Webhooks). Use it to verify them.
        `,
        trail: [{ href: '/alerts', name: 'Alerts' }],
      })}
      <div class="card stack">
        ${copyable(secret, 'the secret')}
        ${notice(
          'information',
          'The secret is shown only once',
          'If you lose it, delete the channel and create it again.',
        )}
      </div>
      <p class="actions">${linkButton(`/alerts/${id}`, 'View channel')}</p>
    `,
  });
}

async function change(
  { ask, form }: MembersRequest,
  subject: EditedChannel,
  { id }: Channel,
): Promise<PageAnswer> {
  const { kind } = subject;
  const changed = await ask(updateChannel, {
    channel_id: id,
    ...inputIn(form, kind),
    enabled: form.value('enabled') ?? 'true',
  });
  return seeOther(`/alerts/${id}`, {
    said: saidOf(changed, subject),
  });
}

const newPage = forMembers.get('/alerts/new', async (request) => {
  const subject = await newSubject(request, request.query.kind);
  if ('is' in subject) return subject;
  const state: FormState = freshForm(
    formOf({
      'config.address': request.query.address,
      covers: 'all',
      personal: 'false',
      'hours.zone': request.caller.organisation.time_zone,
    }),
  );
  return formPage(request, subject, state);
});

/** The form for a kind; without a kind, the list of kinds. */
async function newSubject(
  request: MembersRequest,
  id: string | undefined,
): Promise<EditedChannel | PageAnswer> {
  refuseUnlessMay(request, createChannel);
  const [{ items, mail }, choices] = await Promise.all([
    request.ask(listChannelKinds),
    request.ask(getChannelChoices),
  ]);
  const kind = items.find((each) => each.id === id && isFillable(each));
  return kind === undefined ? kindPage(items) : { kind, choices, mail, channel: undefined };
}

const newPosted = forMembers.post('/alerts/new', async (request) => {
  const subject = await newSubject(request, request.form.value('kind'));
  return 'is' in subject ? subject : act(request, subject);
});

const editPage = forMembers.get('/alerts/:channel_id/edit', async (request) => {
  const subject = await editSubject(request);
  return formPage(request, subject, freshForm(formOfChannel(subject.channel, subject.kind)));
});

async function editSubject(
  request: MembersRequest,
): Promise<EditedChannel & { readonly channel: Channel }> {
  const { ask, path } = request;
  const [channel, { items, mail }, choices] = await Promise.all([
    ask(getChannel, { channel_id: path.channel_id }),
    ask(listChannelKinds),
    ask(getChannelChoices),
  ]);
  refuseUnlessMayChange(request, channel);
  // A kind that no longer exists has no fields.
  const kind: Kind = items.find(({ id }) => id === channel.kind) ?? {
    id: channel.kind,
    name: channel.kind,
    about: '',
    family: 'webhook',
    fields: [],
  };
  return { kind, choices, mail, channel };
}

const editPosted = forMembers.post('/alerts/:channel_id/edit', async (request) =>
  act(request, await editSubject(request)),
);

export const channelFormPages: readonly Page[] = [newPage, newPosted, editPage, editPosted];
