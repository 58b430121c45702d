import { durationText } from '../../../shared/base/time.ts';
import {
  isWarning,
  type Notification,
  type NotifiedEvent,
  type NotifiedMonitor,
} from '../message.ts';

/** Text that kinds share, as plain text: each escapes it for its medium. */

/**
 * Text of others on one line: without line breaks, control characters, halves of characters, and
 * marks that reverse the direction of the text after them, which would let a name rewrite the
 * sentence around it.
 */
export function clean(text: string): string {
  return (
    text
      .toWellFormed()
      // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for.
      .replaceAll(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g, ' ')
      .replaceAll(/[\u202a-\u202e\u2066-\u2069\u200e\u200f\u061c]/g, '')
      .trim()
  );
}

/** The beginning of a text, at most `most` UTF-16 units by `measure`; it never cuts a character. */
export function cut(
  text: string,
  limit: number,
  measure: (text: string) => number = (one) => one.length,
): string {
  if (measure(text) <= limit) return text;
  const room = limit - measure('…');
  let length = 0;
  let end = 0;
  for (const character of text) {
    length += measure(character);
    if (length > room) break;
    end += character.length;
  }
  return room < 0 ? '' : `${text.slice(0, end).trimEnd()}…`;
}

export function bytes(text: string): number {
  return Buffer.byteLength(text);
}

/** The tone decides colours and priorities. */
type Tone = 'bad' | 'good' | 'warning' | 'neutral';
const tones: Readonly<Record<NotifiedEvent, Tone>> = {
  down: 'bad',
  reminder: 'bad',
  flapping: 'warning',
  warning: 'warning',
  warning_over: 'good',
  was_down: 'warning',
  acknowledged: 'neutral',
  closed: 'neutral',
  test: 'neutral',
  up: 'good',
};

export function toneOf(notification: Notification): Tone {
  return tones[notification.event];
}

/** The colours of states on the pages. */
export const colours: Readonly<Record<Tone, string>> = {
  bad: '#c8291f',
  warning: '#d37e10',
  good: '#1a7f4b',
  neutral: '#505a66',
};

/** Whether someone has to see this at once, and may be woken by it. */
export function isUrgent({ event }: Notification): boolean {
  return event === 'down' || event === 'reminder';
}

/** The sentence as a title: without its full stop. */
export function title(notification: Notification): string {
  return clean(notification.sentence).replace(/\.$/, '') || 'Something changed';
}

/** How much is down in all, where that is more than the message covers. Follows a title. */
export function inAll(notification: Notification): string {
  if (notification.others_down.count === 0 || isWarning(notification)) return '';
  // An acknowledged incident is still down.
  const own = notification.monitors.filter(
    ({ event }) => event === 'down' || event === 'reminder' || event === 'acknowledged',
  );
  return ` (${notification.others_down.count + own.length} down in all)`;
}

/** For a list of titles: a mailbox, a phone. */
export function subject(notification: Notification): string {
  return `${title(notification)}${inAll(notification)}`;
}

/** What else is down, or that everything else is up. */
export function others({ others_down: { count, names }, event }: Notification): string | undefined {
  if (event === 'test' || (count === 0 && isWarning({ event }))) return undefined;
  if (count === 0) return 'Everything else is up.';
  const shown = names.slice(0, 5).map((name) => cut(clean(name), 80));
  const more = count - shown.length;
  if (shown.length === 0) return `${count} ${count === 1 ? 'other is' : 'others are'} also down.`;
  return `Also down: ${shown.join(', ')}${more > 0 ? ` and ${more} more` : ''}.`;
}

/** The outcome of one monitor, without its name. */
function outcome(monitor: NotifiedMonitor, at: number): string {
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
      return `flapping: ${cause}`;
    case 'warning':
      return cause;
    case 'warning_over':
      return `no longer a warning: ${cause}`;
    case 'test':
      return 'a test, nothing is down';
  }
}

function lasted({ started_at, resolved_at }: NotifiedMonitor, until: number): string {
  return durationText((resolved_at ?? until) - started_at);
}

type Fact = { readonly label: string; readonly value: string };

/**
 * The facts about one monitor, each with its label, in the order in which a person asks for them.
 */
export function facts(
  monitor: NotifiedMonitor,
  { at, time_zone }: Pick<Notification, 'at' | 'time_zone'>,
): Fact[] {
  return [
    { label: 'Address', value: monitor.target },
    { label: 'Cause', value: monitor.cause },
    { label: 'Started', value: instant(monitor.started_at, time_zone) },
    {
      label: 'Resolved',
      value:
        monitor.resolved_at === null
          ? null
          : `${instant(monitor.resolved_at, time_zone)}, after ${lasted(monitor, at)}`,
    },
    { label: 'Detected from', value: monitor.seen_from },
    { label: 'Confirmed from', value: monitor.confirmed_from },
    { label: 'By continent', value: monitor.matrix },
    { label: 'Group', value: monitor.group },
  ].flatMap(({ label, value }) =>
    value === null || clean(value) === '' ? [] : [{ label, value: clean(value) }],
  );
}

/** The facts about the only monitor; undefined where there are several, or none. */
export function factsOfOne(notification: Notification): Fact[] | undefined {
  const [only, ...more] = notification.monitors;
  return only && more.length === 0 ? facts(only, notification) : undefined;
}

/**
 * `2026-11-22 19:05:04 (18:05:04 UTC)`: in the time zone, with UTC beside it; `2026-11-22 18:05:04
 * UTC` where they are the same.
 */
function instant(at: number, zone: string): string {
  const [local, utc] = [clockText(at, zone), clockText(at, 'UTC')];
  if (local === utc) return `${utc} UTC`;
  return `${local} (${local.slice(0, 10) === utc.slice(0, 10) ? utc.slice(11) : utc} UTC)`;
}

function clockText(at: number, zone: string): string {
  return Temporal.Instant.fromEpochMilliseconds(at)
    .toZonedDateTimeISO(zone)
    .toPlainDateTime()
    .toString({ smallestUnit: 'second' })
    .replace('T', ' ');
}

export type Link = { readonly label: string; readonly url: string };

/** The links for a reader, most useful first. */
export function links({ links: given, event }: Notification): Link[] {
  return [
    ...(event === 'test'
      ? []
      : [
          {
            label: isWarning({ event }) ? 'View warnings' : 'View incident',
            url: given.incident,
          },
        ]),
    ...(given.acknowledge === null ? [] : [{ label: 'Acknowledge', url: given.acknowledge }]),
    ...(event === 'test' ? [] : [{ label: 'Why you got this', url: given.why }]),
    { label: 'Channel settings', url: given.channel },
  ];
}

/**
 * The lines that fit, and a last line with the number of those that did not. Headings are not
 * counted.
 */
export function fitting(
  lines: readonly { readonly text: string; readonly isHeading?: boolean }[],
  limit: number,
  measure: (text: string) => number = (one) => one.length,
): string[] {
  const size = (text: string): number => measure(text) + 1;
  const reserve = 24;
  const total = lines.reduce((sum, { text }) => sum + size(text), 0);
  if (total <= limit) return lines.map(({ text }) => text);
  const kept: { text: string; isHeading: boolean }[] = [];
  let used = reserve;
  for (const { text, isHeading = false } of lines) {
    used += size(text);
    if (used > limit) break;
    kept.push({ text, isHeading });
  }
  while (kept.at(-1)?.isHeading) kept.pop();
  const shown = kept.filter(({ isHeading }) => !isHeading).length;
  const all = lines.filter(({ isHeading }) => isHeading !== true).length;
  return [...kept.map(({ text }) => text), `… and ${all - shown} more`];
}

/** Since when, and one line for each monitor under the name of its group, formatted by `line`. */
export function listed(
  notification: Notification,
  line: (name: string, outcome: string) => string,
  heading: (group: string) => string,
): { readonly text: string; readonly isHeading?: boolean }[] {
  let group: string | null = null;
  const first = since(notification);
  const lines = notification.monitors.flatMap((monitor) => {
    const isNew = monitor.group !== null && monitor.group !== group;
    group = monitor.group;
    const text = line(cut(clean(monitor.name), 120), cut(outcome(monitor, notification.at), 200));
    return isNew
      ? [{ text: heading(cut(clean(group ?? ''), 120)), isHeading: true }, { text }]
      : [{ text }];
  });
  return first === undefined ? lines : [{ text: first, isHeading: true }, ...lines];
}

/**
 * Since when the first of several is down. It uses digits, letters and brackets alone, which every
 * medium shows unchanged.
 */
function since({ monitors, time_zone }: Notification): string | undefined {
  const starts = monitors
    .filter(({ event }) => event === 'down' || event === 'reminder')
    .map(({ started_at }) => started_at);
  return starts.length === 0
    ? undefined
    : `Since ${instant(Math.min(...starts), time_zone)} (first)`;
}

/**
 * The body for a plain-text medium: the facts of a single monitor, or a line for each; then what
 * else is down.
 */
export function plainBody(
  notification: Notification,
  limit: number,
  measure: (text: string) => number = (one) => one.length,
): string {
  const only = factsOfOne(notification);
  const last = others(notification);
  const room = last === undefined ? limit : limit - measure(last) - 2;
  const lines = only
    ? only.map(({ label, value }) => ({
        text: `${label}: ${cut(value, 500)}`,
      }))
    : listed(
        notification,
        (name, what) => `• ${name}: ${what}`,
        (group) => `${group}:`,
      );
  const body = room > 30 ? fitting(lines, room, measure).join('\n') : '';
  return cut(
    [body, last].filter((part) => part !== undefined && part !== '').join('\n\n'),
    limit,
    measure,
  );
}

/**
 * Escapes for the media. Whatever a name says, it formats nothing, links nowhere and mentions no
 * one.
 */
export function html(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;');
}

/** A mention with nothing visible after its @ mentions no one. */
export function unmentioned(text: string): string {
  return text.replaceAll('@', '@\u200b');
}

/** Slack's three special characters: mentions, links and dates are all in angle brackets. */
export function slack(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/**
 * Text that is safe inside code: neither a mark that would end it, nor a bracket, which Mattermost
 * interprets even there.
 */
const address = /([a-z][a-z0-9+.-]{0,30}:\/\/[^\s`<>]+)/i;

/**
 * Markdown with backslash escapes (Discord, Mattermost, incident.io). Addresses are set in code:
 * there they are no links, and can be copied. Brackets make no mention.
 */
export function markdown(text: string): string {
  return text
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
}

/** A line for each monitor, where there are several. */
export function markdownList(notification: Notification, limit: number): string {
  return fitting(
    listed(
      notification,
      (name, what) => `- **${markdown(name)}**: ${markdown(what)}`,
      (group) => `**${markdown(group)}**`,
    ),
    limit,
  ).join('\n');
}

/** The links in one line. */
export function markdownLinks(notification: Notification): string {
  return links(notification)
    .map(({ label, url }) => `[${label}](${url.replaceAll(')', '%29')})`)
    .join(' · ');
}

/**
 * Zulip's markdown has no backslash escape, and keeps HTML character references until it shows
 * them.
 */
export function zulip(text: string): string {
  return text.replaceAll(/[&<>*_`~#$@[\]()\\|!]/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** Text that is a link by itself: Telegram finds no mention in it. */
const link = /(https?:\/\/[a-z0-9-]+(?:\.[a-z0-9-]+)+(?=[/:?#\s]|$)[^\s<>]*)/i;

/** Addresses stay unchanged, so that they can be copied. */
export function telegram(text: string): string {
  return text
    .split(link)
    .map((part, index) => html(index % 2 === 1 ? part : unmentioned(part)))
    .join('');
}

/** Google Chat interprets mentions in text and in cards; similar-looking brackets are harmless. */
export function googlePlain(text: string): string {
  return text.replaceAll('<', '‹').replaceAll('>', '›');
}

/** For places where Google Chat interprets markup: addresses are set in code. */
export function googleText(text: string): string {
  return text
    .split(address)
    .map((part, index) =>
      index % 2 === 1 ? `\`${part}\`` : googlePlain(part).replaceAll(/[*_~`]/g, '$&\u200b'),
    )
    .join('');
}

export function googleCard(text: string): string {
  return html(googlePlain(text));
}

/**
 * The beginning of a text, escaped: at most `most` UTF-16 units including its escapes, none of
 * which is cut.
 */
export function cutFor(text: string, limit: number, escaping: (text: string) => string): string {
  // A whole text may need more units than its characters do one by one.
  for (let room = limit; room > 0; ) {
    const escaped = escaping(cut(text, room, (part) => escaping(part).length));
    if (escaped.length <= limit) return escaped;
    room -= escaped.length - limit;
  }
  return '';
}
