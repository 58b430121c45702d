import { bad, described, type Field, good, type More } from './fields.ts';

/**
 * A moment as a caller may write it: with an offset an instant, without one a local time in the
 * organisation's time zone.
 */
export type Moment =
  | { readonly is: 'instant'; readonly at: number }
  /** ISO local date and time with milliseconds and no zone, e.g. 2026-11-20T02:00:00.000. */
  | { readonly is: 'local'; readonly local: string };

/** A form that any client can write. Other forms remain accepted, such as seconds since 1970. */
export const written = {
  pattern: [
    '^[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])[T ](?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:[.][0-9]{1,9})?)?',
    '(?:Z|[+-](?:[01][0-9]|2[0-3]):?[0-5][0-9])?$',
  ].join(''),
};

/**
 * A date-time in a request. Unix times are accepted too, as in pydantic. Described as a text:
 * clients generated from `date-time` use a type that always has an offset, and could not send a
 * local time.
 */
export function moment(more: More = {}): Field<Moment> {
  return {
    ...described({ type: 'string' }, more),
    components: [],
    parse: (input, place) => {
      if (typeof input !== 'number' && typeof input !== 'bigint' && typeof input !== 'string')
        return bad('datetime_type', place, 'Input should be a valid datetime', input);
      const read = typeof input === 'string' ? fromText(input) : fromStamp(Number(input));
      if ('moment' in read) return good(read.moment);
      // Only a text that is no moment is then tried as a date; the fault describes that attempt.
      return typeof input !== 'string' || read.fault === yearZero || read.fault === beyond
        ? bad('datetime_parsing', place, `Input should be a valid datetime, ${read.fault}`, input, {
            error: read.fault,
          })
        : bad(
            'datetime_from_date_parsing',
            place,
            `Input should be a valid datetime or date, ${read.fault}`,
            input,
            { error: read.fault },
          );
    },
  };
}

type Read = { readonly moment: Moment } | { readonly fault: string };

const timeText =
  /^[Tt _]([01]\d|2[0-3]):([0-5]\d)(?::([0-5]\d)(?:[.,](\d+))?)?(?:([Zz])|([+\-\u2212])([01]\d|2[0-3]):?([0-5]\d))?$/;
const stampText = /^[+-]?(?:\d+|\d+\.\d*(?:e[+-]?\d+)?|\.\d+(?:e[+-]?\d+)?)$/i;
const wholeStampText = /^[+-]?\d+$/;

export const lastStamp = Date.parse('9999-12-31T23:59:59.999Z');
const firstStamp = Date.parse('0000-01-01T00:00:00.000Z');
export const yearOne = Date.parse('0001-01-01T00:00:00.000Z');
const yearZero = 'year 0 is out of range';
const beyond = 'its time in UTC is outside the years 1 to 9999';
// Above this, pydantic reads a Unix time as milliseconds.
const watershed = 2e10;

function fromStamp(stamp: number): Read {
  const at = Math.abs(stamp) > watershed ? Math.floor(stamp) : Math.floor(stamp * 1000);
  if (at > lastStamp) return { fault: 'dates after 9999 are not supported as unix timestamps' };
  if (at < firstStamp) return { fault: 'dates before 0000 are not supported as unix timestamps' };
  return at < yearOne ? { fault: yearZero } : { moment: { is: 'instant', at } };
}

const extra = 'unexpected extra characters at the end of the input';

function fromText(text: string): Read {
  const fault = dateFault(text);
  if (fault !== undefined) {
    if (!stampText.test(text)) return { fault };
    const read = fromStamp(Number(text));
    return 'fault' in read && !wholeStampText.test(text) ? { fault } : read;
  }
  const rest = text.slice(10);
  if (text.startsWith('0000') && (rest === '' || timeText.test(rest))) return { fault: yearZero };
  if (rest === '') return { moment: { is: 'local', local: `${text}T00:00:00.000` } };
  const match = timeText.exec(rest);
  if (!match) return { fault: extra };
  const [, hour, minute, second = '00', fraction = '', zulu, sign, offsetHours, offsetMinutes] =
    match;
  const local = `${text.slice(0, 10)}T${hour}:${minute}:${second}.${fraction.padEnd(3, '0').slice(0, 3)}`;
  if (zulu === undefined && sign === undefined) return { moment: { is: 'local', local } };
  const offset =
    sign === undefined ? 0 : (Number(offsetHours) * 60 + Number(offsetMinutes)) * 60_000;
  const at = Date.parse(`${local}Z`) - (sign === '+' ? offset : -offset);
  return at < yearOne || at > lastStamp ? { fault: beyond } : { moment: { is: 'instant', at } };
}

const digits = /^\d+$/;

/**
 * What is wrong with the date at the beginning of a text, in the words and order of pydantic's
 * parser.
 */
function dateFault(text: string): string | undefined {
  if (new TextEncoder().encode(text).length < 10) return 'input is too short';
  if (!digits.test(text.slice(0, 4))) return 'invalid character in year';
  if (text[4] !== '-') return 'invalid date separator, expected `-`';
  if (!digits.test(text.slice(5, 7))) return 'invalid character in month';
  if (text[7] !== '-') return 'invalid date separator, expected `-`';
  if (!digits.test(text.slice(8, 10))) return 'invalid character in day';
  const [year, month, day] = [
    Number(text.slice(0, 4)),
    Number(text.slice(5, 7)),
    Number(text.slice(8, 10)),
  ];
  if (month < 1 || month > 12) return 'month value is outside expected range of 1-12';
  const leap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  const most = month === 2 ? (leap ? 29 : 28) : [4, 6, 9, 11].includes(month) ? 30 : 31;
  return day < 1 || day > most ? 'day value is outside expected range' : undefined;
}
