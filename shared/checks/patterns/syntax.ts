import {
  blanks,
  type CodePoints,
  complement,
  countOtherCases,
  digits,
  lastCodePoint,
  lineFeed,
  otherCases,
  union,
  wordCharacters,
} from './sets.ts';

/**
 * What a pattern says. Whether it is there is all that anybody asks, so groups capture nothing and
 * a lazy repetition is like any other.
 */
export type Tree =
  /** Its set takes long to make, and whoever only asks for faults needs none. */
  | { readonly is: 'one'; readonly of: () => CodePoints }
  | { readonly is: 'sequence'; readonly parts: readonly Tree[] }
  | { readonly is: 'choice'; readonly parts: readonly Tree[] }
  | { readonly is: 'repeated'; readonly part: Tree; readonly least: number; readonly most: number }
  | { readonly is: 'place'; readonly place: Place };

/** What is true between two characters, without taking one. */
export type Place = 'text_start' | 'text_end' | 'line_start' | 'line_end' | 'edge' | 'no_edge';

/** Why a pattern cannot be used: what to do instead. */
export class PatternFault extends Error {}

export const maxPattern = 1_024;
const maxDepth = 100;
const maxCount = 1_000;
/** How many letters the other cases of a pattern may add. */
const maxCases = 2_000;

/** Reads the subset of RE2's syntax that tells whether a text matches. */
export function readPattern(source: string): Tree {
  if (source.length > maxPattern)
    throw new PatternFault(`must have at most ${maxPattern.toLocaleString('en')} characters`);
  const reader = new Reader(source);
  const tree = reader.choice({ anyCase: false, dotAll: false, lines: false }, 0);
  if (!reader.isDone())
    throw new PatternFault('remove the `)` that closes no group, or write `\\)`');
  return tree;
}

type Flags = { readonly anyCase: boolean; readonly dotAll: boolean; readonly lines: boolean };

const flagNames: Readonly<Record<string, keyof Flags | 'nothing'>> = {
  i: 'anyCase',
  s: 'dotAll',
  m: 'lines',
  // Which repetitions are lazy decides nothing here.
  U: 'nothing',
};

const classes: Readonly<Record<string, CodePoints>> = {
  d: digits,
  D: complement(digits),
  w: wordCharacters,
  W: complement(wordCharacters),
  s: blanks,
  S: complement(blanks),
};
const controls: Readonly<Record<string, number>> = { a: 7, f: 12, n: 10, r: 13, t: 9, v: 11 };
const places: Readonly<Record<string, Place>> = {
  A: 'text_start',
  z: 'text_end',
  b: 'edge',
  B: 'no_edge',
};

class Reader {
  readonly #source: string;
  #at = 0;
  /** How many bounds the other cases of letters have added. */
  #cases = 0;

  constructor(source: string) {
    this.#source = source;
  }

  isDone(): boolean {
    return this.#at === this.#source.length;
  }

  /** Until the end of its group; flags that are set inside hold until there. */
  choice(given: Flags, depth: number): Tree {
    if (depth > maxDepth) throw new PatternFault(`nest at most ${maxDepth} groups`);
    let flags = given;
    const choices: Tree[] = [];
    let parts: Tree[] = [];
    while (!this.isDone() && this.#next() !== ')') {
      if (this.#takes('|')) {
        choices.push(sequence(parts));
        parts = [];
        continue;
      }
      const part = this.#takes('(') ? this.#group(flags, depth) : this.#atom(flags);
      if ('flags' in part) flags = part.flags;
      else parts.push(this.#repeated(part));
    }
    choices.push(sequence(parts));
    return choices.length === 1 ? sequence(parts) : { is: 'choice', parts: choices };
  }

  #next(): string | undefined {
    const point = this.#source.codePointAt(this.#at);
    return point === undefined ? undefined : String.fromCodePoint(point);
  }

  #comes(text: string): boolean {
    return this.#source.startsWith(text, this.#at);
  }

  #takes(text: string): boolean {
    const isNext = this.#comes(text);
    if (isNext) this.#at += text.length;
    return isNext;
  }

  #taken(): string {
    const next = this.#next() ?? '';
    this.#at += next.length;
    return next;
  }

  /** The match at this place, which is then behind; the form is sticky. */
  #read(form: RegExp): RegExpExecArray | undefined {
    form.lastIndex = this.#at;
    const found = form.exec(this.#source);
    if (found === null) return undefined;
    this.#at += found[0].length;
    return found;
  }

  #group(flags: Flags, depth: number): Tree | { readonly flags: Flags } {
    if (['?=', '?!', '?<=', '?<!'].some((look) => this.#comes(look)))
      throw new PatternFault(
        'write it without looking ahead or behind (`(?=`, `(?!`, `(?<=`, `(?<!`), which RE2 syntax does not have',
      );
    let inside = flags;
    if (this.#takes('?')) {
      const named = this.#read(/P?<\w+>/y);
      const set = named ? undefined : this.#read(/([a-zA-Z]*)(?:-([a-zA-Z]+))?([:)])/y);
      if (!named && !set)
        throw new PatternFault('begin a group with `(`, `(?:`, `(?i)` or `(?P<name>`');
      const [, on = '', off = '', end] = set ?? [];
      inside = withFlags(withFlags(flags, on, true), off, false);
      if (end === ')') return { flags: inside };
    }
    const tree = this.choice(inside, depth + 1);
    if (!this.#takes(')')) throw new PatternFault('close each group with `)`, or write `\\(`');
    return tree;
  }

  #repeated(part: Tree): Tree {
    const count = this.#count();
    if (count === undefined) return part;
    this.#takes('?');
    if (this.#count() !== undefined)
      throw new PatternFault('repeat once: put what is repeated twice into a group, `(?:a*)+`');
    return { is: 'repeated', part, ...count };
  }

  #count(): { readonly least: number; readonly most: number } | undefined {
    if (this.#takes('*')) return { least: 0, most: Infinity };
    if (this.#takes('+')) return { least: 1, most: Infinity };
    if (this.#takes('?')) return { least: 0, most: 1 };
    // Braces of any other form stand for themselves.
    if (!this.#comes('{')) return undefined;
    const [, from, comma, to] = this.#read(/\{(\d{1,6})(,?)(\d{0,6})\}/y) ?? [];
    if (from === undefined) return undefined;
    const least = Number(from);
    const most = comma === '' ? least : to === '' ? Infinity : Number(to);
    const largest = most === Infinity ? least : most;
    if (largest > maxCount || most < least)
      throw new PatternFault(
        `counts must be from 0 to ${maxCount.toLocaleString('en')}, the smaller first, as in \`{2,5}\``,
      );
    return { least, most };
  }

  #atom(flags: Flags): Tree {
    if (this.#comes('\\')) return this.#escaped(flags);
    const next = this.#taken();
    switch (next) {
      case '[':
        return one(this.#class(flags));
      case '.':
        return one(() => (flags.dotAll ? [0, lastCodePoint] : complement(lineFeed)));
      case '^':
        return { is: 'place', place: flags.lines ? 'line_start' : 'text_start' };
      case '$':
        return { is: 'place', place: flags.lines ? 'line_end' : 'text_end' };
      case '*':
      case '+':
      case '?':
        throw new PatternFault(`put something before \`${next}\`, or write \`\\${next}\``);
    }
    const point = pointOf(next);
    return one(this.#inCases([point, point], flags));
  }

  #escaped(flags: Flags): Tree {
    const place = places[this.#source[this.#at + 1] ?? ''];
    if (place === undefined) return one(this.#inCases(this.#escape(), flags));
    this.#at += 2;
    return { is: 'place', place };
  }

  /** What a backslash says, in a class and outside of it, in the case in which it is written. */
  #escape(): CodePoints {
    this.#at += 1;
    if (this.isDone()) throw new PatternFault('write `\\\\` for a backslash');
    const [, short, long] = this.#read(/x(?:([0-9a-fA-F]{2})|\{([0-9a-fA-F]{1,6})\})/y) ?? [];
    const hex = short ?? long;
    if (hex !== undefined) {
      const point = Number.parseInt(hex, 16);
      if (point > lastCodePoint)
        throw new PatternFault('code points must be at most `\\x{10FFFF}`');
      return [point, point];
    }
    const next = this.#taken();
    const control = controls[next];
    if (control !== undefined) return [control, control];
    const named = classes[next];
    if (named !== undefined) return named;
    if (/^[1-9]$/.test(next))
      throw new PatternFault(
        `write it without \`\\${next}\`: RE2 syntax has no references to groups`,
      );
    if (/^[A-Za-z0]$/.test(next))
      throw new PatternFault(
        `write it without \`\\${next}\`: \\d \\D \\w \\W \\s \\S \\b \\B \\A \\z \\n \\r \\t \\f \\v \\a and \\x{…} are known`,
      );
    return [pointOf(next), pointOf(next)];
  }

  /** After its `[`. A `]` that comes first stands for itself. */
  #class(flags: Flags): () => CodePoints {
    const isNegated = this.#takes('^');
    const members: (() => CodePoints)[] = [];
    let isFirst = true;
    while (isFirst || this.#next() !== ']') {
      isFirst = false;
      if (this.isDone()) throw new PatternFault('close each class with `]`, or write `\\[`');
      if (this.#comes('[:'))
        throw new PatternFault(
          'write ranges such as `a-z` instead of `[:alpha:]`, or `\\[` for `[`',
        );
      const from = this.#member();
      const isRange = this.#comes('-') && !this.#comes('-]');
      if (!isRange) {
        members.push(this.#inCases(from, flags));
        continue;
      }
      this.#at += 1;
      if (this.isDone()) throw new PatternFault('close each class with `]`, or write `\\[`');
      const to = this.#member();
      const [low, lowEnd] = from;
      const [high, highEnd] = to;
      if (
        low === undefined ||
        high === undefined ||
        low !== lowEnd ||
        high !== highEnd ||
        low > high
      )
        throw new PatternFault(
          'ranges of a class must go from the smaller to the larger; for a dash write `\\-`',
        );
      members.push(this.#rangeInCases(low, high, flags));
    }
    this.#at += 1;
    return () => {
      const whole = union(members.flatMap((member) => member()));
      return isNegated ? complement(whole) : whole;
    };
  }

  /** One member of a class, in the case in which it is written. */
  #member(): CodePoints {
    if (this.#comes('\\')) return this.#escape();
    const point = pointOf(this.#taken());
    return [point, point];
  }

  /** A named class has no other case: `\\W` would otherwise have the `s` of `ſ`. */
  #inCases(points: CodePoints, flags: Flags): () => CodePoints {
    const [low, high] = points;
    return low !== undefined && low === high ? this.#rangeInCases(low, high, flags) : () => points;
  }

  /** Counts first: what is refused is never written out. */
  #rangeInCases(low: number, high: number, { anyCase }: Flags): () => CodePoints {
    if (!anyCase) return () => [low, high];
    this.#cases += countOtherCases(low, high);
    if (this.#cases > 2 * maxCases)
      throw new PatternFault('ranges of letters must be smaller where (?i) holds');
    return () => union([low, high, ...otherCases([low, high])]);
  }
}

function one(make: () => CodePoints): Tree {
  let made: CodePoints | undefined;
  return {
    is: 'one',
    of: () => {
      made ??= make();
      return made;
    },
  };
}

function sequence(parts: readonly Tree[]): Tree {
  const [first, ...more] = parts;
  return first && more.length === 0 ? first : { is: 'sequence', parts };
}

function pointOf(character: string): number {
  return character.codePointAt(0) ?? 0;
}

function withFlags(flags: Flags, letters: string, isOn: boolean): Flags {
  const changed = { ...flags };
  for (const letter of letters) {
    const name = flagNames[letter];
    if (name === undefined)
      throw new PatternFault(`use the flags i, s and m; \`${letter}\` is none of them`);
    if (name !== 'nothing') changed[name] = isOn;
  }
  return changed;
}
