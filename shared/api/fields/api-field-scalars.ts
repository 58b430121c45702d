import { bad, type Field, good, type JsonSchema, type Parsed, type Place } from './api-field.ts';

const scalar = <T>(schema: JsonSchema, parse: Field<T>['parse']): Field<T> => ({ schema, parse, components: [] });

type Bounds = { readonly ge?: number; readonly le?: number };

const boundsSchema = ({ ge, le }: Bounds): JsonSchema => ({
  ...(le === undefined ? {} : { maximum: le }),
  ...(ge === undefined ? {} : { minimum: ge }),
});

const within = (value: number, { ge, le }: Bounds, input: unknown, place: Place): Parsed<number> => {
  if (le !== undefined && value > le) return bad('less_than_equal', place, `Input should be less than or equal to ${le}`, input, { le });
  if (ge !== undefined && value < ge)
    return bad('greater_than_equal', place, `Input should be greater than or equal to ${ge}`, input, { ge });
  return good(value === 0 ? 0 : value);
};

// Digits may be grouped by single underscores and followed by a fraction of zeros.
const integerText = /^[+-]?\d+(?:_\d+)*(?:\.0+)?$/;
const mostDigits = 4300;

const integerOf = (input: unknown, place: Place): Parsed<number> => {
  // A bigint is a whole number with more digits than a number keeps: beyond every bound that there is.
  if (typeof input === 'boolean' || typeof input === 'bigint') return good(Number(input));
  if (typeof input === 'number') {
    if (!Number.isFinite(input)) return bad('finite_number', place, 'Input should be a finite number', input);
    if (Number.isInteger(input)) return good(input);
    return bad('int_from_float', place, 'Input should be a valid integer, got a number with a fractional part', input);
  }
  if (typeof input !== 'string') return bad('int_type', place, 'Input should be a valid integer', input);
  const text = input.trim();
  if (!integerText.test(text))
    return bad('int_parsing', place, 'Input should be a valid integer, unable to parse string as an integer', input);
  if (text.length > mostDigits)
    return bad('int_parsing_size', place, 'Unable to parse input string as an integer, exceeded maximum size', input);
  return good(Number(text.replaceAll('_', '')));
};

export const integer = (bounds: Bounds = {}, more: JsonSchema = {}): Field<number> =>
  scalar({ type: 'integer', ...boundsSchema(bounds), ...more }, (input, place) => {
    const parsed = integerOf(input, place);
    return parsed.ok ? within(parsed.value, bounds, input, place) : parsed;
  });

const numberText = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i;

export const number = (more: JsonSchema = {}): Field<number> =>
  scalar({ type: 'number', ...more }, (input, place) => {
    if (typeof input === 'boolean' || typeof input === 'bigint') return good(Number(input));
    if (typeof input === 'number') return good(input);
    if (typeof input !== 'string') return bad('float_type', place, 'Input should be a valid number', input);
    return numberText.test(input.trim())
      ? good(Number(input))
      : bad('float_parsing', place, 'Input should be a valid number, unable to parse string as a number', input);
  });

const yes: readonly unknown[] = ['1', 'true', 't', 'yes', 'y', 'on', 1, true];
const no: readonly unknown[] = ['0', 'false', 'f', 'no', 'n', 'off', 0, false];

export const boolean = (more: JsonSchema = {}): Field<boolean> =>
  scalar({ type: 'boolean', ...more }, (input, place) => {
    const folded = typeof input === 'string' ? input.toLowerCase() : input;
    if (yes.includes(folded)) return good(true);
    if (no.includes(folded)) return good(false);
    return typeof input === 'string' || typeof input === 'bigint' || Number.isSafeInteger(input)
      ? bad('bool_parsing', place, 'Input should be a valid boolean, unable to interpret input', input)
      : bad('bool_type', place, 'Input should be a valid boolean', input);
  });
