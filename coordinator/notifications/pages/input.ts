import type { createChannel } from '../../../shared/api/channels.ts';
import type { InputOf } from '../../../shared/api/operation.ts';
import { type Form, formOf } from '../../web/form-data.ts';
import type { Channel, Kind } from './parts.ts';

/** Converts between the form of a channel and the input of its operations. */

/** The operation's limit of time spans. */
export const maxSpans = 21;

export function spanName(at: number, part: 'days[]' | 'from' | 'to'): string {
  return `hours.${at}.${part}`;
}

/** A browser's time field cannot show 24:00: the end of a day is the beginning of the next. */
const [endOfDay, midnight] = ['24:00', '00:00'];

/** The spans with at least one value. */
export function spansIn(form: Form): readonly ReturnType<typeof spanAt>[] {
  return Array.from({ length: maxSpans }, (_, at) => spanAt(form, at)).filter(
    ({ days, from, to }) => days.length > 0 || from !== '' || to !== '',
  );
}

function spanAt({ value, values }: Form, at: number) {
  return {
    days: values(spanName(at, 'days[]')).filter((day) => day !== ''),
    from: value(spanName(at, 'from')) ?? '',
    to: value(spanName(at, 'to')) ?? '',
  };
}

export function configIn(form: Form, { fields }: Kind): Readonly<Record<string, string>> {
  return Object.fromEntries(
    fields.flatMap(({ name, input }): [string, string][] => {
      const value = form.value(`config.${name}`);
      return value === undefined || value.trim() === '' || input === 'generated'
        ? []
        : [[name, value]];
    }),
  );
}

/** The input of both creating and updating. */
export function inputIn(form: Form, kind: Kind) {
  return {
    ...(form.value('name')?.trim() ? { name: form.value('name') } : {}),
    config: configIn(form, kind),
    covers: form.value('covers') ?? 'all',
    monitors: idsIn(form, 'monitors'),
    groups: idsIn(form, 'groups'),
    delay_s: form.value('delay_s') ?? '0',
    reminder_s: form.value('reminder_s') ?? '0',
    ...(form.value('warnings') === undefined ? {} : { warnings: form.value('warnings') }),
    hours: hoursFrom(form),
  };
}

function idsIn(form: Form, name: string): string[] {
  return form.values(`${name}[]`).filter((id) => id !== '');
}

type Hours = InputOf<typeof createChannel>['hours'];

/** A span without days means every day; without any span, notifications go out at any hour. */
function hoursFrom(form: Form): Hours {
  return {
    zone: form.value('hours.zone')?.trim() || null,
    spans: spansIn(form).map(({ days, from, to }) => ({
      days: (days.length === 0 ? ['1', '2', '3', '4', '5', '6', '7'] : days).map(Number),
      from,
      to: to === midnight ? endOfDay : to,
    })),
  };
}

export function formOfChannel(channel: Channel, kind: Kind): Form {
  return formOf({
    ...Object.fromEntries(
      kind.fields.map(({ name }) => [`config.${name}`, textOf(channel.config[name])]),
    ),
    name: channel.name,
    enabled: channel.enabled,
    covers: channel.covers,
    'monitors[]': channel.monitors,
    'groups[]': channel.groups,
    delay_s: channel.delay_s,
    reminder_s: channel.reminder_s ?? 0,
    warnings: channel.warnings,
    'hours.zone': channel.hours?.zone,
    ...Object.fromEntries(
      (channel.hours?.spans ?? []).flatMap(({ days, from, to }, at) => [
        [spanName(at, 'days[]'), days.map(String)],
        [spanName(at, 'from'), from],
        [spanName(at, 'to'), to === endOfDay ? midnight : to],
      ]),
    ),
  });
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
