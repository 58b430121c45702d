import type { Form } from '../../web-form-data.ts';

/** How a window repeats: the usual cases to choose from, and the rule that each is. */

export const repeatChoices = ['once', 'daily', 'weekdays', 'weekly', 'monthly_day', 'monthly_nth', 'monthly_last', 'own'] as const;
export type RepeatChoice = (typeof repeatChoices)[number];

export const weekdays = ['MO', 'TU', 'WE', 'TH', 'FR', 'SA', 'SU'] as const;

const workdays = 'MO,TU,WE,TH,FR';

/** The weekday of a local time, and which of its month it is; nothing when it is none. */
const placeOf = (local: string): { readonly weekday: string; readonly nth: number } | undefined => {
  const at = Date.parse(`${local.slice(0, 10)}T00:00:00Z`);
  if (Number.isNaN(at)) return undefined;
  const date = new Date(at);
  return { weekday: weekdays[(date.getUTCDay() + 6) % 7] ?? 'MO', nth: Math.ceil(date.getUTCDate() / 7) };
};

/** Of the fifth there is not one in every month: the last is meant. */
const nthDay = (local: string): string => {
  const place = placeOf(local);
  if (!place) return '';
  return `;BYDAY=${place.nth === 5 ? -1 : place.nth}${place.weekday}`;
};

const lastDay = (local: string): string => {
  const place = placeOf(local);
  return place ? `;BYDAY=-1${place.weekday}` : '';
};

export const repeatOf = (form: Form): RepeatChoice => repeatChoices.find((each) => each === form.value('repeats')) ?? 'once';

/** The rule that a form asks for; empty when it is to be once. */
export const ruleIn = (form: Form): string => {
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
};

type Chosen = { readonly repeats: RepeatChoice; readonly days: readonly string[]; readonly until: string };

const usualOf = (rest: readonly string[], starts: string): Pick<Chosen, 'repeats' | 'days'> | undefined => {
  const rule = rest.join(';');
  const byday = /^FREQ=WEEKLY;BYDAY=((?:MO|TU|WE|TH|FR|SA|SU)(?:,(?:MO|TU|WE|TH|FR|SA|SU))*)$/.exec(rule)?.[1];
  if (rule === 'FREQ=DAILY') return { repeats: 'daily', days: [] };
  if (byday === workdays) return { repeats: 'weekdays', days: [] };
  if (byday !== undefined || rule === 'FREQ=WEEKLY') return { repeats: 'weekly', days: byday?.split(',') ?? [] };
  if (rule === 'FREQ=MONTHLY') return { repeats: 'monthly_day', days: [] };
  if (rule === `FREQ=MONTHLY${lastDay(starts)}`) return { repeats: 'monthly_last', days: [] };
  return rule === `FREQ=MONTHLY${nthDay(starts)}` ? { repeats: 'monthly_nth', days: [] } : undefined;
};

/** The choice that a rule is; what is none of the usual ones is a rule of one's own. `starts`: its first local time. */
export const chosenOf = (rrule: string | null, starts: string): Chosen & { readonly rrule: string } => {
  if (rrule === null) return { repeats: 'once', days: [], until: '', rrule: '' };
  const parts = rrule.toUpperCase().split(';');
  const ends = parts.find((part) => part.startsWith('UNTIL='));
  const [, year, month, day] = /^UNTIL=(\d{4})(\d{2})(\d{2})$/.exec(ends ?? '') ?? [];
  const usual = usualOf(
    parts.filter((part) => part !== ends),
    starts,
  );
  if (usual === undefined || (ends !== undefined && year === undefined)) return { repeats: 'own', days: [], until: '', rrule };
  return { ...usual, until: year === undefined ? '' : `${year}-${month}-${day}`, rrule: '' };
};
