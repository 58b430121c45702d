import { bad, type Field, good, type JsonSchema } from './field.ts';

/** A moment as a caller may write it: with an offset an instant, without one a local time of the organisation's clock. */
export type Moment =
  | { readonly is: 'instant'; readonly at: number }
  /** ISO local date and time with milliseconds and no zone, e.g. 2026-11-20T02:00:00.000. */
  | { readonly is: 'local'; readonly local: string };

const shape = /^(\d{4})-(\d{2})-(\d{2})(?:[Tt _](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?\s*(?:([Zz])|([+-])(\d{2}):?(\d{2}))?)?$/;

const read = (text: string): Moment | undefined => {
  const match = shape.exec(text);
  if (!match) return undefined;
  const [, year, month, day, hour = '00', minute = '00', second = '00', fraction = '', zulu, sign, offsetHours = '0', offsetMinutes = '0'] =
    match;
  const local = `${year}-${month}-${day}T${hour}:${minute}:${second}.${fraction.padEnd(3, '0').slice(0, 3)}`;
  const at = Date.parse(`${local}Z`);
  // A date such as February 30 is taken over into March by Date, which is not what was written.
  if (Number.isNaN(at) || new Date(at).toISOString() !== `${local}Z`) return undefined;
  if (zulu === undefined && sign === undefined) return { is: 'local', local };
  const offset = (Number(offsetHours) * 60 + Number(offsetMinutes)) * 60_000;
  return { is: 'instant', at: sign === '-' ? at + offset : at - offset };
};

/** A date-time in an answer: UTC with Z and milliseconds. */
export const dateTime = (more: JsonSchema = {}): Field<string> => ({
  schema: { type: 'string', format: 'date-time', ...more },
  components: [],
  parse: (input, place) =>
    typeof input === 'string' ? good(input) : bad('datetime_type', place, 'Input should be a valid datetime', input),
});

/** A date-time in a request. */
export const moment = (more: JsonSchema = {}): Field<Moment> => ({
  schema: { type: 'string', format: 'date-time', ...more },
  components: [],
  parse: (input, place) => {
    if (typeof input !== 'string') return bad('datetime_type', place, 'Input should be a valid datetime', input);
    const value = read(input);
    const error = 'invalid character in year';
    return value
      ? good(value)
      : bad('datetime_from_date_parsing', place, `Input should be a valid datetime or date, ${error}`, input, { error });
  },
});
