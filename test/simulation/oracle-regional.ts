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

/** From where it can be checked now, and until when all passed in a calm time that was jumped over. */
type Watching = {
  readonly able: readonly Continent[];
  readonly turn_ms: number;
  readonly calm: number;
};

/** A place's failures since it last passed, in order of start. */
type Run = { readonly from: number; readonly to: number; readonly passed: number };

const runOf = (decided: readonly Made[], place: Continent, calm: number): Run => {
  let passed = calm;
  for (const { continent, outcome, at } of decided)
    if (continent === place && outcome === 'ok') passed = Math.max(passed, at);
  let from = Number.POSITIVE_INFINITY;
  let to = Number.NEGATIVE_INFINITY;
  for (const { continent, outcome, at, stale } of decided) {
    if (continent !== place || outcome !== 'fail' || stale || at < passed) continue;
    from = Math.min(from, at);
    to = Math.max(to, at);
  }
  return { from, to, passed };
};

export const regionalIn = (
  decided: readonly Made[],
  places: readonly Continent[],
  { open, last }: Outages,
  { able, turn_ms, calm }: Watching,
): readonly Continent[] => {
  const runs = places.map((place) => ({ place, ...runOf(decided, place, calm) }));
  const now = Math.max(calm, ...decided.map(({ at }) => at));
  const regional = runs.filter((run) => {
    const { place } = run;
    if (run.from === Number.POSITIVE_INFINITY) return false;
    // What it saw of an outage that others saw too was not its own.
    const isOfOutage = last !== null && run.from <= last.to && run.from + aloneFor > last.from;
    const since = isOfOutage ? last.to : run.from;
    if (run.to < since + aloneFor) return false;
    if (open !== null) return open.regional.includes(place) && since + aloneFor <= open.since;
    const until = since + aloneFor;
    const others = runs.filter((other) => other !== run);
    // Whoever began to fail in that time, or may have: nobody has seen it pass since.
    const areWithIt = others.some(({ place: other, from, passed }) => {
      if (passed >= until) return false;
      if (from === Number.POSITIVE_INFINITY)
        return able.includes(other) && now - passed <= 2 * turn_ms;
      return from < until || from - passed <= 2 * turn_ms;
    });
    return !areWithIt && others.some(({ passed }) => passed >= until);
  });
  return regional.map(({ place }) => place);
};
