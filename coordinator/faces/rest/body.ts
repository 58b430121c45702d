import { InvalidInput } from '../../../shared/api/errors.ts';
import { Refusal } from '../../../shared/base/refusal.ts';
import { jsonFault } from './json-fault.ts';

// Enough for any config that the domain takes, and far from what would exhaust the stack of whoever walks the value.
const mostDepth = 500;

const utf8 = new TextDecoder('utf-8', { fatal: true });
// A byte order mark is a part of a text that is echoed as it came.
const lenientUtf8 = new TextDecoder('utf-8', { ignoreBOM: true });

/** Whether a Content-Type says JSON: application/json or application/<something>+json, whatever its parameters. */
export const isJsonMediaType = (header: string | undefined): boolean => {
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

const unreadable = (): Refusal =>
  new Refusal(
    'request_malformed',
    'There was an error parsing the body: it must be JSON in UTF-8, not nested deeper than any value needs.',
  );

const decoded = (bytes: Uint8Array): string => {
  try {
    return utf8.decode(bytes);
  } catch (error) {
    if (error instanceof TypeError) throw unreadable();
    throw error;
  }
};

/**
 * A request's body as FastAPI hands it to its models: nothing when empty, JSON when the media type says so, else the text itself,
 * which no model takes.
 */
export const readBody = (bytes: Uint8Array | undefined, mediaType: string | undefined): unknown => {
  if (bytes === undefined || bytes.length === 0) return undefined;
  if (!isJsonMediaType(mediaType)) return lenientUtf8.decode(bytes);
  const text = decoded(bytes);
  if (depthOf(text) > mostDepth) throw unreadable();
  try {
    return JSON.parse(text);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    const fault = jsonFault(text);
    throw new InvalidInput([
      { type: 'json_invalid', loc: ['body', fault.at], msg: 'JSON decode error', input: {}, ctx: { error: fault.error } },
    ]);
  }
};
