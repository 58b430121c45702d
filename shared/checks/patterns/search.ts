import { type Program, programOf, type Step } from './program.ts';
import { has, wordCharacters } from './sets.ts';
import type { Place } from './syntax.ts';

/**
 * Searches a text for a pattern in a time that grows with the length of the text alone, whatever
 * the pattern: it follows all ways through the program at once, one character after the other, and
 * remembers which ways a character leads to. Every step is counted, so who searches can rest
 * between slices, and give up.
 */

/** What searches may still cost, and what until the next rest; they take from it. */
export type SearchBudget = { left: number; untilRest: number };

export function effortOf(left: number): SearchBudget {
  return { left, untilRest: sliceSteps };
}

/** Where the first match ends, nothing, or that it would have cost more than was left. */
export type Found = { readonly end: number } | 'nothing' | 'untold';

/** How many steps are one slice: some milliseconds. */
const sliceSteps = 100_000;
/** What a step costs that is followed for the first time, beside one that is remembered. */
const unseen = 4;
/** How many transitions are remembered at once. */
const maxRemembered = 200_000;

export function* search(
  source: string,
  text: string,
  effort: SearchBudget,
): Generator<void, Found> {
  const program = programOf(source);
  const ways = new Ways(program);
  let state = ways.begin;
  // To write it out costs more than to follow it.
  let cost = unseen * program.steps.length;
  for (let at = 0; ; ) {
    effort.left -= cost;
    effort.untilRest -= cost;
    if (effort.left < 0) return 'untold';
    if (effort.untilRest < 0) {
      effort.untilRest = sliceSteps;
      yield;
    }
    const before = ways.steps;
    const point = text.codePointAt(at);
    state = ways.next(state, point);
    if (state === matched) return { end: at };
    if (point === undefined) return 'nothing';
    at += point > 0xffff ? 2 : 1;
    cost = 1 + unseen * (ways.steps - before);
  }
}

/** The same at once, for short texts and tests. */
export function searched(source: string, text: string, effort: SearchBudget): Found {
  return runToEnd(search(source, text, effort));
}

/** The result of work in slices, without a rest between. */
export function runToEnd<Result>(work: Generator<void, Result>): Result {
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
  }
}

/** Where a match was found: what follows decides nothing more. */
const matched = -1;
const unknown = -2;

/** What a place can see of the character before it. */
type Before = 'start' | 'line_feed' | 'word' | 'other';

/** After a character: the steps to go on with. */
type State = {
  readonly steps: Uint16Array;
  readonly before: Before;
  /** The state after a character of each kind, and after the end. */
  readonly after: Int32Array;
};

/** All ways through a program: states are made when a text first leads to them. */
class Ways {
  /** How many steps were followed so far. */
  steps = 0;
  readonly #program: Program;
  readonly #kindOfLow = new Uint16Array(256);
  #states: State[] = [];
  readonly #known = new Map<string, number>();
  /** How many steps the states hold. */
  #kept = 0;
  /** The turn in which each step was last followed, and in which it was last gone on with. */
  readonly #seen: Uint32Array;
  readonly #added: Uint32Array;
  #turn = 0;
  /** Room to work in. A step opens two others at most, once in a turn. */
  readonly #open: Uint16Array;
  readonly #next: Uint16Array;

  constructor(program: Program) {
    this.#program = program;
    const size = program.steps.length;
    this.#seen = new Uint32Array(size);
    this.#added = new Uint32Array(size);
    this.#next = new Uint16Array(size);
    this.#open = new Uint16Array(3 * size);
    for (let point = 0; point < 256; point += 1) this.#kindOfLow[point] = this.#kindOf(point);
  }

  get begin(): number {
    return this.#stateOf(Uint16Array.of(this.#program.begin), 'start');
  }

  /** The state after one more character, or after the end of the text. */
  next(state: number, point: number | undefined): number {
    const kind =
      point === undefined
        ? this.#program.kinds.length
        : point < 256
          ? (this.#kindOfLow[point] ?? 0)
          : this.#kindOf(point);
    const known = this.#states[state]?.after[kind] ?? unknown;
    return known === unknown ? this.#follow(state, kind, point) : known;
  }

  #kindOf(point: number): number {
    const { kinds } = this.#program;
    let [low, high] = [0, kinds.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((kinds[middle] ?? 0) <= point) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }

  #follow(state: number, kind: number, point: number | undefined): number {
    const from = this.#states[state];
    if (from === undefined) throw new Error('the search reached an unknown state');
    const next = this.#passed(from, point);
    if (next === 'match') {
      from.after[kind] = matched;
      return matched;
    }
    const after = this.#stateOf(next, beforeOf(point));
    // Unless all was forgotten meanwhile.
    if (this.#states[state] === from) from.after[kind] = after;
    return after;
  }

  /** The steps to go on with behind the character, in order and each once. */
  #passed({ steps, before }: State, point: number | undefined): Uint16Array | 'match' {
    this.#turn += 1;
    const open = this.#open;
    let opened = steps.length;
    open.set(steps);
    // A match may begin at each character.
    this.#next[0] = this.#program.begin;
    this.#added[this.#program.begin] = this.#turn;
    let added = 1;
    while (opened > 0) {
      opened -= 1;
      const at = open[opened] ?? 0;
      if (this.#seen[at] === this.#turn) continue;
      this.#seen[at] = this.#turn;
      this.steps += 1;
      const step: Step | undefined = this.#program.steps[at];
      if (step === undefined || step.is === 'match') return 'match';
      if (step.is === 'take') {
        if (point === undefined || this.#added[step.next] === this.#turn) continue;
        if (!has(step.of, point)) continue;
        this.#added[step.next] = this.#turn;
        this.#next[added] = step.next;
        added += 1;
        continue;
      }
      if (step.is === 'place' && !isAt(step.place, before, point)) continue;
      if (step.is === 'fork') {
        open[opened] = step.or;
        opened += 1;
      }
      open[opened] = step.next;
      opened += 1;
    }
    this.steps += added;
    return this.#next.slice(0, added).sort();
  }

  #stateOf(steps: Uint16Array, before: Before): number {
    const key = before + String.fromCharCode(...steps);
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const width = this.#program.kinds.length + 1;
    this.steps += width >> 2;
    if (this.#states.length * width + this.#kept > maxRemembered) {
      this.#states = [];
      this.#known.clear();
      this.#kept = 0;
    }
    const state = this.#states.length;
    this.#states.push({ steps, before, after: new Int32Array(width).fill(unknown) });
    this.#known.set(key, state);
    this.#kept += steps.length;
    return state;
  }
}

function beforeOf(point: number | undefined): Before {
  return point === 10 ? 'line_feed' : isWord(point) ? 'word' : 'other';
}

function isWord(point: number | undefined): boolean {
  return point !== undefined && has(wordCharacters, point);
}

function isAt(place: Place, before: Before, point: number | undefined): boolean {
  switch (place) {
    case 'text_start':
      return before === 'start';
    case 'line_start':
      return before === 'start' || before === 'line_feed';
    case 'text_end':
      return point === undefined;
    case 'line_end':
      return point === undefined || point === 10;
    case 'edge':
      return (before === 'word') !== isWord(point);
    case 'no_edge':
      return (before === 'word') === isWord(point);
  }
}
