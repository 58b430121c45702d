import { type CodePoints, lineFeed, wordCharacters } from './sets.ts';
import { PatternFault, type Place, readPattern, type Tree } from './syntax.ts';

/** One step of a program. Steps are known by their index. */
export type Step =
  | { readonly is: 'take'; readonly of: CodePoints; readonly next: number }
  | { readonly is: 'place'; readonly place: Place; readonly next: number }
  | { readonly is: 'fork'; next: number; readonly or: number }
  | { readonly is: 'match' };

export type Program = {
  readonly steps: readonly Step[];
  readonly begin: number;
  /** Where each kind of characters begins: no step tells two characters of one kind apart. */
  readonly kinds: readonly number[];
};

const maxSteps = 2_000;

/** What to do about a pattern that cannot be used; undefined where it can. */
export function patternFault(source: string): string | undefined {
  try {
    readWithin(source);
    return undefined;
  } catch (error) {
    if (error instanceof PatternFault) return error.message;
    throw error;
  }
}

/** Counts first: what is refused is never written out. */
function readWithin(source: string): Tree {
  const tree = readPattern(source);
  if (sizeOf(tree) > maxSteps)
    throw new PatternFault(
      `must be shorter, or have smaller counts: written out it has more than ${maxSteps.toLocaleString('en')} steps`,
    );
  return tree;
}

/** How many steps a part takes; an empty one takes a step too, or repeating it would cost nothing. */
function sizeOf(part: Tree): number {
  switch (part.is) {
    case 'one':
    case 'place':
      return 1;
    case 'sequence':
      return part.parts.reduce((sum, each) => sum + sizeOf(each), part.parts.length === 0 ? 1 : 0);
    case 'choice':
      return part.parts.reduce((sum, each) => sum + sizeOf(each), part.parts.length - 1);
    case 'repeated': {
      const each = sizeOf(part.part);
      const { least, most } = part;
      if (most === Infinity) return (least + 1) * each + 1;
      return most === 0 ? 1 : most * each + most - least;
    }
  }
}

/** A pattern as a program; what it can do grows with the length of the pattern and its counts. */
export function programOf(source: string): Program {
  const tree = readWithin(source);
  const steps: Step[] = [{ is: 'match' }];
  const sets = new Map<string, CodePoints>();
  const add = <Added extends Step>(step: Added): { readonly at: number; readonly step: Added } => {
    steps.push(step);
    return { at: steps.length - 1, step };
  };
  const fork = (then: number, or: number) =>
    add<Step & { is: 'fork' }>({ is: 'fork', next: then, or });

  /** The step that begins this part, which goes on with `then`. */
  const begins = (part: Tree, then: number): number => {
    switch (part.is) {
      case 'one': {
        const key = part.of().join();
        const of = sets.get(key) ?? part.of();
        sets.set(key, of);
        return add({ is: 'take', of, next: then }).at;
      }
      case 'place':
        return add({ is: 'place', place: part.place, next: then }).at;
      case 'sequence':
        return part.parts.length === 0
          ? fork(then, then).at
          : part.parts.reduceRight((next, each) => begins(each, next), then);
      case 'choice':
        return part.parts
          .map((each) => begins(each, then))
          .reduceRight((or, each) => fork(each, or).at);
      case 'repeated': {
        const { part: inner, least, most } = part;
        let next = most === 0 ? fork(then, then).at : then;
        if (most === Infinity) {
          const again = fork(then, then);
          again.step.next = begins(inner, again.at);
          next = again.at;
        } else
          for (let count = least; count < most; count += 1)
            next = fork(begins(inner, next), then).at;
        for (let count = 0; count < least; count += 1) next = begins(inner, next);
        return next;
      }
    }
  };

  const begin = begins(tree, 0);
  const bounds = [...sets.values(), wordCharacters, lineFeed].flatMap((set) =>
    set.map((bound, index) => (index % 2 === 0 ? bound : bound + 1)),
  );
  return { steps, begin, kinds: [...new Set([0, ...bounds])].toSorted((a, b) => a - b) };
}
