import type { OutputOf } from '../../../shared/api/operation.ts';
import { capital } from '../../../shared/base/text.ts';
import type { Choices } from '../../web/elements.ts';
import { type Form, formOf } from '../../web/form-data.ts';
import { type Html, html, icon } from '../../web/html.ts';
import type { MembersRequest } from '../../web/page.ts';
import { stacked, table } from '../../web/tables.ts';
import { timesIn as timesInImport } from '../../web/times.ts';
import type { showMaintenanceWindow } from '../contract.ts';

/** How a window repeats: the usual choices, and the rule of each. */

export const repeatChoices = [
  'once',
  'daily',
  'weekdays',
  'weekly',
  'monthly_day',
  'monthly_nth',
  'monthly_last',
  'own',
] as const;
export type RepeatChoice = (typeof repeatChoices)[number];

export const weekdays = ['MO', 'TU', 'WE', 'TH', 'FR', 'SA', 'SU'] as const;

const workdays = 'MO,TU,WE,TH,FR';

export function repeatOf(form: Form): RepeatChoice {
  return repeatChoices.find((each) => each === form.value('repeats')) ?? 'once';
}

/** The rule that a form asks for; empty for a window without repetition. */
export function ruleIn(form: Form): string {
  const starts = form.value('starts_at') ?? '';
  const repeats = repeatOf(form);
  if (repeats === 'once') return '';
  if (repeats === 'own') return form.value('rrule') ?? '';
  const chosen = weekdays.filter((day) => form.values('days[]').includes(day));
  const rules = {
    daily: 'FREQ=DAILY',
    weekdays: `FREQ=WEEKLY;BYDAY=${workdays}`,
    weekly: chosen.length === 0 ? 'FREQ=WEEKLY' : `FREQ=WEEKLY;BYDAY=${chosen.join(',')}`,
    monthly_day: 'FREQ=MONTHLY',
    monthly_nth: `FREQ=MONTHLY${nthDay(starts)}`,
    monthly_last: `FREQ=MONTHLY${lastDay(starts)}`,
  };
  const until = (form.value('until') ?? '').replaceAll('-', '');
  return until === '' ? rules[repeats] : `${rules[repeats]};UNTIL=${until}`;
}

/** Not every month has a fifth one: there the last is meant. */
function nthDay(local: string): string {
  const place = placeOf(local);
  if (!place) return '';
  return `;BYDAY=${place.nth === 5 ? -1 : place.nth}${place.weekday}`;
}

type Weekday = (typeof weekdays)[number];

/** The weekday of a local time and its place in the month; undefined for an invalid time. */
function placeOf(local: string): { readonly weekday: Weekday; readonly nth: number } | undefined {
  const at = Date.parse(`${local.slice(0, 10)}T00:00:00Z`);
  if (Number.isNaN(at)) return undefined;
  const date = new Date(at);
  return {
    weekday: weekdays[(date.getUTCDay() + 6) % 7] ?? 'MO',
    nth: Math.ceil(date.getUTCDate() / 7),
  };
}

function lastDay(local: string): string {
  const place = placeOf(local);
  return place ? `;BYDAY=-1${place.weekday}` : '';
}

type Chosen = {
  readonly repeats: RepeatChoice;
  readonly days: readonly string[];
  readonly until: string;
};

/**
 * The choice that matches a rule; any other rule is a custom rule. `starts`: its first local time.
 */
export function chosenOf(
  rrule: string | null,
  starts: string,
): Chosen & { readonly rrule: string } {
  if (rrule === null) return { repeats: 'once', days: [], until: '', rrule: '' };
  const parts = rrule.toUpperCase().split(';');
  const ends = parts.find((part) => part.startsWith('UNTIL='));
  const [, year, month, day] = /^UNTIL=(\d{4})(\d{2})(\d{2})$/.exec(ends ?? '') ?? [];
  const usual = usualOf(
    parts.filter((part) => part !== ends),
    starts,
  );
  if (usual === undefined || (ends !== undefined && year === undefined))
    return { repeats: 'own', days: [], until: '', rrule };
  return { ...usual, until: year === undefined ? '' : `${year}-${month}-${day}`, rrule: '' };
}

function usualOf(
  rest: readonly string[],
  starts: string,
): Pick<Chosen, 'repeats' | 'days'> | undefined {
  const rule = rest.join(';');
  const byday = /^FREQ=WEEKLY;BYDAY=((?:MO|TU|WE|TH|FR|SA|SU)(?:,(?:MO|TU|WE|TH|FR|SA|SU))*)$/.exec(
    rule,
  )?.[1];
  if (rule === 'FREQ=DAILY') return { repeats: 'daily', days: [] };
  if (byday === workdays) return { repeats: 'weekdays', days: [] };
  if (byday !== undefined || rule === 'FREQ=WEEKLY')
    return { repeats: 'weekly', days: byday?.split(',') ?? [] };
  if (rule === 'FREQ=MONTHLY') return { repeats: 'monthly_day', days: [] };
  if (rule === `FREQ=MONTHLY${lastDay(starts)}`) return { repeats: 'monthly_last', days: [] };
  return rule === `FREQ=MONTHLY${nthDay(starts)}`
    ? { repeats: 'monthly_nth', days: [] }
    : undefined;
}

/** Converts between a window and the fields of its form. */
export type Shown = OutputOf<typeof showMaintenanceWindow>;
export type Window = Shown['window'];

export const usualLengths_s = [900, 1_800, 3_600, 7_200, 14_400, 28_800, 86_400];

export function isNow(form: Form): boolean {
  return form.value('when') === 'now';
}

/** The times in the form. */
export function timesIn(
  form: Form,
  now: number,
): Readonly<Record<'starts_at' | 'ends_at' | 'rrule', string>> {
  if (!isNow(form)) {
    const [typed, ends] = [form.value('starts_at') ?? '', form.value('ends_at') ?? ''];
    const repeats = repeatOf(form);
    const days =
      repeats === 'weekdays'
        ? workdays.split(',')
        : repeats === 'weekly'
          ? form.values('days[]')
          : [];
    // A window on Sundays does not begin on the Monday that the field happened to show.
    const starts_at = onChosenDay(typed, days);
    const ends_at = shifted(ends, daysBetween(typed, starts_at));
    return { starts_at, ends_at, rrule: ruleIn(form) };
  }
  const long = Number(form.value('for_s') ?? 3_600);
  const ends_at = new Date(now + (Number.isFinite(long) ? long : 0) * 1_000).toISOString();
  return { starts_at: new Date(now).toISOString(), ends_at, rrule: '' };
}

function shifted(local: string, days: number): string {
  const at = Date.parse(`${local}Z`);
  return days === 0 || Number.isNaN(at)
    ? local
    : new Date(at + days * 86_400_000).toISOString().slice(0, local.length);
}

/** The first of the chosen weekdays at or after a local time. */
function onChosenDay(local: string, days: readonly string[]): string {
  const place = placeOf(local);
  if (place === undefined || days.length === 0) return local;
  const first = weekdays.indexOf(place.weekday);
  const later = weekdays.findIndex((_, by) => days.includes(weekdays[(first + by) % 7] ?? ''));
  return shifted(local, Math.max(0, later));
}

function daysBetween(from: string, to: string): number {
  return Math.round((Date.parse(`${to}Z`) - Date.parse(`${from}Z`)) / 86_400_000) || 0;
}

/** Empty times are left out, so that they are reported as missing. */
export function inputIn(form: Form, now: number): Readonly<Record<string, unknown>> {
  const { starts_at, ends_at, rrule } = timesIn(form, now);
  return {
    name: form.value('name') ?? '',
    rrule,
    monitors: form.values('monitors[]'),
    groups: form.values('groups[]'),
    ...(starts_at === '' ? {} : { starts_at }),
    ...(ends_at === '' ? {} : { ends_at }),
  };
}

const hour = 3_600_000;

/** For a new window: the next whole hour but one, for an hour. */
export function formOfNew(
  query: Readonly<Record<string, string>>,
  zone: string,
  now: number,
): Form {
  const begins = (Math.floor(now / hour) + 2) * hour;
  return formOf({
    name: query.name,
    when: query.when === 'now' ? 'now' : 'planned',
    for_s: 3_600,
    repeats: 'once',
    starts_at: fieldTime(begins, zone),
    ends_at: fieldTime(begins + hour, zone),
    time_zone: zone,
    'monitors[]': query.monitor?.split(','),
    'groups[]': query.group,
  });
}

/** `2026-11-24T02:00`, as a field takes it: local time in a zone. */
function fieldTime(at: string | number, zone: string): string {
  return new Intl.DateTimeFormat('sv-SE', {
    timeZone: zone,
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  })
    .format(new Date(at))
    .replace(' ', 'T');
}

const fieldLength = '2026-11-24T02:00'.length;

export function formOfWindow({
  window: { name, rrule, monitors, groups },
  local_start,
  local_end,
}: Shown): Form {
  const starts = local_start.slice(0, fieldLength);
  const { repeats, days, until, rrule: own } = chosenOf(rrule, starts);
  return formOf({
    name,
    when: 'planned',
    starts_at: starts,
    ends_at: local_end.slice(0, fieldLength),
    repeats,
    until,
    rrule: own,
    'days[]': days,
    'monitors[]': monitors,
    'groups[]': groups,
  });
}

type UpcomingWindow = Pick<Window, 'time_zone' | 'repeats' | 'next_occurrences'>;

/** When a window is, in both time zones. */
export function upcomingTable(window: UpcomingWindow, request: MembersRequest): Html {
  const { own, other, beside } = bothZones(window, request);
  return table(
    window.next_occurrences.map((each) => ({
      [window.time_zone]: stacked(
        html`
          ${own.span(each.starts_at, each.ends_at)}
          ${Date.parse(each.starts_at) <= request.now && html` <b class="state-maintenance">active</b>`}
        `,
        ...clockNotes(each),
      ),
      ...(beside && { [other]: beside.span(each.starts_at, each.ends_at) }),
    })),
    'Occurrences',
  );
}

/** The next one, or the last of a window that is over. */
export function occurrence(
  window: UpcomingWindow & Pick<Window, 'starts_at' | 'ends_at'>,
  request: MembersRequest,
  before = '',
): Html {
  const { own, other, beside } = bothZones(window, request);
  const { starts_at, ends_at, notes } = window.next_occurrences[0] ?? { ...window, notes: [] };
  return stacked(
    html`${before}${own.span(starts_at, ends_at)} ${before && own.zoneName(starts_at)}`,
    window.repeats === null && beside && html`${beside.span(starts_at, ends_at)} in ${other}`,
    ...clockNotes({ notes }),
  );
}

function clockNotes({ notes }: Pick<Window['next_occurrences'][number], 'notes'>): readonly Html[] {
  return notes.map((note) => html`<span class="clock-note">${icon('clock')}${note}</span>`);
}

function bothZones({ time_zone }: UpcomingWindow, { times, now }: MembersRequest) {
  const other = otherZone(time_zone, times.zone);
  return {
    own: timesInImport(time_zone, now),
    other: other ?? '',
    beside: other === undefined ? undefined : timesInImport(other, now),
  };
}

/** The zone shown beside that of the window: the reader's if it differs, otherwise UTC. */
function otherZone(zone: string, reader: string): string | undefined {
  if (reader !== zone) return reader;
  return zone === 'UTC' ? undefined : 'UTC';
}

/** The occurrences of an unsaved form. */
export function preview(ahead: UpcomingWindow | string, request: MembersRequest): Html {
  if (typeof ahead === 'string') return html`<p class="soft">${ahead}</p>`;
  const { repeats, next_occurrences } = ahead;
  const [first] = next_occurrences;
  if (!first) return html`<p class="soft">This time is in the past.</p>`;
  if (repeats === null) return occurrence({ ...ahead, ...first }, request, 'Once: ');
  const count = next_occurrences.length;
  return html`
    <p>
      <b>${capital(repeats)}.</b> <span class="soft">
        ${count === 1 ? 'One occurrence left:' : `Next ${count}:`}
      </span>
    </p>
    ${upcomingTable(ahead, request)}
  `;
}

/** The title of a window, which may have no name. */
export function titleFrom(name: string | null, covers: readonly string[], count: number): string {
  if (name !== null) return name;
  const [first] = covers;
  if (first === undefined) return 'Maintenance of deleted monitors';
  return count === 1 ? `Maintenance of ${first}` : `Maintenance of ${first} and ${count - 1} more`;
}

export function titleOf(
  { name, monitors, groups }: Pick<Window, 'name' | 'monitors' | 'groups'>,
  choices: Choices,
): string {
  const among = (all: Choices['groups'], ids: readonly string[]): string[] =>
    all.flatMap((each) => (ids.includes(each.id) ? [each.name] : []));
  const covers = [...among(choices.groups, groups), ...among(choices.monitors, monitors)];
  return titleFrom(name, covers, covers.length);
}
