import { InvalidInput } from '../../shared/api/operation.ts';
import { Refusal } from '../../shared/base/errors.ts';
import { lossyNumberIn } from '../../shared/base/json.ts';

/** In which of Unicode's encodings a JSON text came: the first characters of JSON are ASCII, so that the places of its zero bytes tell (as in RFC 4627, and in Python). */
type Encoding = 'utf-8' | 'utf-16le' | 'utf-16be' | 'utf-32le' | 'utf-32be';

const marks: readonly (readonly [Encoding, readonly number[]])[] = [
  ['utf-32be', [0, 0, 0xfe, 0xff]],
  ['utf-32le', [0xff, 0xfe, 0, 0]],
  ['utf-16be', [0xfe, 0xff]],
  ['utf-16le', [0xff, 0xfe]],
];

const encodingOf = (bytes: Uint8Array): Encoding => {
  const marked = marks.find(([, mark]) => mark.every((byte, at) => bytes[at] === byte));
  if (marked) return marked[0];
  const isWide = bytes.length >= 4;
  if (!isWide && bytes.length !== 2) return 'utf-8';
  if (bytes[0] === 0) return isWide && bytes[1] === 0 ? 'utf-32be' : 'utf-16be';
  if (bytes[1] === 0) return isWide && bytes[2] === 0 && bytes[3] === 0 ? 'utf-32le' : 'utf-16le';
  return 'utf-8';
};

/** As if it had come in UTF-16, which the runtime can decode. @throws TypeError */
const narrowed = (bytes: Uint8Array, isLittle: boolean): Uint8Array => {
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
};

/** The text without a byte order mark. @throws TypeError when the bytes are no text. */
export const textOfJson = (bytes: Uint8Array): string => {
  const encoding = encodingOf(bytes);
  const isWide = encoding === 'utf-32le' || encoding === 'utf-32be';
  const decoder = new TextDecoder(isWide ? 'utf-16le' : encoding, { fatal: true });
  return decoder.decode(isWide ? narrowed(bytes, encoding === 'utf-32le') : bytes);
};

/** What is wrong with a text as JSON, in the words and at the offset (in characters) that Python's decoder gives. */
export type JsonFault = { readonly at: number; readonly error: string };

class Stop extends Error {
  readonly fault: JsonFault;

  constructor(at: number, error: string) {
    super(error);
    this.fault = { at, error };
  }
}

const spaces = ' \t\n\r';
const escapes = '"\\/bfnrt';
const numberMark = /^[-+.eE0-9]$/;
const hex = /^[0-9a-fA-F]$/;

/** Walks over the characters of a text that JSON.parse refused, as Python's scanner does, until it stops. */
class Scanner {
  readonly #characters: readonly string[];
  #at = 0;

  constructor(text: string) {
    this.#characters = [...text];
  }

  document(): void {
    this.#skipSpaces();
    this.#value();
    this.#skipSpaces();
    if (this.#at < this.#characters.length) throw new Stop(this.#at, 'Extra data');
  }

  #here(ahead = 0): string | undefined {
    return this.#characters[this.#at + ahead];
  }

  #skipSpaces(): void {
    for (let here = this.#here(); here !== undefined && spaces.includes(here); here = this.#here()) this.#at++;
  }

  #value(): void {
    const here = this.#here();
    if (here === '"') this.#string();
    else if (here === '{') this.#object();
    else if (here === '[') this.#array();
    else if (!this.#word()) this.#number();
  }

  #word(): boolean {
    const word = ['null', 'true', 'false'].find((word) => this.#characters.slice(this.#at, this.#at + word.length).join('') === word);
    this.#at += word?.length ?? 0;
    return word !== undefined;
  }

  #number(): void {
    // NaN and the infinities, which Python would take, are no JSON.
    let end = this.#at;
    while (numberMark.test(this.#characters[end] ?? '')) end++;
    const match = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/.exec(this.#characters.slice(this.#at, end).join(''));
    if (!match) throw new Stop(this.#at, 'Expecting value');
    this.#at += match[0].length;
  }

  #object(): void {
    this.#at++;
    this.#skipSpaces();
    if (this.#here() === '}') {
      this.#at++;
      return;
    }
    for (;;) {
      if (this.#here() !== '"') throw new Stop(this.#at, 'Expecting property name enclosed in double quotes');
      this.#string();
      this.#skipSpaces();
      if (this.#here() !== ':') throw new Stop(this.#at, "Expecting ':' delimiter");
      this.#at++;
      this.#skipSpaces();
      this.#value();
      if (this.#ends('}')) return;
    }
  }

  #array(): void {
    this.#at++;
    this.#skipSpaces();
    if (this.#here() === ']') {
      this.#at++;
      return;
    }
    for (;;) {
      this.#value();
      if (this.#ends(']')) return;
    }
  }

  /** After a member: over the closing mark (true) or over a comma (false). */
  #ends(mark: string): boolean {
    this.#skipSpaces();
    const here = this.#here();
    if (here !== mark && here !== ',') throw new Stop(this.#at, "Expecting ',' delimiter");
    this.#at++;
    if (here === mark) return true;
    this.#skipSpaces();
    return false;
  }

  #string(): void {
    const begin = this.#at++;
    for (;;) {
      const here = this.#here();
      if (here === undefined) throw new Stop(begin, 'Unterminated string starting at');
      if (here === '"') break;
      if (here < ' ') throw new Stop(this.#at, 'Invalid control character at');
      if (here === '\\') this.#escape(begin);
      else this.#at++;
    }
    this.#at++;
  }

  #escape(begin: number): void {
    const kind = this.#here(1);
    if (kind === undefined) throw new Stop(begin, 'Unterminated string starting at');
    if (kind !== 'u') {
      if (!escapes.includes(kind)) throw new Stop(this.#at, 'Invalid \\escape');
      this.#at += 2;
      return;
    }
    const digits = this.#characters.slice(this.#at + 2, this.#at + 6);
    // Python wants something behind the four digits, too: a string that ends there is not closed.
    if (this.#here(6) === undefined || !digits.every((digit) => hex.test(digit))) throw new Stop(this.#at + 1, 'Invalid \\uXXXX escape');
    this.#at += 6;
  }
}

/** The fault that Python's decoder would name in a text that is not JSON. */
export const jsonFault = (text: string): JsonFault => {
  try {
    new Scanner(text).document();
  } catch (error) {
    if (error instanceof Stop) return error.fault;
    throw error;
  }
  // JSON.parse refused what the scanner took: they agree on the grammar, so this is not reached by any text known to us.
  return { at: 0, error: 'Expecting value' };
};

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
