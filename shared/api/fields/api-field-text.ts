import { isRecord } from '../../base/json-record.ts';
import { bad, type Field, good, type JsonSchema } from './api-field.ts';

/** Half a surrogate pair is no text for pydantic. NUL is, and is the domain's to refuse. */
export const string = (more: JsonSchema = {}): Field<string> => ({
  schema: { type: 'string', ...more },
  components: [],
  parse: (input, place) => {
    if (typeof input !== 'string') return bad('string_type', place, 'Input should be a valid string', input);
    return input.isWellFormed()
      ? good(input)
      : bad('string_unicode', place, 'Input should be a valid string, unable to parse raw data as a unicode string', input);
  },
});

/** A string of at most so many characters, where no rule behind it counts them. */
export const shortString = (most: number): Field<string> => {
  const field = string({ maxLength: most });
  return {
    ...field,
    parse: (input, place) => {
      const parsed = field.parse(input, place);
      if (!parsed.ok || [...parsed.value].length <= most) return parsed;
      return bad('string_too_long', place, `String should have at most ${most} characters`, input, { max_length: most });
    },
  };
};

/** An object with free keys, passed through as it came: what it may hold is the domain's to say. */
export const dict = (more: JsonSchema = {}): Field<Readonly<Record<string, unknown>>> => ({
  schema: { type: 'object', additionalProperties: true, ...more },
  components: [],
  parse: (input, place) => (isRecord(input) ? good(input) : bad('dict_type', place, 'Input should be a valid dictionary', input)),
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
