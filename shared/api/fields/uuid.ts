import { bad, type Field, good, type JsonSchema } from './field.ts';

const groups = [8, 4, 4, 4, 12] as const;

/** What is wrong with a text as a UUID, in the words of the parser that pydantic uses; undefined when nothing is. */
const uuidFault = (text: string): string | undefined => {
  const inner = text.startsWith('urn:uuid:')
    ? text.slice('urn:uuid:'.length)
    : text.startsWith('{') && text.endsWith('}')
      ? text.slice(1, -1)
      : text;
  const hex = inner.replaceAll('-', '');
  return /^[0-9a-fA-F]{32}$/.test(hex) ? undefined : `invalid length: expected length 32 for simple format, found ${inner.length}`;
};

/** A UUID in any of the forms that pydantic takes, given on in lower case with dashes. */
export const uuid = (more: JsonSchema = {}): Field<string> => ({
  schema: { type: 'string', format: 'uuid', ...more },
  components: [],
  parse: (input, place) => {
    if (typeof input !== 'string') return bad('uuid_type', place, 'UUID input should be a string, bytes or UUID object', input);
    const error = uuidFault(input);
    if (error !== undefined) return bad('uuid_parsing', place, `Input should be a valid UUID, ${error}`, input, { error });
    const hex = input.replace('urn:uuid:', '').replaceAll(/[-{}]/g, '').toLowerCase();
    let from = 0;
    const parts = groups.map((length) => {
      from += length;
      return hex.slice(from - length, from);
    });
    return good(parts.join('-'));
  },
});
