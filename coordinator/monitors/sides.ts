import {
  type DescribedSides,
  describeSides,
  type Sides,
  sidesSentence,
} from '../../shared/base/sides.ts';
import { haveBothSides, type Place } from '../../shared/checks/places.ts';
import type { Queryable } from '../database/connect.ts';
import type { Check } from '../results/check.ts';
import type { MonitorKey, Results } from '../results/reading.ts';

type Checked = MonitorKey & {
  readonly interval_s: number;
  readonly places: readonly Place[];
};

/** What both sides of a monitor see now; null where one side checks. `isDown`: an outage is open. */
export async function sidesNow(
  sql: Queryable,
  results: Results,
  organisation: string,
  monitor: string,
  { isDown, now }: { readonly isDown: boolean; readonly now: number },
): Promise<DescribedSides | null> {
  const [row] = await sql<(Omit<Checked, 'places'> & { places: readonly Place[] | null })[]>`
    select key, partition, interval_s, places from monitors
    where organisation_id = ${organisation} and id = ${monitor} and places is not null`;
  if (!row?.places || !haveBothSides(row.places)) return null;
  const checked = { ...row, places: row.places };
  const [sides] = await newestByPlace(sql, results, organisation, [checked], now);
  return sides ? describeSides(sides, isDown && isOutsideDown(sides)) : null;
}

/** In words, by key, which of these monitors fail inside alone; without its full stop. */
export async function failingInside(
  sql: Queryable,
  results: Results,
  organisation: string,
  monitors: readonly (Omit<Checked, 'places'> & { readonly places: readonly Place[] | null })[],
  now: number,
): Promise<ReadonlyMap<number, string>> {
  const checked = monitors.flatMap(({ places, ...each }) =>
    places && haveBothSides(places) ? [{ ...each, places }] : [],
  );
  if (checked.length === 0) return new Map();
  const sides = await newestByPlace(sql, results, organisation, checked, now);
  return new Map(
    sides.flatMap((each, nth) => {
      const [{ verdict }, key] = [describeSides(each, false), checked[nth]?.key];
      return verdict === null || key === undefined ? [] : [[key, sidesSentence(each, verdict)]];
    }),
  );
}

/** A view counts for two of its place's turns, and for some time on its way to us. */
const turnsThatCount = 2;

const onItsWayMs = 60_000;

/** The newest result of each continent and private place, monitor by monitor. */
async function newestByPlace(
  sql: Queryable,
  results: Results,
  organisation: string,
  monitors: readonly Checked[],
  now: number,
): Promise<readonly Sides[]> {
  const windows = monitors.map((monitor) => {
    const turnMs = monitor.places.length * monitor.interval_s * 1_000;
    // A probe's clock may be a little ahead of ours.
    return { ...monitor, from: now - turnsThatCount * turnMs - onItsWayMs, to: now + onItsWayMs };
  });
  const newest = (await results.within(sql, windows)).map(
    (checks) =>
      new Map(
        checks.filter(({ outcome }) => outcome !== 'unknown').map((check) => [check.probe, check]),
      ),
  );
  const keys = [...new Set(newest.flatMap((each) => [...each.keys()]))];
  const probes = await sql<Observer[]>`
    select p.key, p.organisation_id is not null as is_inside,
      coalesce(l.name, case when p.organisation_id is null then p.continent else p.name end) as name
    from probes p left join places l on l.id = coalesce(p.place_id, p.id)
      and l.organisation_id = p.organisation_id
    where p.key = any(${keys}::int[])
      and (p.organisation_id is null or p.organisation_id = ${organisation})`;
  return newest.map((views) => sidesOf(probes, views));
}

type Observer = { readonly key: number; readonly name: string; readonly is_inside: boolean };

function sidesOf(
  probes: readonly Observer[],
  newest: ReadonlyMap<number, Pick<Check, 'at' | 'outcome'>>,
): Sides {
  const seen = probes
    .flatMap(({ key, ...probe }) => {
      const check = newest.get(key);
      return check ? [{ ...probe, at: check.at, is_failing: check.outcome === 'fail' }] : [];
    })
    .toSorted((a, b) => a.at - b.at);
  // The newest view of each place.
  const rows = [...new Map(seen.map((view) => [view.name, view])).values()].toSorted((a, b) =>
    a.name < b.name ? -1 : 1,
  );
  const named = (isInside: boolean, isFailing: boolean): readonly string[] =>
    rows.flatMap(({ name, is_inside, is_failing }) =>
      is_inside === isInside && is_failing === isFailing ? [name] : [],
    );
  const side = (isInside: boolean) => ({
    failing: named(isInside, true),
    passing: named(isInside, false),
  });
  return { inside: side(true), outside: side(false) };
}

/** The open incident may be of the inside alone, where that counts. */
function isOutsideDown({ outside: { failing, passing } }: Sides): boolean {
  return failing.length >= 2 || (failing.length === 1 && passing.length === 0);
}
