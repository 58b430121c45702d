import { bad, type Field, good, type JsonSchema } from './api-field.ts';

const urn = 'urn:uuid:';
const hyphenated = /^([0-9a-f]{8})-([0-9a-f]{4})-([0-9a-f]{4})-([0-9a-f]{4})-([0-9a-f]{12})$/i;
const simple = /^([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})$/i;

const sizeOf = (text: string): number => new TextEncoder().encode(text).length;

const unwrapped = (text: string): { readonly inner: string; readonly offset: number } => {
  if (text.length > 1 && text.startsWith('{') && text.endsWith('}')) return { inner: text.slice(1, -1), offset: 1 };
  if (text.startsWith(urn)) return { inner: text.slice(urn.length), offset: urn.length };
  return { inner: text, offset: 0 };
};

// Where each group begins; the last entry is where the last group does.
const starts = [0, 9, 14, 19, 24] as const;
const lengths = [8, 4, 4, 4, 12] as const;

/** What is wrong with a text that is no UUID, in the words of the parser that pydantic uses. Positions count bytes, as there. */
const faultOf = (text: string): string => {
  const { inner, offset } = unwrapped(text);
  const hyphens: number[] = [];
  let at = 0;
  for (const character of inner) {
    if (character === '-') hyphens.push(at);
    else if (!/^[0-9a-f]$/i.test(character)) return `invalid character: found \`${character}\` at ${at + offset + 1}`;
    at += sizeOf(character);
  }
  if (hyphens.length === 0 && offset === 0) return `invalid length: expected length 32 for simple format, found ${text.length}`;
  if (hyphens.length !== 4) return `invalid group count: expected 5, found ${hyphens.length + 1}`;
  const ends = [...hyphens, text.length];
  const group = starts.findIndex((start, index) => index === 4 || ends[index] !== start + (lengths[index] ?? 0));
  return `invalid group length in group ${group}: expected ${lengths[group]}, found ${(ends[group] ?? 0) - (starts[group] ?? 0)}`;
};

/** A full-length text in braces or behind urn:uuid: is judged without them, so that positions then count from its inside. */
const judged = (text: string): string => {
  const { inner, offset } = unwrapped(text);
  return offset > 0 && sizeOf(inner) === 36 ? inner : text;
};

/** A UUID in any of the forms that pydantic takes, given on in lower case with dashes. */
export const uuid = (more: JsonSchema = {}): Field<string> => ({
  schema: { type: 'string', format: 'uuid', ...more },
  components: [],
  parse: (input, place) => {
    if (typeof input !== 'string') return bad('uuid_type', place, 'UUID input should be a string, bytes or UUID object', input);
    const text = judged(input);
    const match = hyphenated.exec(text) ?? simple.exec(text);
    if (match) return good(match.slice(1).join('-').toLowerCase());
    const error = faultOf(text);
    return bad('uuid_parsing', place, `Input should be a valid UUID, ${error}`, input, { error });
  },
});
