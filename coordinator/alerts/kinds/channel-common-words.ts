import { durationText } from '../../../shared/base/duration.ts';
import type { Told, ToldEvent, ToldMonitor } from '../alert-told.ts';

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

/** `2026-11-22 18:05:04 UTC` */
export const instant = (at: number): string => `${new Date(at).toISOString().slice(0, 19).replace('T', ' ')} UTC`;

/** Good, bad, in between, or neither: what colours and priorities follow. */
export type Tone = 'bad' | 'good' | 'warning' | 'neutral';
const tones: Readonly<Record<ToldEvent, Tone>> = {
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

/** With how much is down in all, for a list of titles: a mailbox, a phone. */
export const subject = (told: Told): string => {
  // What somebody is on is down all the same.
  const own = told.monitors.filter(({ event }) => event === 'down' || event === 'reminder' || event === 'acknowledged');
  const inAll = told.others_down.count + own.length;
  return told.others_down.count > 0 ? `${title(told)} (${inAll} down in all)` : title(told);
};

/** What else is down, or that all else is up. */
export const others = ({ others_down: { count, names }, event }: Told): string | undefined => {
  if (event === 'test') return undefined;
  if (count === 0) return 'All else is up.';
  const shown = names.slice(0, 5).map((name) => cut(clean(name), 80));
  const more = count - shown.length;
  if (shown.length === 0) return `${count} ${count === 1 ? 'other is' : 'others are'} down as well.`;
  return `Down as well: ${shown.join(', ')}${more > 0 ? ` and ${more} more` : ''}.`;
};

const lasted = ({ started_at, resolved_at }: ToldMonitor, until: number): string => durationText((resolved_at ?? until) - started_at);

/** What became of one, without its name. */
export const outcome = (monitor: ToldMonitor, at: number): string => {
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
      return `down for ${lasted(monitor, at)} by now: ${cause}`;
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
export const facts = (monitor: ToldMonitor, at: number): Fact[] =>
  [
    { label: 'What', value: monitor.target },
    { label: 'Cause', value: monitor.cause },
    { label: 'Since', value: instant(monitor.started_at) },
    { label: 'Over', value: monitor.resolved_at === null ? null : `${instant(monitor.resolved_at)}, after ${lasted(monitor, at)}` },
    { label: 'Seen from', value: monitor.seen_from },
    { label: 'Confirmed from', value: monitor.confirmed_from },
    { label: 'By continent', value: monitor.matrix },
    { label: 'Group', value: monitor.group },
  ].flatMap(({ label, value }) => (value === null || clean(value) === '' ? [] : [{ label, value: clean(value) }]));

export type Link = { readonly label: string; readonly url: string };

/** Where a reader may go from here, the most wanted first. */
export const links = ({ links: given, event }: Told): Link[] => [
  ...(event === 'test' ? [] : [{ label: 'See what happened', url: given.incident }]),
  ...(given.acknowledge === null ? [] : [{ label: 'Acknowledge', url: given.acknowledge }]),
  ...(event === 'test' ? [] : [{ label: 'Why you were told', url: given.why }]),
  { label: 'Settings of this channel', url: given.channel },
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

/** One line for each, under the names of their groups, as `line` writes them. */
export const listed = (
  told: Told,
  line: (name: string, outcome: string) => string,
  heading: (group: string) => string,
): { readonly text: string; readonly isHeading?: boolean }[] => {
  let group: string | null = null;
  return told.monitors.flatMap((monitor) => {
    const isNew = monitor.group !== null && monitor.group !== group;
    group = monitor.group;
    const text = line(cut(clean(monitor.name), 120), cut(outcome(monitor, told.at), 200));
    return isNew ? [{ text: heading(cut(clean(group ?? ''), 120)), isHeading: true }, { text }] : [{ text }];
  });
};

/** The body for a medium of plain text: facts of the one, or a line for each; then what else is down. */
export const plainBody = (told: Told, most: number, measure: (text: string) => number = (one) => one.length): string => {
  const [only] = told.monitors;
  const last = others(told);
  const room = last === undefined ? most : most - measure(last) - 2;
  const lines =
    told.monitors.length === 1 && only !== undefined
      ? facts(only, told.at).map(({ label, value }) => ({ text: `${label}: ${cut(value, 500)}` }))
      : listed(
          told,
          (name, what) => `• ${name}: ${what}`,
          (group) => `${group}:`,
        );
  const body = room > 30 ? fitting(lines, room, measure).join('\n') : '';
  return cut([body, last].filter((part) => part !== undefined && part !== '').join('\n\n'), most, measure);
};
