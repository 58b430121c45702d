import { type Continent, isContinent } from '../../shared/base/continents.ts';
import { Refusal } from '../../shared/base/errors.ts';
import { nameFrom } from '../../shared/base/names.ts';
import type { Queryable } from '../database/connect.ts';
import { outboxChannel } from '../database/outbox.ts';

/**
 * Private places. The probes of one share its monitors, and check for another that is lost (rules 5
 * and 7). A place has the id of its first probe.
 */

/** Of `probes p`: the place of a private probe; null of a public one. */
export const placeOf = (sql: Queryable) =>
  sql`case when p.organisation_id is not null then coalesce(p.place_id, p.id) end`;

/** A private place with the probes that are not removed. */
export type Place = {
  readonly id: string;
  readonly name: string;
  readonly continent: Continent;
  readonly probes: readonly string[];
};

/** Those of the organisation that have a probe, by name. */
export const placesOf = async (sql: Queryable, organisation: string): Promise<readonly Place[]> =>
  sql<Place[]>`
    select ${placeOf(sql)} as id, coalesce(min(l.name), min(p.name)) as name, min(p.continent) as continent,
      array_agg(p.name order by p.key) as probes
    from probes p left join places l on l.id = p.place_id and l.organisation_id = p.organisation_id
    where p.revoked_at is null and p.organisation_id = ${organisation}
    group by 1 order by 2, 1`;

/** A coordinator of the version before makes private probes without a row for their place. */
export const keepPlace = async (
  sql: Queryable,
  organisation: string,
  { id, name, continent }: Place,
): Promise<void> => {
  await sql`insert into places (id, organisation_id, name, continent)
    values (${id}, ${organisation}, ${name}, ${continent}) on conflict do nothing`;
};

/**
 * Where on its continent a public probe is. A place's id is made of it (`Europe/Frankfurt`), and it
 * must not read like a continent. @throws Refusal `name_invalid`.
 */
export const regionFrom = (given: string | null): string | null => {
  if (given === null) return null;
  const region = nameFrom(given, 'region');
  const fault = regionFault(region);
  if (fault === undefined) return region;
  throw new Refusal(
    'name_invalid',
    `region: ${fault}; give a name such as Frankfurt or eu-central.`,
  );
};

const longestRegion = 80;

const regionFault = (region: string): string | undefined => {
  if ([...region].length > longestRegion) return `is longer than ${longestRegion} characters`;
  if (isContinent(region)) return `"${region}" is a continent`;
  return /[/:]/.test(region) ? `"${region}" has a slash or a colon` : undefined;
};

/** Undefined when there is no such public probe. */
export const writeRegion = async (
  sql: Queryable,
  id: string,
  region: string | null,
): Promise<
  (Pick<Place, 'id' | 'name' | 'continent'> & { readonly region: string | null }) | undefined
> => {
  const [row] = await sql<
    { id: string; name: string; continent: Continent; region: string | null }[]
  >`
    update probes set region = ${region}
    where id = ${id} and organisation_id is null and revoked_at is null
    returning id, name, continent, region`;
  if (row) await sql`select pg_notify(${outboxChannel}, 'probe')`;
  return row;
};
