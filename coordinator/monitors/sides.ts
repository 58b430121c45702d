import { type DescribedSides, describeSides, type Sides } from '../../shared/base/sides.ts';
import { haveBothSides, type Place } from '../../shared/checks/places.ts';
import type { Queryable } from '../database/connect.ts';
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
  const sides = await newestByPlace(
    sql,
    results,
    organisation,
    { ...row, places: row.places },
    now,
  );
  return describeSides(sides, isDown && isOutsideDown(sides));
}

/** A view counts for two of its place's turns, and for some time on its way to us. */
const turnsThatCount = 2;

const onItsWayMs = 60_000;

/** The newest result of each continent and private place; what one monitor's page can afford. */
async function newestByPlace(
  sql: Queryable,
  results: Results,
  organisation: string,
  monitor: Checked,
  now: number,
): Promise<Sides> {
  const turnMs = monitor.places.length * monitor.interval_s * 1_000;
  const from = now - turnsThatCount * turnMs - onItsWayMs;
  // A probe's clock may be a little ahead of ours.
  const [checks = []] = await results.within(sql, [{ ...monitor, from, to: now + onItsWayMs }]);
  const newest = new Map(
    checks.filter(({ outcome }) => outcome !== 'unknown').map((check) => [check.probe, check]),
  );
  const probes = await sql<{ key: number; name: string; is_inside: boolean }[]>`
    select p.key, p.organisation_id is not null as is_inside,
      coalesce(l.name, case when p.organisation_id is null then p.continent else p.name end) as name
    from probes p left join places l on l.id = coalesce(p.place_id, p.id)
      and l.organisation_id = p.organisation_id
    where p.key = any(${[...newest.keys()]}::int[])
      and (p.organisation_id is null or p.organisation_id = ${organisation})`;
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
