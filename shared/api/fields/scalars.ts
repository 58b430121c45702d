import { bad, type Field, good, type JsonSchema } from './field.ts';

const scalar = <T>(schema: JsonSchema, parse: Field<T>['parse']): Field<T> => ({ schema, parse, components: [] });

export const string = (more: JsonSchema = {}): Field<string> =>
  scalar({ type: 'string', ...more }, (input, place) =>
    typeof input === 'string' ? good(input) : bad('string_type', place, 'Input should be a valid string', input),
  );

type Bounds = { readonly ge?: number; readonly le?: number };

const boundsSchema = ({ ge, le }: Bounds): JsonSchema => ({
  ...(le === undefined ? {} : { maximum: le }),
  ...(ge === undefined ? {} : { minimum: ge }),
});

const within = (value: number, { ge, le }: Bounds, input: unknown, place: Parameters<Field<number>['parse']>[1]) => {
  if (le !== undefined && value > le) return bad('less_than_equal', place, `Input should be less than or equal to ${le}`, input, { le });
  if (ge !== undefined && value < ge)
    return bad('greater_than_equal', place, `Input should be greater than or equal to ${ge}`, input, { ge });
  return good(value);
};

// Digits may be grouped by single underscores and followed by a fraction of zeros, as pydantic takes them.
const integerText = /^\s*[+-]?\d+(?:_\d+)*(?:\.0*)?\s*$/;

export const integer = (bounds: Bounds = {}, more: JsonSchema = {}): Field<number> =>
  scalar({ type: 'integer', ...boundsSchema(bounds), ...more }, (input, place) => {
    if (typeof input === 'boolean') return within(Number(input), bounds, input, place);
    if (typeof input === 'number') {
      if (Number.isInteger(input)) return within(input, bounds, input, place);
      if (!Number.isFinite(input)) return bad('finite_number', place, 'Input should be a finite number', input);
      return bad('int_from_float', place, 'Input should be a valid integer, got a number with a fractional part', input);
    }
    if (typeof input !== 'string') return bad('int_type', place, 'Input should be a valid integer', input);
    if (!integerText.test(input))
      return bad('int_parsing', place, 'Input should be a valid integer, unable to parse string as an integer', input);
    return within(Number(input.trim().replaceAll('_', '')), bounds, input, place);
  });

export const number = (more: JsonSchema = {}): Field<number> =>
  scalar({ type: 'number', ...more }, (input, place) => {
    if (typeof input === 'boolean') return good(Number(input));
    if (typeof input === 'number') return good(input);
    if (typeof input !== 'string') return bad('float_type', place, 'Input should be a valid number', input);
    const value = input.trim() === '' ? Number.NaN : Number(input);
    return Number.isNaN(value)
      ? bad('float_parsing', place, 'Input should be a valid number, unable to parse string as a number', input)
      : good(value);
  });

const yes = new Set(['1', 'true', 't', 'yes', 'y', 'on']);
const no = new Set(['0', 'false', 'f', 'no', 'n', 'off']);

export const boolean = (more: JsonSchema = {}): Field<boolean> =>
  scalar({ type: 'boolean', ...more }, (input, place) => {
    if (typeof input === 'boolean') return good(input);
    if (input === 1 || input === 0) return good(input === 1);
    if (typeof input === 'string') {
      const folded = input.toLowerCase();
      if (yes.has(folded)) return good(true);
      if (no.has(folded)) return good(false);
      return bad('bool_parsing', place, 'Input should be a valid boolean, unable to interpret input', input);
    }
    if (typeof input === 'number') return bad('bool_parsing', place, 'Input should be a valid boolean, unable to interpret input', input);
    return bad('bool_type', place, 'Input should be a valid boolean', input);
  });

/** One of a few strings, exactly. */
export const literal = <const Values extends readonly [string, ...string[]]>(
  values: Values,
  more: JsonSchema = {},
): Field<Values[number]> => {
  const quoted = values.map((value) => `'${value}'`);
  const last = quoted.at(-1) ?? '';
  const expected = quoted.length === 1 ? last : `${quoted.slice(0, -1).join(', ')} or ${last}`;
  return scalar({ type: 'string', enum: [...values], ...more }, (input, place) => {
    const found = values.find((value) => value === input);
    return found === undefined ? bad('literal_error', place, `Input should be ${expected}`, input, { expected }) : good(found);
  });
};
