import { type Continent, isContinent } from '../../shared/base/continents.ts';
import { Refusal } from '../../shared/base/errors.ts';
import { nameFrom } from '../../shared/base/names.ts';
import type { Queryable } from '../database/connect.ts';
import { outboxChannel } from '../database/outbox.ts';
import { type Checker, placeName } from '../monitors/locations.ts';
import type { RecentChecks } from './recent-checks.ts';

/**
 * Private places. The probes of one share its monitors, and check for another that is lost (rules 5
 * and 7). A place has the id of its first probe, or of the invitation that others were to join.
 */

/** Of `probes p`: the place of a private probe; null of a public one. */
export function placeOf(sql: Queryable) {
  return sql`case when p.organisation_id is not null then coalesce(p.place_id, p.id) end`;
}

/** A private place with the probes that are not removed. */
type Place = {
  readonly id: string;
  readonly name: string;
  readonly continent: Continent;
  readonly probes: readonly string[];
};

/** Those of the organisation that have a probe, by name. */
export async function placesOf(sql: Queryable, organisation: string): Promise<readonly Place[]> {
  return sql<Place[]>`
    select ${placeOf(sql)} as id, coalesce(min(l.name), min(p.name)) as name, min(p.continent) as continent,
      array_agg(p.name order by p.key) as probes
    from probes p left join places l on l.id = p.place_id and l.organisation_id = p.organisation_id
    where p.revoked_at is null and p.organisation_id = ${organisation}
    group by 1 order by 2, 1`;
}

/** A probe that may have checked a monitor of the organisation, removed ones too. */
export type SeeingProbe = {
  readonly key: number;
  readonly name: string;
  readonly continent: Continent;
  readonly region: string | null;
  /** Of a private one. */
  readonly place: Pick<Place, 'id' | 'name'> | null;
};

export function seeingProbes(
  sql: Queryable,
  organisation: string,
): Promise<readonly SeeingProbe[]> {
  return sql<SeeingProbe[]>`
    select p.key, p.name, p.continent, p.region, case when p.organisation_id is not null
      then json_build_object('id', ${placeOf(sql)}, 'name', coalesce(l.name, p.name)) end as place
    from probes p left join places l on l.id = coalesce(p.place_id, p.id)
      and l.organisation_id = p.organisation_id
    where p.organisation_id is null or p.organisation_id = ${organisation}`;
}

/** The name of the narrowest place that a probe belongs to. */
export function placeNameOf({ place, region, continent }: SeeingProbe): string {
  return place?.name ?? region ?? continent;
}

export type NamedPlace = Pick<Place, 'id' | 'name' | 'continent'>;

/** Of these ids the places that the organisation has or had. */
export async function placesAmong(
  sql: Queryable,
  organisation: string,
  ids: readonly string[],
): Promise<readonly NamedPlace[]> {
  return ids.length === 0
    ? []
    : sql<NamedPlace[]>`
      select ${placeOf(sql)}::text as id, coalesce(min(l.name), min(p.name)) as name,
        min(p.continent) as continent
      from probes p left join places l on l.id = p.place_id and l.organisation_id = p.organisation_id
      where p.organisation_id = ${organisation} and ${placeOf(sql)}::text = any(${ids})
      group by 1`;
}

type CheckerRow = Omit<Checker, 'organisation' | 'place'> & {
  readonly organisation_id: string | null;
  readonly place_id: string | null;
};

/**
 * The probes that could check something of this organisation, by their rows alone: whether they are
 * present now does not matter.
 */
export async function checkersOf(
  sql: Queryable,
  organisation: string,
): Promise<readonly Checker[]> {
  const rows = await sql<CheckerRow[]>`
    select p.id, p.organisation_id, ${placeOf(sql)} as place_id, p.continent, p.region,
      case when p.organisation_id is not null then coalesce(l.name, p.name) end as place_name,
      p.allowed_cidrs, p.kinds
    from probes p left join places l on l.id = p.place_id and l.organisation_id = p.organisation_id
    where p.revoked_at is null
      and (p.organisation_id is null or p.organisation_id = ${organisation})`;
  return rows.map(({ organisation_id, place_id, ...row }) => ({
    ...row,
    organisation: organisation_id,
    place: place_id,
  }));
}

export async function keepPlace(
  sql: Queryable,
  organisation: string,
  { id, name, continent }: Pick<Place, 'id' | 'name'> & { readonly continent: string },
): Promise<void> {
  await sql`insert into places (id, organisation_id, name, continent)
    values (${id}, ${organisation}, ${name}, ${continent}) on conflict do nothing`;
}

/** Another place, or a probe or an open invitation of another, has this name. */
export async function isPlaceNameTaken(
  sql: Queryable,
  organisation: string,
  { id, name }: Pick<Place, 'id' | 'name'>,
  now: number,
): Promise<boolean> {
  const [row] = await sql<{ taken: boolean }[]>`select
      exists (select 1 from probes p
        left join places l on l.id = p.place_id and l.organisation_id = p.organisation_id
        where p.organisation_id = ${organisation} and p.revoked_at is null
          and ${name} in (p.name, l.name) and ${placeOf(sql)} <> ${id})
      or exists (select 1 from probe_invitations where organisation_id = ${organisation}
        and name = ${name} and place_id is distinct from ${id}
        and used_at is null and revoked_at is null and expires_at > ${new Date(now)}) as taken`;
  return row?.taken === true;
}

/**
 * Configs of monitors name it by its new name; they stand in the order of the ids. The caller has
 * locked the organisation.
 */
export async function renamePlace(
  sql: Queryable,
  organisation: string,
  place: Pick<Place, 'id' | 'name'> & { readonly continent: string },
  name: string,
): Promise<void> {
  await keepPlace(sql, organisation, place);
  await sql`update probes set place_id = ${place.id}
    where id = ${place.id} and organisation_id = ${organisation} and place_id is null`;
  await sql`update places set name = ${name}
    where id = ${place.id} and organisation_id = ${organisation}`;
  const called = placeName(place.id, organisation, await checkersOf(sql, organisation));
  await sql`update monitors m set config = jsonb_set(m.config, '{places}', (
      select jsonb_agg(case when n.id = ${place.id} then ${called}::text else n.name #>> '{}' end
        order by n.nth)
      from rows from (unnest(m.places), jsonb_array_elements(m.config -> 'places'))
        with ordinality as n (id, name, nth)))
    where organisation_id = ${organisation} and places @> ${[place.id]}::text[]`;
}

/** How many monitors of the organisation were checked of late from each place, by its id. */
export async function monitorsByPlace(
  sql: Queryable,
  recent: RecentChecks,
): Promise<ReadonlyMap<string, number>> {
  const rows = await sql<{ key: number; place: string }[]>`
    select p.key, place
    from probes p cross join lateral unnest(case when p.organisation_id is null
      then array[p.continent, p.continent || '/' || p.region]
      else array[${placeOf(sql)}::text] end) as place
    where p.key = any(${[...recent.keys()]}::int[]) and place is not null`;
  return new Map(
    Array.from(
      Map.groupBy(rows, ({ place }) => place),
      ([place, probes]) => {
        const monitors = probes.flatMap(({ key }) => [...(recent.get(key)?.monitors ?? [])]);
        return [place, new Set(monitors).size];
      },
    ),
  );
}

/**
 * Where on its continent a public probe is. A place's id is made of it (`Europe/Frankfurt`), and it
 * must not read like a continent. @throws Refusal `name_invalid`.
 */
export function regionFrom(given: string | null): string | null {
  if (given === null) return null;
  const region = nameFrom(given, 'region');
  const fault = regionFault(region);
  if (fault === undefined) return region;
  throw new Refusal('name_invalid', {
    region: `${fault}; enter a name such as Frankfurt or eu-central.`,
  });
}

const longestRegion = 80;

function regionFault(region: string): string | undefined {
  if ([...region].length > longestRegion) return `is longer than ${longestRegion} characters`;
  if (isContinent(region)) return `"${region}" is a continent`;
  return /[/:]/.test(region) ? `"${region}" has a slash or a colon` : undefined;
}

/** Undefined when there is no such public probe. */
export async function writeRegion(
  sql: Queryable,
  id: string,
  region: string | null,
): Promise<
  (Pick<Place, 'id' | 'name' | 'continent'> & { readonly region: string | null }) | undefined
> {
  const [row] = await sql<
    { id: string; name: string; continent: Continent; region: string | null }[]
  >`
    update probes set region = ${region}
    where id = ${id} and organisation_id is null and revoked_at is null
    returning id, name, continent, region`;
  if (row) await sql`select pg_notify(${outboxChannel}, 'probe')`;
  return row;
}

/** Where each probe that may have checked it sees a monitor from. */
export async function placesOfProbes(
  sql: Queryable,
  monitor: number,
): Promise<ReadonlyMap<number, string>> {
  const rows = await sql<{ key: number; place: string }[]>`
    select p.key, ${seenFrom(sql)} as place from monitors m
      join probes p on p.organisation_id is null or p.organisation_id = m.organisation_id
    where m.key = ${monitor}`;
  return new Map(rows.map(({ key, place }) => [key, place]));
}

/**
 * Of results `r` with their probe `p` and monitor `m`: a private place among others sees another
 * side than its continent. Figures have it among the continents.
 */
function seenFrom(sql: Queryable, hasPlaces = sql`m.places is not null`) {
  return sql`case when ${hasPlaces} then coalesce(${placeOf(sql)}::text, p.continent)
    else p.continent end`;
}
