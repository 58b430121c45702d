/**
 * The smallest case that still fails in the same way, as far as so many attempts find it: of the smaller ones of what is smallest yet, the first that
 * fails so takes its place. @throws when the whole one does not fail.
 */
export const smallestThatFails = <Case>(
  whole: Case,
  of: {
    readonly faultOf: (one: Case) => string | undefined;
    /** What is wrong without the times and names that a smaller case has others of. */
    readonly kindOf: (fault: string) => string;
    /** The boldest first. */
    readonly smaller: (one: Case) => Iterable<Case>;
  },
  attempts: number,
): { readonly story: Case; readonly fault: string } => {
  const first = of.faultOf(whole);
  if (first === undefined) throw new Error('what does not fail cannot be shrunk');
  let best = { story: whole, fault: first };
  let left = attempts;
  for (let improved = true; improved && left > 0; ) {
    improved = false;
    for (const candidate of of.smaller(best.story)) {
      left -= 1;
      if (left <= 0) break;
      const fault = of.faultOf(candidate);
      if (fault === undefined || of.kindOf(fault) !== of.kindOf(best.fault)) continue;
      best = { story: candidate, fault };
      improved = true;
      break;
    }
  }
  return best;
};
