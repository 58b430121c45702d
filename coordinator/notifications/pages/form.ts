import { createChannel } from '../../../shared/api/channels.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { Refusal } from '../../../shared/base/errors.ts';
import { durationText } from '../../../shared/base/time.ts';
import { mailMissingNotice } from '../../incidents/pages/detail.ts';
import { listSessions } from '../../people/contract.ts';
import { type Form, formOf } from '../../web/form-data.ts';
import {
  boxId,
  checkField,
  choiceField,
  enterSaves,
  type FormState,
  fieldGroup,
  formSummary,
  freshForm,
  hiddenField,
  refuseUnlessMay,
  selectField,
  textField,
} from '../../web/forms.ts';
import { type Html, html, icon, type Part, safeUrl } from '../../web/html.ts';
import { type Choices, chosenFields, heading, linkButton, notice } from '../../web/layout.ts';
import { type MembersRequest, type Page, type PageAnswer, seeOther, send, show } from '../../web/page.ts';
import { listChannelKinds, tryChannel } from '../contract.ts';
import { answerText, type Channel, delayText, type Kind, mayManage, refusedChannelForm } from './parts.ts';

/** Converts between the form of a channel and the input of its operations. */

type Hours = InputOf<typeof createChannel>['hours'];

/** The operation's limit of time spans. */
export const maxSpans = 21;

export const spanName = (at: number, part: 'days[]' | 'from' | 'to'): string => `hours.${at}.${part}`;

/** A browser's time field cannot show 24:00: the end of a day is the beginning of the next. */
const [endOfDay, midnight] = ['24:00', '00:00'];

const spanAt = ({ value, values }: Form, at: number) => ({
  days: values(spanName(at, 'days[]')).filter((day) => day !== ''),
  from: value(spanName(at, 'from')) ?? '',
  to: value(spanName(at, 'to')) ?? '',
});

/** The spans with at least one value. */
export const spansIn = (form: Form): readonly ReturnType<typeof spanAt>[] =>
  Array.from({ length: maxSpans }, (_, at) => spanAt(form, at)).filter(({ days, from, to }) => days.length > 0 || from !== '' || to !== '');

/** A span without days means every day; without any span, notifications go out at any hour. */
const hoursFrom = (form: Form): Hours => ({
  zone: form.value('hours.zone')?.trim() || null,
  spans: spansIn(form).map(({ days, from, to }) => ({
    days: (days.length === 0 ? ['1', '2', '3', '4', '5', '6', '7'] : days).map(Number),
    from,
    to: to === midnight ? endOfDay : to,
  })),
});

export const configIn = (form: Form, { fields }: Kind): Readonly<Record<string, string>> =>
  Object.fromEntries(
    fields.flatMap(({ name, input }): [string, string][] => {
      const value = form.value(`config.${name}`);
      return value === undefined || value.trim() === '' || input === 'generated' ? [] : [[name, value]];
    }),
  );

const idsIn = (form: Form, name: string): string[] => form.values(`${name}[]`).filter((id) => id !== '');

/** The input of both creating and updating. */
export const inputIn = (form: Form, kind: Kind) => ({
  ...(form.value('name')?.trim() ? { name: form.value('name') } : {}),
  config: configIn(form, kind),
  covers: form.value('covers') ?? 'all',
  monitors: idsIn(form, 'monitors'),
  groups: idsIn(form, 'groups'),
  delay_s: form.value('delay_s') ?? '0',
  reminder_s: form.value('reminder_s') ?? '0',
  hours: hoursFrom(form),
});

export const formOfChannel = (channel: Channel, kind: Kind): Form =>
  formOf({
    ...Object.fromEntries(kind.fields.map(({ name }) => [`config.${name}`, textOf(channel.config[name])])),
    ...{
      name: channel.name,
      enabled: String(channel.enabled),
      covers: channel.covers,
      'monitors[]': channel.monitors,
      'groups[]': channel.groups,
    },
    ...{ delay_s: channel.delay_s, reminder_s: channel.reminder_s ?? 0, 'hours.zone': channel.hours?.zone },
    ...Object.fromEntries(
      (channel.hours?.spans ?? []).flatMap(({ days, from, to }, at) => [
        [spanName(at, 'days[]'), days.map(String)],
        [spanName(at, 'from'), from],
        [spanName(at, 'to'), to === endOfDay ? midnight : to],
      ]),
    ),
  });

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/** The browser as a channel: it alone can say where to notify it, so it has a page of its own. */

const path = '/alerts/this-browser';
const kindId = 'web_push';

/** Parts that the page's script shows, depending on what it finds and how the test goes. */
const when = (states: string, words: Part, isGrave = false): Html =>
  isGrave
    ? html`<p class="field-fault" role="alert" data-push-when="${states}" hidden>${icon('down')}<span>${words}</span></p>`
    : html`<p class="soft" role="status" data-push-when="${states}" hidden>${words}</p>`;

const inWords = (
  origin: string,
): Html => html`${when('elsewhere', html`A browser is told by the address that it was added at. Open <a href="${safeUrl(`${origin}${path}`)}">${origin}${path}</a>.`)}
${when('insecure', 'Browsers take notifications only over https, and this page came over http. Whoever runs this installation can set it up with a certificate.')}
${when('unable', 'This browser knows no notifications from pages. Use another browser, or another way of being told.')}
${when('home-screen', 'On an iPhone or iPad only what stands on the home screen may notify you: choose “Share”, then “Add to Home Screen”, open Antipode from there, and come back to this page.')}
${when('denied', 'This browser does not let this page show notifications. Allow them in its settings for this site, beside the address, and load the page again.', true)}
${when('asking', 'Your browser asks you now whether it may.')}
${when('sending', 'A test is on its way; it is saved as soon as it is here.')}
${when('silent', 'The test was taken, and has not come within half a minute. Look whether your system lets this browser notify you, then try again; or save it all the same.', true)}
${when('refused', html`<span data-push-words></span> Nothing is saved.`, true)}
${when('failed', 'The browser could not be asked: it reaches no push service, or this page could not be reached. Nothing is saved.', true)}`;

const formPart = (request: MembersRequest, key: string, state: FormState): Html => {
  const origin = request.with.baseUrl();
  return html`<form class="form card stack this-browser" method="post" data-push data-key="${key}" data-origin="${new URL(origin).origin}" data-test="${path}/test" data-scripts>
${['endpoint', 'p256dh', 'auth'].map((name) => hiddenField(`config.${name}`, ''))}
<div class="stack" data-push-when="able asking sending silent refused failed" hidden>${textField({
    ...{ name: 'name', label: 'Name of this channel', state, autocomplete: 'off', required: false, placeholder: 'Browser notification' },
  })}</div>
${when('able', 'Your browser asks whether it may. Then a test is sent here, and the channel is saved as soon as the test has arrived.')}
${inWords(new URL(origin).origin)}
<noscript><p class="soft">This needs scripts, and your browser runs none here: only a script can ask it. All <a href="/alerts/new">other ways</a> of being told work without.</p></noscript>
<div class="actions"><button class="button button-main" data-push-when="able silent refused failed" hidden>${icon('alerts')}Notify me here</button><button class="button" name="act" value="save" data-push-when="silent" hidden>Save it all the same</button>${linkButton('/alerts', 'Leave it')}</div></form>`;
};

const pageOf = (request: MembersRequest, key: string, state: FormState): PageAnswer =>
  show({
    title: 'Notify this browser',
    place: 'alerts',
    push: true,
    status: state.status,
    main: html`<div class="channel-form-page">${heading({
      sentence: 'Be told in this browser',
      below:
        'A notification appears on this device as soon as an outage is confirmed, and when it is over, also while no page of Antipode is open.',
      trail: [
        { href: '/alerts', name: 'Alerts' },
        { href: '/alerts/new', name: 'New channel' },
      ],
    })}${formSummary(state)}
${formPart(request, key, state)}
<ul class="soft this-browser-facts"><li>It is your own channel, told of all monitors and at once; all that can be changed afterwards.</li><li>Only this browser can read what is sent, not the push service that carries it.</li><li>Each device and each browser is a channel of its own. Deleting the channel ends it.</li></ul></div>`,
  });

const kindAndKey = async (request: MembersRequest): Promise<{ readonly kind: Kind; readonly key: string }> => {
  refuseUnlessMay(request, createChannel);
  const { items, push_key: key } = await request.ask(listChannelKinds);
  const kind = items.find(({ id }) => id === kindId);
  if (kind === undefined) throw new Refusal('channel_kind_unknown', 'This installation tells no browsers.');
  return { kind, key };
};

const browserPage: Page = {
  method: 'GET',
  path,
  needs: 'member',
  answer: async (request) => {
    const [{ key }, { items: sessions }] = await Promise.all([kindAndKey(request), request.askOwn(listSessions)]);
    const device = sessions.find(({ is_this }) => is_this)?.device;
    return pageOf(request, key, freshForm(formOf({ name: device })));
  },
};

/** Requested by the page's script, which then waits for the test. */
const tested: Page = {
  method: 'POST',
  path: `${path}/test`,
  needs: 'member',
  answer: async (request) => {
    const { kind } = await kindAndKey(request);
    const answer = (status: number, taken: boolean, words: string): PageAnswer =>
      send({ status, type: 'application/json', body: JSON.stringify({ taken, words }), headers: { 'cache-control': 'no-store' } });
    try {
      const { verdict, words } = await request.ask(tryChannel, { kind: kindId, config: configIn(request.form, kind) });
      return answer(200, verdict === 'taken', words === null ? '' : `The test was not taken: ${words}.`);
    } catch (error) {
      const { faults, objections, status } = refusedChannelForm(request.form, error, kind);
      return answer(status, false, [...objections, ...faults.values()].join(' '));
    }
  },
};

const posted: Page = {
  method: 'POST',
  path,
  needs: 'member',
  answer: async (request) => {
    const { kind, key } = await kindAndKey(request);
    try {
      const { id, name } = await request.ask(createChannel, { kind: kindId, ...inputIn(request.form, kind), personal: 'true' });
      return seeOther(`/alerts/${id}`, { said: `${name} is told from now on.` });
    } catch (error) {
      return pageOf(request, key, refusedChannelForm(request.form, error, kind));
    }
  },
};

export const browserPages: readonly Page[] = [browserPage, tested, posted];

export type Tried = OutputOf<typeof tryChannel>;

/** What the form edits. `channel`: the one to change; without it, the form creates one. */
export type Subject = { readonly kind: Kind; readonly choices: Choices; readonly mail: boolean; readonly channel: Channel | undefined };

type KindField = Kind['fields'][number];

/** Matches the whole value; surrounding white space is trimmed before it is read. */
const patternOf = ({ pattern }: KindField): string => `\\s*${pattern.replace(/^\^/, '').replace(/\$$/, '')}\\s*`;

const kindField = (field: KindField, state: FormState): Html | null => {
  const { label, hint, secret, optional, input, choices } = field;
  const name = `config.${field.name}`;
  const isStored = state.form.value(name)?.includes('***') === true;
  const help: Part = [hint, isStored ? ' As it stands it is kept; it is never shown again.' : ''];
  const common = { name, label, state, help: hint === null && !isStored ? null : help };
  if (input === 'generated') return null;
  if (input === 'subscription') return hiddenField(name, state.form.value(name) ?? '');
  if (input === 'choice') return selectField({ ...common, choices: choices.map((value) => ({ value, label: value })) });
  const isHidden = secret && input !== 'url';
  return textField({
    ...common,
    type: isHidden ? 'password' : input === 'email' || input === 'url' || input === 'tel' ? input : 'text',
    ...{ comesBack: true, autocomplete: isHidden ? 'new-password' : 'off' },
    required: !optional,
    ...(isStored || input === 'email' ? {} : { pattern: patternOf(field), title: hint ?? label }),
  });
};

const delays = [0, 60, 300, 600, 900, 1_800, 3_600];
const reminders = [0, 900, 1_800, 3_600, 14_400, 86_400];

/** Shows the default, and the present value. */
const secondsField = (
  name: string,
  label: string,
  usual: readonly number[],
  words: (seconds: number) => string,
  state: FormState,
  help: Part,
): Html => {
  const now = Number(state.form.value(name) ?? 0);
  const all = [...new Set([...usual, ...(Number.isInteger(now) ? [now] : [])])].toSorted((a, b) => a - b);
  return selectField({ name, label, state, help, choices: all.map((each) => ({ value: String(each), label: words(each) })) });
};

const dayChoices = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'];

const spanRow = ({ form }: FormState, at: number): Html => {
  const chosen = form.values(spanName(at, 'days[]'));
  return html`<div class="span"><div class="span-days" role="group" aria-label="Days of stretch ${at + 1}">${dayChoices.map(
    (day, index) =>
      html`<label class="span-day"><input type="checkbox" id="${boxId(spanName(at, 'days[]'), String(index + 1))}" name="${spanName(at, 'days[]')}" value="${index + 1}"${chosen.includes(String(index + 1)) && html` checked`}><span>${day}</span></label>`,
  )}</div><div class="span-times"><label class="span-time">from <input type="time" name="${spanName(at, 'from')}" value="${form.value(spanName(at, 'from')) ?? ''}" aria-label="From, stretch ${at + 1}"></label><label class="span-time">to <input type="time" name="${spanName(at, 'to')}" value="${form.value(spanName(at, 'to')) ?? ''}" aria-label="To, stretch ${at + 1}"></label></div></div>`;
};

const hoursFields = (state: FormState, zone: string): Html => {
  const filled = spansIn(state.form).length;
  const rows = Math.min(maxSpans, filled + 1);
  return html`${fieldGroup({
    ...{ name: 'hours', label: 'Only in these hours', state },
    help: 'Left empty: at any hour. What happens outside of them is held, and told when they begin if it still lasts. An end before its beginning is on the next day.',
    inside: html`<div class="spans">${Array.from({ length: rows }, (_, at) => spanRow(state, at))}</div>${rows < maxSpans && filled > 0 && html`<button class="button" name="act" value="more" data-stays>Room for another</button>`}`,
  })}${textField({ name: 'hours.zone', label: 'Time zone of these hours', state, autocomplete: 'off', required: false, placeholder: zone })}`;
};

const coverFields = (subject: Subject, state: FormState): Html =>
  html`<div class="card stack"><h2>What it is told of</h2>${choiceField({
    ...{ name: 'covers', label: 'Monitors', state },
    choices: [
      { value: 'all', label: 'All monitors, also those that are added later' },
      { value: 'chosen', label: 'Chosen groups and monitors' },
    ],
  })}${chosenFields(subject.choices, state, [...(subject.channel?.monitors ?? []), ...(subject.channel?.groups ?? [])])}</div>`;

/** The browser's script adds its own values there, and they stay. */
const fieldsOf = (subject: Subject, state: FormState): Part =>
  isFillable(subject.kind)
    ? subject.kind.fields.map((field) => kindField(field, state))
    : html`${subject.kind.fields.map((field) => kindField(field, state))}<p class="soft">To the browser in which it was added.</p>`;

const whoseField = (request: MembersRequest, { channel }: Subject, state: FormState): Html | null => {
  if (channel !== undefined) return null;
  if (!mayManage(request))
    return html`${hiddenField('personal', 'true')}<p class="soft">It is your own. Owners and admins make those of the organisation.</p>`;
  return choiceField({
    ...{ name: 'personal', label: 'Whose it is', state },
    choices: [
      { value: 'false', label: 'The organisation’s', help: 'Owners and admins look after it; it stays when you leave.' },
      { value: 'true', label: 'Your own', help: 'You look after it; it goes when you leave.' },
    ],
  });
};

/** The result of a test, beside the form that it was made from. */
export const triedNotice = ({ verdict, status, class: kind, words, took_ms }: Tried): Html => {
  const took = `${status === null ? 'No answer' : 'Answer'}: ${answerText({ status, class: kind })}, after ${durationText(took_ms)}.`;
  const said = words === null ? '' : ` ${words.charAt(0).toUpperCase()}${words.slice(1)}.`;
  if (verdict === 'taken') return notice('up', 'The test was taken: look whether it is there.', took);
  return notice(
    verdict === 'refused' ? 'down' : 'verifying',
    verdict === 'refused' ? 'The test was refused.' : 'The test was not taken.',
    `${took}${said}`,
  );
};

const trial = (tried: Tried | undefined): Html | null =>
  tried === undefined ? null : html`<div data-trial id="trial" role="status">${triedNotice(tried)}</div>`;

const headOf = ({ kind, channel }: Subject): Html =>
  channel === undefined
    ? heading({
        sentence: `Tell by ${kind.name}`,
        below: kind.about,
        trail: [
          { href: '/alerts', name: 'Alerts' },
          { href: '/alerts/new', name: 'New channel' },
        ],
      })
    : heading({
        sentence: html`Change ${channel.name}`,
        below: html`${kind.name}. ${kind.about}`,
        trail: [
          { href: '/alerts', name: 'Alerts' },
          { href: `/alerts/${channel.id}`, name: channel.name },
        ],
      });

export const formPage = (request: MembersRequest, subject: Subject, state: FormState, tried?: Tried): PageAnswer => {
  const { kind, channel } = subject;
  const zone = request.caller.organisation.time_zone;
  const action = channel === undefined ? '/alerts/new' : `/alerts/${channel.id}/edit`;
  return show({
    title: channel === undefined ? `New channel: ${kind.name}` : `Change ${channel.name}`,
    place: 'alerts',
    status: state.status,
    // Typed values may be secret.
    headers: { 'cache-control': 'no-store' },
    main: html`<div class="channel-form-page">${headOf(subject)}${formSummary(state, 'try')}${kind.id === 'email' && !subject.mail && mailMissingNotice}
<form class="form channel-form" method="post" action="${safeUrl(`${action}#try`)}">${enterSaves}${hiddenField('kind', kind.id)}
<div class="card stack"><h2>Where it goes</h2>${fieldsOf(subject, state)}${
      kind.fields.some(({ input }) => input === 'generated') &&
      channel === undefined &&
      html`<p class="soft">We sign every message; the secret for that is made when you save, and shown once.</p>`
    }${textField({ name: 'name', label: 'Name', state, autocomplete: 'off', required: false, placeholder: kind.id === 'email' ? 'as the address' : kind.name })}${whoseField(request, subject, state)}${
      channel !== undefined && html`${hiddenField('enabled', 'false')}${checkField({ name: 'enabled', label: 'It is on', state })}`
    }</div>
${coverFields(subject, state)}
<div class="card stack"><h2>When</h2><div class="columns">${secondsField('delay_s', 'Told', delays, delayText, state, 'Later only if it is then still open, and nobody is on it.')}${secondsField(
      'reminder_s',
      'Reminded',
      reminders,
      (each) => (each === 0 ? 'never' : `after ${durationText(each * 1_000)}`),
      state,
      'Then at doubling distances up to a day, while nobody is on it.',
    )}</div>${hoursFields(state, zone)}</div>
<div class="actions"${state.faults.size + state.objections.length === 0 && html` id="try"`}><button class="button" name="act" value="try" data-stays>${icon('send')}Send a test</button><button class="button button-main" name="act" value="save">Save</button>${linkButton(channel === undefined ? '/alerts' : `/alerts/${channel.id}`, 'Leave it')}</div></form>${trial(tried)}</div>`,
  });
};

/**
 * The kind comes first, because the fields follow from it. A kind that needs the browser's own
 * values has a page of its own.
 */
export const isFillable = ({ fields }: Kind): boolean => !fields.some(({ input }) => input === 'subscription');

export const kindPage = (kinds: readonly Kind[]): PageAnswer =>
  show({
    title: 'New channel',
    place: 'alerts',
    main: html`${heading({ sentence: 'How should alerts reach you?', below: 'You can send a test before anything is saved.', trail: [{ href: '/alerts', name: 'Alerts' }] })}
<ul class="kinds">${kinds.map(
      (kind) =>
        html`<li><a class="card" href="${safeUrl(isFillable(kind) ? `/alerts/new?kind=${encodeURIComponent(kind.id)}` : '/alerts/this-browser')}"><b>${kind.name}</b><span class="soft">${kind.about}</span></a></li>`,
    )}</ul>`,
  });
