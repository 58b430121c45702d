import { createChannel, getChannel, updateChannel } from '../../../../../shared/api/channels.ts';
import { getChannelChoices, listChannelKinds, tryChannel } from '../../../../../shared/api/inner/inner-channels.ts';
import { Refusal } from '../../../../../shared/base/errors.ts';
import { type Channel, refuseUnlessMayChange } from '../../parts/part-channels.ts';
import { refuseUnlessMay } from '../../parts/part-refuse-unless-may.ts';
import { mailMissingWords } from '../../web-delivery-bar.ts';
import { formOf } from '../../web-form-data.ts';
import { type FormState, freshForm } from '../../web-forms.ts';
import { html } from '../../web-html.ts';
import { icon } from '../../web-icons.ts';
import { heading, linkButton, notice } from '../../web-layout.ts';
import { type MembersRequest, type Page, type PageAnswer, seeOther, show } from '../../web-page.ts';
import { formPage, isFillable, kindPage, type Subject } from './page-alert-form.ts';
import { refusedChannelForm } from './page-alert-refused.ts';
import { configIn, formOfChannel, inputIn } from './page-alert-values.ts';

/** What we made for it is shown in the answer itself: it may stand in no address and no cookie. */
const secretPage = (id: string, name: string, secret: string): PageAnswer =>
  show({
    title: 'Keep the secret',
    place: 'alerts',
    headers: { 'cache-control': 'no-store' },
    main: html`${heading({ sentence: html`${name} is told from now on.`, below: 'Its messages are signed with this secret (Standard Webhooks): the other side proves by it that they are ours.', trail: [{ href: '/alerts', name: 'Alerts' }] })}
<div class="card stack"><p class="copyable"><code>${secret}</code><button class="button" type="button" data-copy="${secret}" hidden>${icon('copy')}Copy</button></p>
${notice('information', 'It is shown only now.', 'If it is lost, delete the channel and make it anew.')}</div>
<p class="actions after">${linkButton(`/alerts/${id}`, 'To the channel')}</p>`,
  });

const saidOf = ({ kind, verified, name }: Channel, { mail }: Subject): string =>
  kind === 'email' && !mail
    ? `${name} is saved. ${mailMissingWords}.`
    : kind === 'email' && !verified
      ? `A mail is on its way to ${name}: it is told once somebody there has said yes.`
      : `${name} is told from now on.`;

const create = async ({ ask, form }: MembersRequest, subject: Subject): Promise<PageAnswer> => {
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
};

const change = async ({ ask, form }: MembersRequest, subject: Subject, { id }: Channel): Promise<PageAnswer> => {
  const { kind } = subject;
  const changed = await ask(updateChannel, { channel_id: id, ...inputIn(form, kind), enabled: form.value('enabled') ?? 'true' });
  return seeOther(`/alerts/${id}`, { said: changed.verified ? `${changed.name} is changed.` : saidOf(changed, subject) });
};

/** What the button that was pressed asks for. Whatever is refused comes back as the form, with the reasons. */
const act = async (request: MembersRequest, subject: Subject): Promise<PageAnswer> => {
  const { form, ask } = request;
  const { kind, channel } = subject;
  const asked = form.value('act');
  if (asked === 'more') return formPage(request, subject, freshForm(form));
  try {
    if (asked === 'try') {
      const tried = await ask(tryChannel, { kind: kind.id, config: configIn(form, kind), channel: channel?.id ?? null });
      return formPage(request, subject, freshForm(form), tried);
    }
    return await (channel === undefined ? create(request, subject) : change(request, subject, channel));
  } catch (error) {
    if (error instanceof Refusal && (error.code === 'channel_not_found' || error.code === 'role_insufficient')) throw error;
    return formPage(request, subject, refusedChannelForm(form, error, kind));
  }
};

/** The form for a kind; without one, what there is to choose from. */
const newSubject = async (request: MembersRequest, id: string | undefined): Promise<Subject | PageAnswer> => {
  refuseUnlessMay(request, createChannel);
  const [{ items, mail }, choices] = await Promise.all([request.ask(listChannelKinds), request.ask(getChannelChoices)]);
  const kind = items.find((each) => each.id === id && isFillable(each));
  return kind === undefined ? kindPage(items) : { kind, choices, mail, channel: undefined };
};

const editSubject = async (request: MembersRequest): Promise<Subject & { readonly channel: Channel }> => {
  const { ask, path } = request;
  const [channel, { items, mail }, choices] = await Promise.all([
    ask(getChannel, { channel_id: path.channel_id }),
    ask(listChannelKinds),
    ask(getChannelChoices),
  ]);
  refuseUnlessMayChange(request, channel);
  // A kind that is there no more has nothing to fill in.
  const kind = items.find(({ id }) => id === channel.kind) ?? { id: channel.kind, name: channel.kind, about: '', fields: [] };
  return { kind, choices, mail, channel };
};

const newPage: Page = {
  method: 'GET',
  path: '/alerts/new',
  needs: 'member',
  answer: async (request) => {
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
  },
};

const newPosted: Page = {
  method: 'POST',
  path: '/alerts/new',
  needs: 'member',
  answer: async (request) => {
    const subject = await newSubject(request, request.form.value('kind'));
    return 'is' in subject ? subject : act(request, subject);
  },
};

const editPage: Page = {
  method: 'GET',
  path: '/alerts/:channel_id/edit',
  needs: 'member',
  answer: async (request) => {
    const subject = await editSubject(request);
    return formPage(request, subject, freshForm(formOfChannel(subject.channel, subject.kind)));
  },
};

const editPosted: Page = {
  method: 'POST',
  path: '/alerts/:channel_id/edit',
  needs: 'member',
  answer: async (request) => act(request, await editSubject(request)),
};

export const channelFormPages: readonly Page[] = [newPage, newPosted, editPage, editPosted];
