import { InvalidInput } from '../../../shared/api/operation.ts';
import { Refusal } from '../../../shared/base/errors.ts';
import { lossyNumberIn } from '../../../shared/base/json.ts';
import { textOfJson } from './rest-json-encoding.ts';
import { jsonFault } from './rest-json-fault.ts';

export const bodyLimit = 64 * 1024;
/** Where an operation takes many ids or things at once. */
export const largeBodyLimit = 2 * 1024 * 1024;

// Enough for any config that the domain takes, and far from what would exhaust the stack of whoever walks the value.
const mostDepth = 500;

// A byte order mark is a part of a text that is echoed as it came.
const lenientUtf8 = new TextDecoder('utf-8', { ignoreBOM: true });

/** Whether a Content-Type says JSON: application/json or application/<something>+json, whatever its parameters. */
const isJsonMediaType = (header: string | undefined): boolean => {
  const type = (header ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
  return type === 'application/json' || /^application\/[^/\s]*\+json$/.test(type);
};

/** How deep brackets nest, strings left out. */
const depthOf = (text: string): number => {
  let depth = 0;
  let deepest = 0;
  for (const [mark] of text.matchAll(/"(?:[^"\\]|\\.)*"?|[[\]{}]/gs)) {
    if (mark === '{' || mark === '[') deepest = Math.max(deepest, ++depth);
    else if (mark === '}' || mark === ']') depth--;
  }
  return deepest;
};

export const isTooDeep = (text: string): boolean => depthOf(text) > mostDepth;

const unreadable = (): Refusal =>
  new Refusal(
    'request_malformed',
    'There was an error parsing the body: it must be JSON in UTF-8, UTF-16 or UTF-32, not nested deeper than any value needs.',
  );

const decoded = (bytes: Uint8Array): string => {
  try {
    return textOfJson(bytes);
  } catch (error) {
    if (error instanceof TypeError) throw unreadable();
    throw error;
  }
};

// The runtime knows both; the compiler's library does not yet.
declare global {
  interface JSON {
    rawJSON(text: string): object;
  }
}

// As many as Python reads of a whole number before it calls the body unreadable.
const mostDigits = 4300;
const wholeNumber = /^-?\d+$/;

/** Given the text of each number, keeps whole ones that a number would lose digits of. */
const exactly = (_key: string, value: unknown, ...[context]: readonly { readonly source?: string }[]): unknown => {
  const source = typeof value === 'number' ? context?.source : undefined;
  if (source === undefined || !wholeNumber.test(source)) return value;
  if (source.length > mostDigits) throw unreadable();
  return lossyNumberIn(source) === undefined ? value : BigInt(source);
};

/** The text of an answer that may echo what came, each whole number with all its digits. */
export const exactText = (body: unknown): string =>
  JSON.stringify(body, (_key, value: unknown) => (typeof value === 'bigint' ? JSON.rawJSON(String(value)) : value));

/**
 * A request's body as FastAPI hands it to its models: nothing when empty, JSON when the media type says so, else the text itself,
 * which no model takes. A whole number that would lose digits is a bigint.
 */
export const readBody = (bytes: Uint8Array | undefined, mediaType: string | undefined): unknown => {
  if (bytes === undefined || bytes.length === 0) return undefined;
  if (!isJsonMediaType(mediaType)) return lenientUtf8.decode(bytes);
  const text = decoded(bytes);
  if (isTooDeep(text)) throw unreadable();
  try {
    return lossyNumberIn(text) === undefined ? JSON.parse(text) : JSON.parse(text, exactly);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    const fault = jsonFault(text);
    throw new InvalidInput([
      { type: 'json_invalid', loc: ['body', fault.at], msg: 'JSON decode error', input: {}, ctx: { error: fault.error } },
    ]);
  }
};
