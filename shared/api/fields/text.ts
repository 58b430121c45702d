import { bad, type Fault, type Field, good, isRecord, type JsonSchema, type Place } from './field.ts';

const notText = { type: 'string_unicode', msg: 'Input should be a valid string, unable to parse raw data as a unicode string' } as const;

/** Whether a text can be kept: half a surrogate pair is no text, and Postgres has no place for NUL. */
const isText = (text: string): boolean => text.isWellFormed() && !text.includes('\0');

export const string = (more: JsonSchema = {}): Field<string> => ({
  schema: { type: 'string', ...more },
  components: [],
  parse: (input, place) => {
    if (typeof input !== 'string') return bad('string_type', place, 'Input should be a valid string', input);
    return isText(input) ? good(input) : bad(notText.type, place, notText.msg, input);
  },
});

/** What inside free-form JSON cannot be kept as it came. */
const strangeFaults = (input: unknown, place: Place): readonly Fault[] => {
  if (typeof input === 'string') return isText(input) ? [] : [{ ...notText, loc: place, input }];
  if (typeof input === 'number' && !Number.isFinite(input))
    return [{ type: 'finite_number', loc: place, msg: 'Input should be a finite number', input }];
  if (Array.isArray(input)) return input.flatMap((item, position) => strangeFaults(item, [...place, position]));
  if (!isRecord(input)) return [];
  return Object.entries(input).flatMap(([key, value]) => [
    ...(isText(key) ? [] : [{ ...notText, loc: [...place, key, '[key]'], input: key }]),
    ...strangeFaults(value, [...place, key]),
  ]);
};

/** An object with free keys, passed through as it came. */
export const dict = (more: JsonSchema = {}): Field<Readonly<Record<string, unknown>>> => ({
  schema: { type: 'object', additionalProperties: true, ...more },
  components: [],
  parse: (input, place) => {
    if (!isRecord(input)) return bad('dict_type', place, 'Input should be a valid dictionary', input);
    const faults = strangeFaults(input, place);
    return faults.length === 0 ? good(input) : { ok: false, faults };
  },
});

/** One of a few strings, exactly. */
export const literal = <const Values extends readonly [string, ...string[]]>(
  values: Values,
  more: JsonSchema = {},
): Field<Values[number]> => {
  const quoted = values.map((value) => `'${value}'`);
  const last = quoted.at(-1) ?? '';
  const expected = quoted.length === 1 ? last : `${quoted.slice(0, -1).join(', ')} or ${last}`;
  return {
    schema: { type: 'string', enum: [...values], ...more },
    components: [],
    parse: (input, place) => {
      const found = values.find((value) => value === input);
      return found === undefined ? bad('literal_error', place, `Input should be ${expected}`, input, { expected }) : good(found);
    },
  };
};
