import type { getChannel } from '../../../shared/api/channels.ts';
import type { listMessages } from '../../../shared/api/notifications.ts';
import type { OutputOf } from '../../../shared/api/operation.ts';
import { Refusal } from '../../../shared/base/errors.ts';
import { capital } from '../../../shared/base/text.ts';
import { durationText } from '../../../shared/base/time.ts';
import { drawing } from '../../web/assets.ts';
import { msText, notice, type State, stateMark } from '../../web/elements.ts';
import type { Form } from '../../web/form-data.ts';
import { type FormState, refusedForm } from '../../web/forms.ts';
import { type Html, html, type IconName, joined, type Part, symbolOf } from '../../web/html.ts';
import { mailMissingWords } from '../../web/layout.ts';
import type { MembersRequest } from '../../web/page.ts';
import { number, stepTable, table } from '../../web/tables.ts';
import type { Times } from '../../web/times.ts';
import type { listChannelKinds } from '../contract.ts';

/** A channel in words. */

export type Channel = OutputOf<typeof getChannel>;
export type Kind = OutputOf<typeof listChannelKinds>['items'][number];

type ChannelState = { readonly state: State; readonly words: string };

/**
 * `mail`: whether mail is set up here. What prevents notifications takes precedence over how the
 * last ones went.
 */
export function channelStateOf(
  { kind, enabled, unsubscribed, verified, delivering, last_delivered_at }: Channel,
  mail: boolean,
): ChannelState {
  if (!enabled) return { state: 'paused', words: 'Off' };
  if (unsubscribed) return { state: 'unknown', words: 'Unsubscribed' };
  if (kind === 'email' && !mail) return { state: 'down', words: mailMissingWords };
  if (!verified) return { state: 'verifying', words: 'Not confirmed yet' };
  if (!delivering) return { state: 'down', words: 'Cannot deliver' };
  return last_delivered_at === null
    ? { state: 'pending', words: 'Not used yet' }
    : { state: 'up', words: 'Delivering' };
}

export function channelMark(channel: Channel, mail: boolean): Html {
  const { state, words } = channelStateOf(channel, mail);
  return stateMark(state, words);
}

const drawn = drawing('channel-kinds.svg');

export function kindSymbol(id: string): Html {
  return symbolOf(drawn, id);
}

export function kindName(kinds: readonly Kind[], id: string): string {
  return kinds.find((each) => each.id === id)?.name ?? id;
}

/** What is wrong with one that cannot deliver; also where it is put right. */
export function failureNotice({ failure }: Channel): Html {
  return notice(
    'down',
    failure === null ? 'It failed permanently, or has failed for an hour' : asTitle(failure),
    'No alerts arrive through this channel. Fix its settings, then send a test. The first delivered alert clears this.',
  );
}

/** Without a full stop, as a title. */
export function asTitle(words: string): string {
  return capital(words.replace(/\.$/, ''));
}

/** Where messages go, as far as that may be shown; nothing where all of it is secret. */
export function whereOf({ kind, config }: Channel, kinds: readonly Kind[]): string | undefined {
  const fields = kinds.find(({ id }) => id === kind)?.fields ?? [];
  if (fields.some(({ input }) => input === 'subscription'))
    return 'the browser in which you added it';
  const shown = fields
    .map(({ name }) => config[name])
    .find((value) => typeof value === 'string' && value !== '***');
  return typeof shown === 'string' ? shown : undefined;
}

export function coversText({ covers, monitors, groups }: Channel): string {
  if (covers === 'all') return 'all monitors';
  const parts = [
    ...(groups.length > 0 ? [counted(groups.length, 'group')] : []),
    ...(monitors.length > 0 ? [counted(monitors.length, 'monitor')] : []),
  ];
  return parts.length === 0 ? 'no monitors yet' : parts.join(' and ');
}

function counted(count: number, one: string): string {
  return count === 1 ? `1 ${one}` : `${count} ${one}s`;
}

/** The time from the moment that nothing held a message until it was accepted. */
export function p95Text(ms: number | null): string {
  return ms === null || ms < 60_000 ? msText(ms) : durationText(ms);
}

/** `immediately`, `after 5 min`. */
export function delayText(delay_s: number): string {
  return delay_s === 0 ? 'immediately' : `after ${durationText(delay_s * 1_000)}`;
}

export function hoursText({ hours }: Channel): string {
  return hours === null
    ? 'at any hour'
    : `${hours.spans.map(({ days, from, to }) => `${daysText(days)} ${from}–${to}`).join('; ')} (${hours.zone ?? 'UTC'})`;
}

const dayNames = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'];

/** `Mon–Fri`, `Mon, Wed`. */
function daysText(days: readonly number[]): string {
  const [first, last] = [days[0] ?? 1, days.at(-1) ?? 1];
  const name = (day: number): string => dayNames[day - 1] ?? String(day);
  return days.length > 2 && last - first === days.length - 1
    ? `${name(first)}–${name(last)}`
    : days.map(name).join(', ');
}

export function mayManage({ may }: MembersRequest): boolean {
  return may({ access: 'manage' });
}

/** Members manage their own channels; owners and admins manage all. */
export function mayChange(request: MembersRequest, { owner }: Channel): boolean {
  return (
    mayManage(request) ||
    (request.may({ access: 'write' }) && owner === request.signedIn.person.email)
  );
}

/** @throws Refusal. */
export function refuseUnlessMayChange(request: MembersRequest, channel: Channel): void {
  if (mayChange(request, channel)) return;
  throw new Refusal(
    'role_insufficient',
    'You can change your own channels. Only owners and admins change team channels.',
  );
}

const common = [
  'name',
  'covers',
  'monitors[]',
  'groups[]',
  'delay_s',
  'reminder_s',
  'hours',
  'hours.zone',
  'time_zone',
  'personal',
];

/** @throws errors that are not about the form. */
export function refusedChannelForm(form: Form, error: unknown, { fields }: Kind): FormState {
  return refusedForm(form, error, {
    fields: [...common, ...fields.map(({ name }) => `config.${name}`)],
    beside: { time_zone: 'hours.zone' },
  });
}

type Line = { readonly at: string | null; readonly text: string };

/** The steps: the first with its clock time, those within a minute of it with their delay. */
export function alertLines(lines: readonly Line[], times: Times): Html {
  const first = lines.find(({ at }) => at !== null)?.at ?? null;
  const begin = first === null ? 0 : Date.parse(first);
  const when = (at: string | null): Part => {
    if (at === null) return '';
    const later = Date.parse(at) - begin;
    if (at === first) return times.precise(at);
    return later >= 0 && later < 60_000 ? html`+${durationText(later)}` : times.moment(at);
  };
  return html`
    <ol class="story">
      ${lines.map(
        ({ at, text }) =>
          html`<li><span class="story-when">${when(at)}</span><span>${text}</span></li>`,
      )}
    </ol>
  `;
}

/** Messages and the receivers' answers. */
export type Message = OutputOf<typeof listMessages>['items'][number];
type Attempt = Message['attempts'][number];

const stateWords: Readonly<Record<string, readonly [State, string, IconName?]>> = {
  waiting: ['pending', 'Sending'],
  delivered: ['up', 'Delivered'],
  refused: ['down', 'Failed permanently'],
  failed: ['down', 'Failed'],
  superseded: ['unknown', 'Superseded', 'none'],
};

export function messageMark({ state }: Message): Html {
  const [as, words, symbol] = stateWords[state] ?? ['unknown', state];
  return stateMark(as, words, symbol);
}

/** `HTTP 200`, `SMTP 250`; without an answer the reason: `timeout`. */
export function answerText({ status, class: kind }: Pick<Attempt, 'status' | 'class'>): string {
  return status === null
    ? kind.replaceAll('_', ' ')
    : `${kind === 'mail' ? 'SMTP' : 'HTTP'} ${status}`;
}

export function messageTable(channel: string, messages: readonly Message[], times: Times): Html {
  return stepTable(
    messages
      .toSorted((a, b) => Date.parse(b.due_at) - Date.parse(a.due_at))
      .map((message) => ({
        id: `message-${message.id}`,
        Message: html`
        <a class="row-link" href="/alerts/${channel}/messages/${message.id}">
          ${message.sentence}
        </a>
      `,
        Due: times.whole(message.due_at),
        State: messageMark(message),
        Responses: html`<span>${answersOf(message)}</span>`,
        'Delivered in': number(latencyOf(message)),
      })),
  );
}

function answersOf({ attempts, words }: Message): Part {
  if (attempts.length === 0) return '–';
  const last = attempts.at(-1);
  const count =
    attempts.length > 3 && html`<span class="softer">${attempts.length} attempts, last: </span>`;
  const shown = joined(
    attempts.slice(-3).map((each) => html`<span class="answer">${answerText(each)}</span>`),
    ', ',
  );
  return html`
    ${count}
    ${shown}
    ${last?.verdict !== 'delivered' && words !== null && html`<span class="note">${words}</span>`}
  `;
}

/** From due to accepted. */
function latencyOf({ state, due_at, settled_at }: Message): string {
  return state === 'delivered' && settled_at !== null
    ? durationText(Date.parse(settled_at) - Date.parse(due_at))
    : '–';
}

export function attemptTable({ attempts }: Message, times: Times): Html {
  return table(
    attempts.map((attempt) => ({
      At: times.precise(attempt.at),
      Response: answerText(attempt),
      Result: [
        {
          delivered: 'Delivered',
          retry: 'Not delivered yet',
          refused: 'Failed permanently',
        }[attempt.verdict] ?? attempt.verdict,
        attempt.words !== null && `: ${attempt.words}`,
      ],
      Duration: number(durationText(attempt.took_ms)),
    })),
  );
}
