import type { Continent } from '../../shared/base/continents.ts';
import type { Made } from './database.ts';

/**
 * Rule 45, told in another way than the core tells it: which places have failed alone for five
 * minutes, by all that was decided.
 */

const aloneFor = 300_000;

export type Outages = {
  /** The confirmed incident that is open, and which places were regional when it was confirmed. */
  readonly open: { readonly since: number; readonly regional: readonly Continent[] } | null;
  /** The last confirmed outage that ended. */
  readonly last: { readonly from: number; readonly to: number } | null;
};

/** A place's failures since it last passed, in order of start. */
type Run = { readonly from: number; readonly to: number; readonly passed: number };

const runOf = (decided: readonly Made[], place: Continent): Run | undefined => {
  let passed = Number.NEGATIVE_INFINITY;
  for (const { continent, outcome, at } of decided)
    if (continent === place && outcome === 'ok') passed = Math.max(passed, at);
  let from = Number.POSITIVE_INFINITY;
  let to = Number.NEGATIVE_INFINITY;
  for (const { continent, outcome, at, stale } of decided) {
    if (continent !== place || outcome !== 'fail' || stale || at < passed) continue;
    from = Math.min(from, at);
    to = Math.max(to, at);
  }
  if (from === Number.POSITIVE_INFINITY && passed === Number.NEGATIVE_INFINITY) return undefined;
  return { from, to, passed };
};

export const regionalIn = (
  decided: readonly Made[],
  places: readonly Continent[],
  { open, last }: Outages,
): readonly Continent[] => {
  const runs = new Map(places.map((place) => [place, runOf(decided, place)]));
  return places.filter((place) => {
    const run = runs.get(place);
    if (!run || run.from === Number.POSITIVE_INFINITY) return false;
    // What it saw of an outage that others saw too was not its own.
    const isOfOutage = last !== null && run.from <= last.to && run.from + aloneFor > last.from;
    const since = isOfOutage ? last.to : run.from;
    if (run.to < since + aloneFor) return false;
    if (open !== null) return open.regional.includes(place) && since + aloneFor <= open.since;
    const others = places.flatMap((other) => (other === place ? [] : (runs.get(other) ?? [])));
    return (
      others.every(
        ({ from, passed }) => from === Number.POSITIVE_INFINITY || passed >= since + aloneFor,
      ) && others.some(({ passed }) => passed >= since + aloneFor)
    );
  });
};
