import { InvalidInput } from '../../shared/api/operation.ts';
import { Refusal } from '../../shared/base/errors.ts';
import { lossyNumberIn } from '../../shared/base/json.ts';

/** The text without a byte order mark. @throws TypeError when the bytes are not text. */
function textOfJson(bytes: Uint8Array): string {
  const encoding = encodingOf(bytes);
  const isWide = encoding === 'utf-32le' || encoding === 'utf-32be';
  const decoder = new TextDecoder(isWide ? 'utf-16le' : encoding, { fatal: true });
  return decoder.decode(isWide ? narrowed(bytes, encoding === 'utf-32le') : bytes);
}

/**
 * The Unicode encoding of a JSON text: JSON begins with ASCII characters, so the positions of zero
 * bytes reveal it (as in RFC 4627, and in Python).
 */
type Encoding = 'utf-8' | 'utf-16le' | 'utf-16be' | 'utf-32le' | 'utf-32be';

const marks: readonly (readonly [Encoding, readonly number[]])[] = [
  ['utf-32be', [0, 0, 0xfe, 0xff]],
  ['utf-32le', [0xff, 0xfe, 0, 0]],
  ['utf-16be', [0xfe, 0xff]],
  ['utf-16le', [0xff, 0xfe]],
];

function encodingOf(bytes: Uint8Array): Encoding {
  const marked = marks.find(([, mark]) => mark.every((byte, at) => bytes[at] === byte));
  if (marked) return marked[0];
  const isWide = bytes.length >= 4;
  if (!isWide && bytes.length !== 2) return 'utf-8';
  if (bytes[0] === 0) return isWide && bytes[1] === 0 ? 'utf-32be' : 'utf-16be';
  if (bytes[1] === 0) return isWide && bytes[2] === 0 && bytes[3] === 0 ? 'utf-32le' : 'utf-16le';
  return 'utf-8';
}

/** Converts to UTF-16, which the runtime can decode. @throws TypeError */
function narrowed(bytes: Uint8Array, isLittle: boolean): Uint8Array {
  if (bytes.length % 4 !== 0) throw new TypeError('not whole characters');
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const units: number[] = [];
  for (let at = 0; at < bytes.length; at += 4) {
    const point = view.getUint32(at, isLittle);
    if (point > 0x10_ffff) throw new TypeError('not a character');
    if (point < 0x1_0000) units.push(point);
    else units.push(0xd7c0 + (point >> 10), 0xdc00 + (point & 0x3ff));
  }
  return Uint8Array.from(units.flatMap((unit) => [unit & 0xff, unit >> 8]));
}

/** The first fault of a text that is not JSON, with its offset in characters. */
function jsonFault(text: string): { readonly at: number; readonly error: string } {
  const index = faultIndex(text);
  return {
    at: [...text.slice(0, index)].length,
    error: index === text.length ? 'Unexpected end' : 'Unexpected character',
  };
}

/** The tokens that JSON allows at a place: marks, strings (`"`) and other values (`0`). */
const allowed = {
  value: '{["0',
  'first item': '{["0]',
  name: '"',
  'first name': '"}',
  colon: ':',
} as const;

/** A token of JSON: a mark, a string (complete when it has its closing quote) or another value. */
const token =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: JSON forbids them in strings.
  /([[\]{}:,])|"(?:[^"\\\0-\x1f]+|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*("?)|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;

const space = /[ \t\n\r]*/y;

/**
 * The index of the first fault in a text that JSON.parse refused; the runtime names it for some
 * faults only.
 */
function faultIndex(text: string): number {
  const closing: ('}' | ']')[] = [];
  let place: keyof typeof allowed | 'end' = 'value';
  for (let at = 0; ; at = token.lastIndex) {
    space.lastIndex = at;
    space.exec(text);
    token.lastIndex = space.lastIndex;
    const found = token.exec(text);
    const [, mark, quote] = found ?? [];
    const kind = mark ?? (quote === undefined ? '0' : '"');
    const marks: string = place === 'end' ? `,${closing.at(-1)}` : allowed[place];
    if (found === null || !marks.includes(kind) || (place === 'end' && closing.length === 0))
      return space.lastIndex;
    if (quote === '') return token.lastIndex;
    if (kind === '{') {
      closing.push('}');
      place = 'first name';
    } else if (kind === '[') {
      closing.push(']');
      place = 'first item';
    } else if (kind === ',') place = closing.at(-1) === '}' ? 'name' : 'value';
    else if (kind === ':') place = 'value';
    else if (place === 'name' || (place === 'first name' && kind === '"')) place = 'colon';
    else {
      if (kind === '}' || kind === ']') closing.pop();
      place = 'end';
    }
  }
}

export const bodyLimit = 64 * 1024;
/** For operations that take many ids or items at once. */
export const largeBodyLimit = 2 * 1024 * 1024;

// Enough for any valid config, and too little to exhaust the stack of code that walks the value.
const maxDepth = 500;

// The byte order mark belongs to a text that is echoed as it came.
const lenientUtf8 = new TextDecoder('utf-8', { ignoreBOM: true });

export function isTooDeep(text: string): boolean {
  return depthOf(text) > maxDepth;
}

/** How deep brackets nest, without those in strings. */
function depthOf(text: string): number {
  let depth = 0;
  let deepest = 0;
  for (const [mark] of text.matchAll(/"(?:[^"\\]|\\.)*"?|[[\]{}]/gs)) {
    if (mark === '{' || mark === '[') deepest = Math.max(deepest, ++depth);
    else if (mark === '}' || mark === ']') depth--;
  }
  return deepest;
}

// The runtime has both; the compiler's library does not yet.
declare global {
  interface JSON {
    rawJSON(text: string): object;
  }
}

/** The text of an answer that may echo the input, each whole number with all its digits. */
export function exactText(body: unknown): string {
  return JSON.stringify(body, (_key, value: unknown) =>
    typeof value === 'bigint' ? JSON.rawJSON(String(value)) : value,
  );
}

/**
 * A request's body as FastAPI passes it to its models: nothing when empty, JSON when the media type
 * says so, otherwise the text itself, which no model accepts. A whole number that would lose digits
 * is a bigint.
 */
export function readBody(bytes: Uint8Array | undefined, mediaType: string | undefined): unknown {
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
      {
        type: 'json_invalid',
        loc: ['body', fault.at],
        msg: 'JSON decode error',
        input: {},
        ctx: { error: fault.error },
      },
    ]);
  }
}

/**
 * Whether a Content-Type says JSON: application/json or application/<something>+json, whatever its
 * parameters.
 */
function isJsonMediaType(header: string | undefined): boolean {
  const type = (header ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
  return type === 'application/json' || /^application\/[^/\s]*\+json$/.test(type);
}

function decoded(bytes: Uint8Array): string {
  try {
    return textOfJson(bytes);
  } catch (error) {
    if (error instanceof TypeError) throw unreadable();
    throw error;
  }
}

function unreadable(): Refusal {
  return new Refusal(
    'request_malformed',
    'There was an error parsing the body: it must be JSON in UTF-8, UTF-16 or UTF-32, not nested deeper than any value needs.',
  );
}

const wholeNumber = /^-?\d+$/;

// As many digits as Python reads of a whole number before it calls the body unreadable.
const maxDigits = 4300;

/**
 * Reads the text of each number, and keeps whole numbers whose digits a JavaScript number would
 * lose.
 */
function exactly(
  _key: string,
  value: unknown,
  ...[context]: readonly { readonly source?: string }[]
): unknown {
  const source = typeof value === 'number' ? context?.source : undefined;
  if (source === undefined || !wholeNumber.test(source)) return value;
  if (source.length > maxDigits) throw unreadable();
  return lossyNumberIn(source) === undefined ? value : BigInt(source);
}
