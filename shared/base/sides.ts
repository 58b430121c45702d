/**
 * What the two sides of a monitor tell together: private places see it from inside its network,
 * public ones from outside. Neither confirms the other (rule 10); side by side they say where it
 * breaks.
 */

export type SideSeen = {
  /** Names of continents, or of private places. */
  readonly failing: readonly string[];
  readonly passing: readonly string[];
};

export type Sides = { readonly inside: SideSeen; readonly outside: SideSeen };

/**
 * `way_in`: the edge, a firewall, or DNS; `service`: the service itself; `inside_only`: the line of
 * the private place.
 */
export type SidesVerdict = 'way_in' | 'service' | 'inside_only';

/** With what they tell together, also in words; null while that is nothing. */
export type DescribedSides = Sides & {
  readonly verdict: string | null;
  readonly sentence: string | null;
};

/**
 * Null while the sides tell nothing together. `outsideIsDown`: its own rule confirms an outage, as
 * one continent of several does not.
 */
function verdictOfSides({ inside, outside }: Sides, outsideIsDown: boolean): SidesVerdict | null {
  // One private place that is answered shows that the service runs.
  if (inside.passing.length > 0) return outsideIsDown ? 'way_in' : null;
  if (inside.failing.length === 0) return null;
  if (outsideIsDown) return 'service';
  return outside.passing.length > 0 ? 'inside_only' : null;
}

/** Where the names are known: a reader from outside the organisation gets none. */
export function called(places: readonly string[]): string {
  return places.length === 0 ? '' : ` (${places.join(', ')})`;
}

/** Without its full stop. */
export function sidesSentence({ inside, outside }: Sides, verdict: string): string {
  if (verdict === 'way_in')
    return `Up inside${called(inside.passing)}, down from ${continentsIn(outside.failing)}: check edge, firewall or DNS`;
  return verdict === 'service'
    ? `Fails inside too${called(inside.failing)}: the service itself`
    : `Down inside only${called(inside.failing)}: check that network`;
}

const counts = ['no', 'one', 'two', 'three', 'four', 'five', 'six', 'seven'];

function continentsIn({ length }: readonly string[]): string {
  return `${counts[length] ?? length} ${length === 1 ? 'continent' : 'continents'}`;
}

/** With the verdict in words. */
export function describeSides(sides: Sides, outsideIsDown: boolean): DescribedSides {
  const verdict = verdictOfSides(sides, outsideIsDown);
  return { ...sides, verdict, sentence: verdict && `${sidesSentence(sides, verdict)}.` };
}

/** For readers outside the organisation, who learn of private places that there are some. */
export function withoutNames(told: DescribedSides): DescribedSides {
  const sides = { inside: { failing: [], passing: [] }, outside: told.outside };
  return { ...told, ...sides, sentence: told.verdict && `${sidesSentence(sides, told.verdict)}.` };
}
