/** Sets of code points: from and to of each range, in order, without overlaps. */
export type CodePoints = readonly number[];

export const lastCodePoint = 0x10_ffff;

export const digits: CodePoints = [code('0'), code('9')];

function code(character: string): number {
  return character.codePointAt(0) ?? 0;
}
export const wordCharacters: CodePoints = [
  ...digits,
  ...[code('A'), code('Z')],
  ...[code('_'), code('_')],
  ...[code('a'), code('z')],
];
/** Tab, line feed, form feed, carriage return and blank, as RE2 has it. */
export const blanks: CodePoints = [9, 10, 12, 13, 32, 32];
export const lineFeed: CodePoints = [10, 10];

/** One set of ranges in any order. */
export function union(ranges: CodePoints): CodePoints {
  const joined: number[] = [];
  for (const [from, to] of pairsOf(ranges).toSorted(([one], [other]) => one - other)) {
    const end = joined.at(-1);
    if (end !== undefined && from <= end + 1) joined[joined.length - 1] = Math.max(end, to);
    else joined.push(from, to);
  }
  return joined;
}

export function complement(ranges: CodePoints): CodePoints {
  const rest: number[] = [];
  let next = 0;
  for (const [from, to] of pairsOf(ranges)) {
    if (from > next) rest.push(next, from - 1);
    next = to + 1;
  }
  if (next <= lastCodePoint) rest.push(next, lastCodePoint);
  return rest;
}

export function has(set: CodePoints, point: number): boolean {
  // The first bound that is not below the point: at an odd place the point is inside.
  let [low, high] = [0, set.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((set[middle] ?? 0) < point) low = middle + 1;
    else high = middle;
  }
  return low % 2 === 1 || set[low] === point;
}

/** How many bounds `otherCases` has of the range from `low` to `high`. */
export function countOtherCases(low: number, high: number): number {
  const { points, boundsBefore } = lettersWithCase();
  const before = (point: number): number => boundsBefore[firstFrom(points, point)] ?? 0;
  return before(high + 1) - before(low);
}

/** The letters of the set in all their cases. */
export function otherCases(set: CodePoints): CodePoints {
  const letters = lettersWithCase();
  const others: number[] = [];
  for (const [from, to] of pairsOf(set)) {
    for (let at = firstFrom(letters.points, from); at < letters.points.length; at += 1) {
      const point = letters.points[at] ?? 0;
      if (point > to) break;
      for (const other of letters.same.get(point) ?? []) others.push(other, other);
    }
  }
  return others;
}

function firstFrom(points: readonly number[], from: number): number {
  let [low, high] = [0, points.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((points[middle] ?? 0) < from) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Where letters with cases are: what lies between takes long to look at, and has none. */
const withLetters: CodePoints = [
  ...[0, 0x5ff],
  ...[0x10a0, 0x13ff],
  ...[0x1c80, 0x2dff],
  ...[0xa640, 0xabff],
  ...[0xff00, 0xffff],
  ...[0x1_0400, 0x1_0fff],
  ...[0x1_1800, 0x1_18ff],
  ...[0x1_6e00, 0x1_6eff],
  ...[0x1_e900, 0x1_e9ff],
];

type Letters = {
  readonly points: readonly number[];
  readonly same: ReadonlyMap<number, readonly number[]>;
  /** For each of the points, and behind the last one. */
  readonly boundsBefore: readonly number[];
};
let known: Letters | undefined;

/** Every letter that has another case, with all of its cases; made when first asked for. */
function lettersWithCase(): Letters {
  if (known) return known;
  const groups = new Map<string, number[]>();
  for (const [from, to] of pairsOf(withLetters)) {
    for (let point = from; point <= to; point += 1) {
      const folded = foldedOf(String.fromCodePoint(point));
      const group = groups.get(folded);
      if (group) group.push(point);
      else groups.set(folded, [point]);
    }
  }
  const same = new Map<number, readonly number[]>();
  for (const group of groups.values())
    if (group.length > 1) for (const point of group) same.set(point, group);
  const points = [...same.keys()].toSorted((one, other) => one - other);
  const boundsBefore = [0];
  for (const point of points)
    boundsBefore.push((boundsBefore.at(-1) ?? 0) + 2 * (same.get(point)?.length ?? 0));
  known = { points, same, boundsBefore };
  return known;
}

/** One letter for all cases of a letter; that of Turkish without a dot stays apart, as in RE2. */
function foldedOf(letter: string): string {
  if (letter === '\u0131') return letter;
  const upper = letter.toUpperCase();
  const one = isOneLetter(upper) ? upper : letter;
  const lower = one.toLowerCase();
  return isOneLetter(lower) ? lower : one;
}

function isOneLetter(text: string): boolean {
  return text.length === 1 || (text.length === 2 && text.codePointAt(0) !== text.charCodeAt(0));
}

function pairsOf(ranges: CodePoints): (readonly [from: number, to: number])[] {
  const pairs: (readonly [number, number])[] = [];
  for (let at = 0; at < ranges.length; at += 2) pairs.push([ranges[at] ?? 0, ranges[at + 1] ?? 0]);
  return pairs;
}
