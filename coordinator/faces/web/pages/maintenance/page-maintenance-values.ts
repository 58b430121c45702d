import type { getMaintenanceWindow } from '../../../../../shared/api/maintenance.ts';
import type { OutputOf } from '../../../../../shared/api/operation.ts';
import { type Form, formOf } from '../../web-form-data.ts';
import { chosenOf, ruleIn } from './page-maintenance-repeat.ts';

/** Between a window and the fields of its form. */

export type Window = OutputOf<typeof getMaintenanceWindow>;

export const usualLengths_s = [900, 1_800, 3_600, 7_200, 14_400, 28_800, 86_400];

export const isNow = (form: Form): boolean => form.value('when') === 'now';

/** When the form says that it is. */
export const timesIn = (form: Form, now: number): Readonly<Record<'starts_at' | 'ends_at' | 'rrule', string>> => {
  if (!isNow(form)) return { starts_at: form.value('starts_at') ?? '', ends_at: form.value('ends_at') ?? '', rrule: ruleIn(form) };
  const long = Number(form.value('for_s') ?? 3_600);
  const ends_at = new Date(now + (Number.isFinite(long) ? long : 0) * 1_000).toISOString();
  return { starts_at: new Date(now).toISOString(), ends_at, rrule: '' };
};

/** Empty times are left out, so that what is missing is said as that. */
export const inputIn = (form: Form, now: number): Readonly<Record<string, unknown>> => {
  const { starts_at, ends_at, rrule } = timesIn(form, now);
  return {
    ...{ name: form.value('name') ?? '', rrule, monitors: form.values('monitors[]'), groups: form.values('groups[]') },
    ...(starts_at === '' ? {} : { starts_at }),
    ...(ends_at === '' ? {} : { ends_at }),
  };
};

/** `2026-11-24T02:00`, as a field takes it: what the clock of a zone shows. */
const fieldTime = (at: string | number, zone: string): string =>
  new Intl.DateTimeFormat('sv-SE', {
    ...{ timeZone: zone, year: 'numeric', month: '2-digit', day: '2-digit', hour: '2-digit', minute: '2-digit', hourCycle: 'h23' },
  })
    .format(new Date(at))
    .replace(' ', 'T');

const hour = 3_600_000;

/** Of a window that is to be made: the next whole hour but one, for an hour. */
export const formOfNew = (query: Readonly<Record<string, string>>, zone: string, now: number): Form => {
  const begins = (Math.floor(now / hour) + 2) * hour;
  return formOf({
    ...{ name: query.name, when: query.when === 'now' ? 'now' : 'planned', for_s: 3_600, repeats: 'once' },
    ...{ starts_at: fieldTime(begins, zone), ends_at: fieldTime(begins + hour, zone) },
    'monitors[]': query.monitor,
    'groups[]': query.group,
  });
};

export const formOfWindow = ({ name, starts_at, ends_at, rrule, monitors, groups, time_zone }: Window): Form => {
  const starts = fieldTime(starts_at, time_zone);
  const { repeats, days, until, rrule: own } = chosenOf(rrule, starts);
  return formOf({
    ...{ name, when: 'planned', starts_at: starts, ends_at: fieldTime(ends_at, time_zone), repeats, until, rrule: own },
    ...{ 'days[]': days, 'monitors[]': monitors, 'groups[]': groups },
  });
};
