import type { Sides } from '../../shared/base/sides.ts';
import { haveBothSides, type Place } from '../../shared/checks/places.ts';
import type { Queryable } from '../database/connect.ts';
import { type ToldSides, tellSides } from '../incidents/sides.ts';

/** A view counts for two of its place's turns, and for some time on its way to us. */
const turnsThatCount = 2;
const onItsWayMs = 60_000;

type Checked = {
  readonly key: number;
  readonly interval_s: number;
  readonly places: readonly Place[];
};

/** The newest result of each continent and private place; what one monitor's page can afford. */
const newestByPlace = async (
  sql: Queryable,
  organisation: string,
  { key, interval_s, places }: Checked,
  now: number,
): Promise<Sides> => {
  const turnMs = places.length * interval_s * 1_000;
  const since = new Date(now - turnsThatCount * turnMs - onItsWayMs);
  const rows = await sql<{ name: string; is_inside: boolean; is_failing: boolean }[]>`
    with newest as (
      select distinct on (r.probe_key) r.probe_key, r.at, r.outcome from results r
      where r.monitor_key = ${key} and r.at > ${since} and r.outcome < 2
      order by r.probe_key, r.at desc)
    select distinct on (name)
      coalesce(l.name, case when p.organisation_id is null then p.continent else p.name end) as name,
      p.organisation_id is not null as is_inside, n.outcome = 1 as is_failing
    from newest n join probes p on p.key = n.probe_key
      left join places l on l.id = coalesce(p.place_id, p.id)
        and l.organisation_id = p.organisation_id
    where p.organisation_id is null or p.organisation_id = ${organisation}
    order by name, n.at desc`;
  const named = (isInside: boolean, isFailing: boolean): readonly string[] =>
    rows.flatMap(({ name, is_inside, is_failing }) =>
      is_inside === isInside && is_failing === isFailing ? [name] : [],
    );
  const side = (isInside: boolean) => ({
    failing: named(isInside, true),
    passing: named(isInside, false),
  });
  return { inside: side(true), outside: side(false) };
};

/** What both sides of a monitor see now; null where one side checks. `isDown`: an outage is open. */
export const sidesNow = async (
  sql: Queryable,
  organisation: string,
  monitor: string,
  { isDown, now }: { readonly isDown: boolean; readonly now: number },
): Promise<ToldSides | null> => {
  const [row] = await sql<(Omit<Checked, 'places'> & { places: readonly Place[] | null })[]>`
    select key, interval_s, places from monitors
    where organisation_id = ${organisation} and id = ${monitor} and places is not null`;
  if (!row?.places || !haveBothSides(row.places)) return null;
  const sides = await newestByPlace(sql, organisation, { ...row, places: row.places }, now);
  return tellSides(sides, isDown && isOutsideDown(sides));
};

/** The open incident may be of the inside alone, where that counts. */
const isOutsideDown = ({ outside: { failing, passing } }: Sides): boolean =>
  failing.length >= 2 || (failing.length === 1 && passing.length === 0);
