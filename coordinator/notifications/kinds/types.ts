import { durationText } from '../../../shared/base/time.ts';
import type { NotifiedEvent, NotifiedMonitor, Told } from '../message.ts';

/**
 * What a kind of channel is. Form, masking, docs and the operator's command follow from its row, so that a kind is one file and one line in
 * `notifications/channels.ts`. All of it is pure: a message from what is told, a verdict from what was answered.
 */

/** What somebody fills in. */
export type Field = {
  readonly label: string;
  /** Where to find it, in a sentence. */
  readonly hint?: string;
  /** Kept encrypted, never shown again. A secret address is shown as its host alone (`shownConfig`). */
  readonly secret?: true;
  readonly optional?: true;
  /** What a value is like in whole, and the words for one that is not. With the flag `v` alone, as the `pattern` of a form is read. */
  readonly pattern: RegExp;
  readonly fault: string;
  /** `subscription`: nobody types it; a browser gives it (Web Push). `generated`: we make it, and show it once. */
  readonly input: 'text' | 'url' | 'email' | 'tel' | 'password' | 'choice' | 'subscription' | 'generated';
  /** Of a `choice`; the first counts where nothing is chosen. */
  readonly choices?: readonly string[];
};
export type Fields = { readonly [name: string]: Field };

/** The values of the fields with their secrets in place, each a text as a form sends it; what was left empty is absent. */
export type ChannelConfig = { readonly [name: string]: string };

/** What is to be sent, by whichever of the three ways there are. */
export type Outgoing = OutgoingRequest | OutgoingMail | OutgoingPush;
export type OutgoingRequest = {
  readonly by: 'https';
  readonly method: 'POST' | 'PUT';
  readonly url: string;
  readonly headers: { readonly [name: string]: string };
  readonly body: string;
  /** What follows when this was taken, once, whatever is answered to it: it ends what would only go on ringing. */
  readonly afterwards?: OutgoingRequest;
};
export type OutgoingMail = {
  readonly by: 'mail';
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  /** The part of the Message-ID before the @; the sender knows the host. */
  readonly id: string;
  /** The same of the mail that began the thread, in this mailbox. */
  readonly in_reply_to: string | null;
  readonly headers: { readonly [name: string]: string };
};
export type OutgoingPush = {
  readonly by: 'push';
  readonly endpoint: string;
  /** The browser's public key and its secret, base64url. */
  readonly p256dh: string;
  readonly auth: string;
  readonly payload: string;
  /** What it replaces where it has not been shown yet; at most 32 letters of base64url. */
  readonly topic: string;
  readonly urgency: 'high' | 'normal';
  readonly ttl_s: number;
};

/** Why there was no whole answer. Only the class is stored and shown: never an address, never what a stranger's server said. */
export const sendFailures = [
  'dns_failed',
  'blocked_address',
  'connect_failed',
  'tls_invalid',
  'timeout',
  'broken_off',
  'bad_address',
  'mail_not_set_up',
  'push_not_set_up',
] as const;
export type SendFailure = (typeof sendFailures)[number];

export type Answer =
  /**
   * Redirects are answers, too: none is followed. Header names in lower case; of the body what came in time, up to 64 KB: what was taken with
   * a status is taken, although its answer broke off.
   */
  | {
      readonly is: 'answer';
      readonly status: number;
      readonly headers: { readonly [name: string]: string };
      readonly body: string;
    }
  /** What a mail server said: its code (250 taken); null when there was none. `definite`: it will never take this mail for this address. */
  | { readonly is: 'mail'; readonly code: number | null; readonly definite: boolean }
  | { readonly is: 'failure'; readonly failure: SendFailure };

/** What an answer means. `words`: a clause of our own, for the channel's page ("Slack does not know this webhook any more"). */
export type Verdict =
  /** `reference`: what the receiver calls the message, to answer it later. */
  | { readonly is: 'taken'; readonly reference?: string }
  /** `after_s`: the earliest that the receiver wants to hear of it again. */
  | { readonly is: 'retry'; readonly words: string; readonly after_s?: number }
  /** It will never be taken like this: somebody has to do something. */
  | { readonly is: 'refused'; readonly words: string };

export type ChannelKind = {
  readonly id: string;
  readonly name: string;
  /** What it does for whom, in a sentence, for the form. */
  readonly about: string;
  readonly fields: Fields;
  /** The only hosts that its addresses may have; without it any. `*.` stands for any name below. */
  readonly hosts?: readonly string[];
  /** @param now The time of this attempt, in ms: signatures carry it. */
  readonly message: (told: Told, config: ChannelConfig, now: number) => Outgoing;
  readonly judge: (answer: Answer) => Verdict;
  /**
   * Whether something stands open at the receiver until an "up" closes it (PagerDuty). A message to such a channel tells of one thread alone:
   * what goes together of several threads leaves as one message for each.
   */
  readonly resolves: boolean;
  /** By what the receiver knows a message that comes a second time. */
  readonly safe: 'key' | 'message_id' | 'none';
};

/** What HTTP answers mean to every kind alike, and the words for each. */
export type HttpAnswer = Extract<Answer, { is: 'answer' }>;

const failures: Readonly<Record<SendFailure, string>> = {
  dns_failed: 'its name leads to no address',
  blocked_address: 'its address lies inside a network to which this installation does not send (ALERT_ALLOW_CIDRS)',
  connect_failed: 'no connection to it stands',
  tls_invalid: 'its certificate is not valid',
  timeout: 'it gave no whole answer within 10 s',
  broken_off: 'it broke off its answer',
  bad_address: 'its address cannot be read',
  mail_not_set_up: 'mail is not set up on this installation (SMTP_URL)',
  push_not_set_up: 'push is not set up on this installation',
};

/** What no other try will change; all else may pass. */
const forGood: readonly SendFailure[] = ['bad_address', 'mail_not_set_up', 'push_not_set_up'];

export const judgeFailure = (failure: SendFailure): Verdict => ({
  is: forGood.includes(failure) ? 'refused' : 'retry',
  words: failures[failure],
});

const longestPause = 24 * 3_600;

/** `Retry-After`: seconds, or an instant by the receiver's own clock; undefined when it says nothing that can be read. */
export const retryAfter = ({ headers }: HttpAnswer): number | undefined => {
  const text = headers['retry-after']?.trim() ?? '';
  const isSeconds = /^\d{1,9}(\.\d+)?$/.test(text);
  const instantOf = (date: string): number => (/^[A-Z][a-z]{2}, .* GMT$/.test(date) ? Date.parse(date) : Number.NaN);
  const after = isSeconds ? Number(text) : (instantOf(text) - instantOf(headers.date ?? '')) / 1_000;
  return Number.isFinite(after) ? Math.min(longestPause, Math.max(0, Math.ceil(after))) : undefined;
};

export const later = (words: string, after_s?: number): Verdict =>
  after_s === undefined ? { is: 'retry', words } : { is: 'retry', words, after_s };

/** A member of a JSON object, or undefined wherever the text is something else. */
export const member = (body: string, ...path: readonly string[]): unknown => {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    return undefined; // What is no JSON has no members; its status speaks for itself.
  }
  for (const name of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
    value = Object.getOwnPropertyDescriptor(value, name)?.value;
  }
  return value;
};

/** A name is kept as it came, so only what can be one: a receiver could say anything, also what no database takes. */
const asName = /^[\x21-\x7e]{1,255}$/;

export const taken = (reference?: unknown): Verdict => {
  const name = typeof reference === 'number' ? String(reference) : reference;
  return typeof name === 'string' && asName.test(name) ? { is: 'taken', reference: name } : { is: 'taken' };
};

const statusWords = (status: number): string => {
  if (status === 429) return 'it wants less at once (429)';
  if (status >= 500) return `it has a fault of its own (${status})`;
  if (status >= 300 && status < 400) return `it points to another address (${status}); no redirect is followed: give the final address`;
  return `it answered ${status}`;
};

export type HttpJudging = {
  /** Statuses that the vendor documents as final, with what they mean. */
  readonly refused: { readonly [status: number]: string };
  /** What the vendor calls the message. */
  readonly reference?: (answer: HttpAnswer) => unknown;
  /** What the vendor says in the body before its status counts. */
  readonly first?: (answer: HttpAnswer) => Verdict | undefined;
  /** When the vendor wants to hear of it again, where it says so in the body. */
  readonly after_s?: (answer: HttpAnswer) => unknown;
};

/** Taken is 2xx, refused what the vendor documents as final; everything else may pass and is tried again. */
export const judgeHttp =
  ({ refused, reference, first, after_s }: HttpJudging) =>
  (answer: Answer): Verdict => {
    if (answer.is === 'failure') return judgeFailure(answer.failure);
    if (answer.is === 'mail') return { is: 'refused', words: 'it was sent by mail' };
    const said = first?.(answer);
    if (said !== undefined) return said;
    const { status } = answer;
    if (status >= 200 && status < 300) return taken(reference?.(answer));
    const words = refused[status];
    if (words !== undefined) return { is: 'refused', words: `${words} (${status})` };
    const inBody = after_s?.(answer);
    return later(
      statusWords(status),
      typeof inBody === 'number' && Number.isFinite(inBody) ? Math.min(longestPause, Math.max(0, Math.ceil(inBody))) : retryAfter(answer),
    );
  };

/** Fields that several kinds have, and how a kind reads its values. */

/** A value that the fields demand. @throws when it is missing: a config is read by its fields before it is stored. */
export const value = (config: ChannelConfig, name: string): string => {
  const found = config[name];
  if (found === undefined) throw new Error(`the config of a channel has no ${name}`);
  return found;
};

/** An address without the slash at its end, to put a path behind. */
export const base = (url: string): string => url.replace(/\/+$/, '');

const anyUrl = /^https?:\/\/[^\s\/?#@\\]+(?:[\/?#]\S*)?$/v;

export const urlField = (label: string, hint: string): Field => ({
  label,
  hint,
  input: 'url',
  pattern: anyUrl,
  fault: 'must be an https:// or http:// address without name and password in it',
});

/** An address that is a secret in itself: who knows it can write there. */
export const secretUrlField = (label: string, hint: string, pattern: RegExp = anyUrl, fault?: string): Field => ({
  ...urlField(label, hint),
  pattern,
  ...(fault === undefined ? {} : { fault }),
  secret: true,
});

export const secretField = (label: string, hint: string, pattern: RegExp = /^[\x21-\x7e]{1,500}$/v, fault?: string): Field => ({
  label,
  hint,
  input: 'password',
  secret: true,
  pattern,
  fault: fault ?? 'must be up to 500 visible characters without blanks',
});

export const textField = (label: string, hint: string, pattern: RegExp, fault: string): Field => ({
  label,
  hint,
  input: 'text',
  pattern,
  fault,
});

export const choiceField = (label: string, hint: string, choices: readonly string[]): Field => ({
  label,
  hint,
  input: 'choice',
  choices,
  optional: true,
  pattern: new RegExp(`^(?:${choices.join('|')})$`, 'v'),
  fault: `must be one of ${choices.join(', ')}`,
});

/** A JSON request. */
export const jsonPost = (
  url: string,
  content: unknown,
  headers: { readonly [name: string]: string } = {},
): {
  readonly by: 'https';
  readonly method: 'POST';
  readonly url: string;
  readonly headers: { readonly [name: string]: string };
  readonly body: string;
} => ({ by: 'https', method: 'POST', url, headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(content) });

export const formPost = (
  url: string,
  content: { readonly [name: string]: string },
  headers: { readonly [name: string]: string } = {},
): ReturnType<typeof jsonPost> => ({
  by: 'https',
  method: 'POST',
  url,
  headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
  body: new URLSearchParams(content).toString(),
});

export const basic = (name: string, password: string): string => `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`;

/** What the kinds say alike, as plain text: each escapes it for its medium. */

/**
 * Text of others in one line: without line breaks, control characters, halves of characters, and the marks that turn the direction of all
 * that follows, which would let a name rewrite the sentence it stands in.
 */
export const clean = (text: string): string =>
  text
    .toWellFormed()
    // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for.
    .replaceAll(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g, ' ')
    .replaceAll(/[\u202a-\u202e\u2066-\u2069\u200e\u200f\u061c]/g, '')
    .trim();

/** The beginning of a text, at most so many UTF-16 units by `measure`; never half a character. */
export const cut = (text: string, most: number, measure: (text: string) => number = (one) => one.length): string => {
  if (measure(text) <= most) return text;
  const room = most - measure('…');
  let length = 0;
  let end = 0;
  for (const character of text) {
    length += measure(character);
    if (length > room) break;
    end += character.length;
  }
  return room < 0 ? '' : `${text.slice(0, end).trimEnd()}…`;
};

export const bytes = (text: string): number => Buffer.byteLength(text);

const clockText = (at: number, zone: string): string =>
  Temporal.Instant.fromEpochMilliseconds(at)
    .toZonedDateTimeISO(zone)
    .toPlainDateTime()
    .toString({ smallestUnit: 'second' })
    .replace('T', ' ');

/** `2026-11-22 19:05:04 (18:05:04 UTC)`: by the clock of the zone, with UTC beside it; `2026-11-22 18:05:04 UTC` where they are the same. */
const instant = (at: number, zone: string): string => {
  const [local, utc] = [clockText(at, zone), clockText(at, 'UTC')];
  if (local === utc) return `${utc} UTC`;
  return `${local} (${local.slice(0, 10) === utc.slice(0, 10) ? utc.slice(11) : utc} UTC)`;
};

/** Good, bad, in between, or neither: what colours and priorities follow. */
export type Tone = 'bad' | 'good' | 'warning' | 'neutral';
const tones: Readonly<Record<NotifiedEvent, Tone>> = {
  down: 'bad',
  reminder: 'bad',
  flapping: 'warning',
  was_down: 'warning',
  acknowledged: 'neutral',
  closed: 'neutral',
  test: 'neutral',
  up: 'good',
};
export const toneOf = (told: Told): Tone => tones[told.event];

/** As the pages colour their states. */
export const colours: Readonly<Record<Tone, string>> = { bad: '#c8291f', warning: '#d37e10', good: '#1a7f4b', neutral: '#505a66' };

/** Whether this is what somebody has to see at once, and may be woken by. */
export const isUrgent = ({ event }: Told): boolean => event === 'down' || event === 'reminder';

/** The sentence as a title: without its full stop. */
export const title = (told: Told): string => clean(told.sentence).replace(/\.$/, '') || 'Something changed';

/** How much is down in all, where that is more than what is told of: what follows a title. */
export const inAll = (told: Told): string => {
  if (told.others_down.count === 0) return '';
  // What somebody is on is down all the same.
  const own = told.monitors.filter(({ event }) => event === 'down' || event === 'reminder' || event === 'acknowledged');
  return ` (${told.others_down.count + own.length} down in all)`;
};

/** For a list of titles: a mailbox, a phone. */
export const subject = (told: Told): string => `${title(told)}${inAll(told)}`;

/** What else is down, or that all else is up. */
export const others = ({ others_down: { count, names }, event }: Told): string | undefined => {
  if (event === 'test') return undefined;
  if (count === 0) return 'All else is up.';
  const shown = names.slice(0, 5).map((name) => cut(clean(name), 80));
  const more = count - shown.length;
  if (shown.length === 0) return `${count} ${count === 1 ? 'other is' : 'others are'} down as well.`;
  return `Down as well: ${shown.join(', ')}${more > 0 ? ` and ${more} more` : ''}.`;
};

const lasted = ({ started_at, resolved_at }: NotifiedMonitor, until: number): string => durationText((resolved_at ?? until) - started_at);

/** What became of one, without its name. */
export const outcome = (monitor: NotifiedMonitor, at: number): string => {
  const cause = clean(monitor.cause);
  switch (monitor.event) {
    case 'down':
      return cause;
    case 'up':
      return `up again after ${lasted(monitor, at)}`;
    case 'was_down':
      return `was down for ${lasted(monitor, at)}: ${cause}`;
    case 'closed':
      return `closed after ${lasted(monitor, at)}: it was paused, changed or deleted`;
    case 'reminder':
      return `still down after ${lasted(monitor, at)}: ${cause}`;
    case 'acknowledged':
      return `acknowledged: ${cause}`;
    case 'flapping':
      return `goes down again and again: ${cause}`;
    case 'test':
      return 'a test, nothing is down';
  }
};

export type Fact = { readonly label: string; readonly value: string };

/** What is known of one, each with its label, in the order of what a person asks first. */
export const facts = (monitor: NotifiedMonitor, { at, time_zone }: Pick<Told, 'at' | 'time_zone'>): Fact[] =>
  [
    { label: 'Address', value: monitor.target },
    { label: 'Cause', value: monitor.cause },
    { label: 'Started', value: instant(monitor.started_at, time_zone) },
    {
      label: 'Ended',
      value: monitor.resolved_at === null ? null : `${instant(monitor.resolved_at, time_zone)}, after ${lasted(monitor, at)}`,
    },
    { label: 'Detected from', value: monitor.seen_from },
    { label: 'Confirmed from', value: monitor.confirmed_from },
    { label: 'Seen from each continent', value: monitor.matrix },
    { label: 'Group', value: monitor.group },
  ].flatMap(({ label, value }) => (value === null || clean(value) === '' ? [] : [{ label, value: clean(value) }]));

export type Link = { readonly label: string; readonly url: string };

/** Where a reader may go from here, the most wanted first. */
export const links = ({ links: given, event }: Told): Link[] => [
  ...(event === 'test' ? [] : [{ label: 'See what happened', url: given.incident }]),
  ...(given.acknowledge === null ? [] : [{ label: 'Acknowledge', url: given.acknowledge }]),
  ...(event === 'test' ? [] : [{ label: 'Why you got this', url: given.why }]),
  { label: 'Channel settings', url: given.channel },
];

/** Lines that fit, and how many did not, in a line of its own. Headings count for nothing. */
export const fitting = (
  lines: readonly { readonly text: string; readonly isHeading?: boolean }[],
  most: number,
  measure: (text: string) => number = (one) => one.length,
): string[] => {
  const size = (text: string): number => measure(text) + 1;
  const reserve = 24;
  const total = lines.reduce((sum, { text }) => sum + size(text), 0);
  if (total <= most) return lines.map(({ text }) => text);
  const kept: { text: string; isHeading: boolean }[] = [];
  let used = reserve;
  for (const { text, isHeading = false } of lines) {
    used += size(text);
    if (used > most) break;
    kept.push({ text, isHeading });
  }
  while (kept.at(-1)?.isHeading) kept.pop();
  const shown = kept.filter(({ isHeading }) => !isHeading).length;
  const all = lines.filter(({ isHeading }) => isHeading !== true).length;
  return [...kept.map(({ text }) => text), `… and ${all - shown} more`];
};

/** Since when the first of several is down. Of digits, letters and brackets alone: every medium shows it as it is. */
const since = ({ monitors, time_zone }: Told): string | undefined => {
  const starts = monitors.filter(({ event }) => event === 'down' || event === 'reminder').map(({ started_at }) => started_at);
  return starts.length === 0 ? undefined : `Since ${instant(Math.min(...starts), time_zone)} (first)`;
};

/** Since when, and one line for each, under the names of their groups, as `line` writes them. */
export const listed = (
  told: Told,
  line: (name: string, outcome: string) => string,
  heading: (group: string) => string,
): { readonly text: string; readonly isHeading?: boolean }[] => {
  let group: string | null = null;
  const first = since(told);
  const lines = told.monitors.flatMap((monitor) => {
    const isNew = monitor.group !== null && monitor.group !== group;
    group = monitor.group;
    const text = line(cut(clean(monitor.name), 120), cut(outcome(monitor, told.at), 200));
    return isNew ? [{ text: heading(cut(clean(group ?? ''), 120)), isHeading: true }, { text }] : [{ text }];
  });
  return first === undefined ? lines : [{ text: first, isHeading: true }, ...lines];
};

/** The body for a medium of plain text: facts of the one, or a line for each; then what else is down. */
export const plainBody = (told: Told, most: number, measure: (text: string) => number = (one) => one.length): string => {
  const [only] = told.monitors;
  const last = others(told);
  const room = last === undefined ? most : most - measure(last) - 2;
  const lines =
    told.monitors.length === 1 && only !== undefined
      ? facts(only, told).map(({ label, value }) => ({ text: `${label}: ${cut(value, 500)}` }))
      : listed(
          told,
          (name, what) => `• ${name}: ${what}`,
          (group) => `${group}:`,
        );
  const body = room > 30 ? fitting(lines, room, measure).join('\n') : '';
  return cut([body, last].filter((part) => part !== undefined && part !== '').join('\n\n'), most, measure);
};

/** Escapes for the media: whatever a name says, it formats nothing, links nowhere and calls nobody. */

export const html = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;').replaceAll("'", '&#39;');

/** Nobody is called by a mention with nothing visible behind its @. */
export const unmentioned = (text: string): string => text.replaceAll('@', '@\u200b');

/** Slack's three: mentions, links and dates all stand in angle brackets. */
export const slack = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

/** What stands as it is in code: neither a mark that would end it, nor a bracket, which Mattermost reads also there. */
const address = /([a-z][a-z0-9+.-]*:\/\/[^\s`<>]+)/i;

/**
 * Markdown that knows the backslash (Discord, Mattermost, incident.io). Addresses stand in code: they are no links of their own there, and can be
 * copied as they are. No bracket is a mention.
 */
export const markdown = (text: string): string =>
  text
    .split(address)
    .map((part, index) =>
      index % 2 === 1
        ? `\`${part}\``
        : unmentioned(part)
            .replaceAll(/[\\`*_{}[\]()#+\-!|~>]/g, '\\$&')
            .replaceAll('<', '<\u200b')
            .replaceAll('://', ':\u200b//'),
    )
    .join('');

/** Zulip's markdown knows no backslash, and leaves HTML's numbers alone until it shows them. */
export const zulip = (text: string): string => text.replaceAll(/[&<>*_`~#$@[\]()\\|!]/g, (character) => `&#${character.charCodeAt(0)};`);

/** What is a link as it stands: Telegram finds no mention in it. */
const link = /(https?:\/\/[a-z0-9-]+(?:\.[a-z0-9-]+)+(?=[/:?#\s]|$)[^\s<>]*)/i;

/** Addresses stand as they are, so that they can be copied. */
export const telegram = (text: string): string =>
  text
    .split(link)
    .map((part, index) => html(index % 2 === 1 ? part : unmentioned(part)))
    .join('');

/** Google Chat reads mentions in text and in cards; brackets of another make stand for themselves. */
export const googlePlain = (text: string): string => text.replaceAll('<', '‹').replaceAll('>', '›');
/** Where it reads marks: addresses stand in code. */
export const googleText = (text: string): string =>
  text
    .split(address)
    .map((part, index) => (index % 2 === 1 ? `\`${part}\`` : googlePlain(part).replaceAll(/[*_~`]/g, '$&\u200b')))
    .join('');
export const googleCard = (text: string): string => html(googlePlain(text));

/** The beginning of a text, escaped: at most so many UTF-16 units with its escapes, none of which is cut. */
export const cutFor = (text: string, most: number, escaping: (text: string) => string): string => {
  // What stands together may need more than its characters do one by one.
  for (let room = most; room > 0; ) {
    const escaped = escaping(cut(text, room, (part) => escaping(part).length));
    if (escaped.length <= most) return escaped;
    room -= escaped.length - most;
  }
  return '';
};
