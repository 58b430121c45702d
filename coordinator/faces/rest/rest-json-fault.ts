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
