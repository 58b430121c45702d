import type { OutputOf } from '../../shared/api/operation.ts';
import * as api from '../../shared/api/places.ts';
import { countedMinutes } from '../../shared/api/probes.ts';
import { Refusal } from '../../shared/base/errors.ts';
import { nameFrom } from '../../shared/base/names.ts';
import { handle } from '../gate/bind.ts';
import { type InOrganisation, notFound, orNotFound } from '../gate/context.ts';
import { placedPageOf } from '../gate/cursors.ts';
import { addressesOf, kindsOf, stateOf } from './operations.ts';
import { isPlaceNameTaken, monitorsByPlace, renamePlace } from './places.ts';
import { type CheckerRow, checkersFor } from './queries.ts';
import { recentChecks } from './recent-checks.ts';

/** Places as programs see them: what public probes and the organisation's own make together. */

export const listPlaces = handle(api.listPlaces)(async (context, { limit, cursor }) => {
  const all = await allPlaces(context);
  return placedPageOf(
    context.with.cursors,
    ['places', context.organisation.id],
    { limit, cursor },
    async (after, most) =>
      all.filter(({ place }) => after === null || place > (after.place ?? '')).slice(0, most),
    ({ json }) => json,
  );
});

type Json = OutputOf<typeof api.getPlace>;

type PlacedJson = { readonly key: number; readonly place: string; readonly json: Json };

/** More probes than any installation has. */
const mostProbes = 100_000;

type Described = Pick<Json, 'id' | 'name' | 'continent' | 'region' | 'owner'>;

type Ranked = Described & { readonly rank: number };

async function allPlaces({
  sql,
  organisation,
  now,
  with: { results, identifiesProbes },
}: InOrganisation): Promise<readonly PlacedJson[]> {
  const since = now - countedMinutes * 60_000;
  const recent = await recentChecks(sql, results, organisation.id, { since, now });
  const [rows, monitors] = await Promise.all([
    checkersFor(sql, organisation.id, recent, { after: null, most: mostProbes }),
    monitorsByPlace(sql, recent),
  ]);
  const found = new Map<string, { readonly ranked: Ranked; readonly rows: CheckerRow[] }>();
  for (const row of rows)
    for (const ranked of placesWith(row)) {
      const known = found.get(ranked.id);
      if (known) known.rows.push(row);
      else found.set(ranked.id, { ranked, rows: [row] });
    }
  const placeOfList = ({ continent, rank, name, id }: Ranked) =>
    `${continent}/${rank}/${name}/${id}`;
  return [...found.values()]
    .map(({ ranked, rows: probes }) => ({
      key: 0,
      place: placeOfList(ranked),
      json: placeJson(ranked, probes, monitors, identifiesProbes),
    }))
    .toSorted((a, b) => (a.place < b.place ? -1 : 1));
}

/** Ranks of places on one continent. */
const [wide, regional, own] = [0, 1, 2];

/** The places that a probe belongs to. */
function placesWith({ continent, region, in_place }: CheckerRow): readonly Ranked[] {
  if (in_place !== null)
    return [{ ...in_place, continent, region: null, owner: 'organisation', rank: own }];
  const owner = 'installation';
  const all = { id: continent, name: continent, continent, region: null, owner, rank: wide };
  return region === null
    ? [all]
    : [all, { ...all, id: `${continent}/${region}`, name: region, region, rank: regional }];
}

/** A place is as well as its best probe, because that one checks for the others. */
const byState = ['well', 'quarantined', 'doubted', 'lost', 'unseen'] as const;

function placeJson(
  { rank: _, ...place }: Ranked,
  rows: readonly CheckerRow[],
  monitors: ReadonlyMap<string, number>,
  identifies: boolean,
): Json {
  return {
    ...place,
    state: byState.find((state) => rows.some((row) => stateOf(row) === state)) ?? 'unseen',
    kinds: kindsOf(rows),
    monitors: monitors.get(place.id) ?? 0,
    probe_count: rows.length,
    probes: rows.map((row) => ({
      id: row.id,
      name: row.name,
      state: stateOf(row),
      addresses: addressesOf(row, identifies),
    })),
  };
}

export const getPlace = handle(api.getPlace)(async (context, { place_id }) =>
  placeCalled(context, place_id),
);

async function placeCalled(context: InOrganisation, id: string): Promise<Json> {
  return orNotFound(
    (await allPlaces(context)).find(({ json }) => json.id === id),
    'place_not_found',
  ).json;
}

export const updatePlace = handle(api.updatePlace)(async (context, { place_id, ...input }) => {
  const { sql, organisation, now, note } = context;
  const before = await placeCalled(context, place_id);
  if (before.owner !== 'organisation') throw notFound('place_not_found');
  const name = nameFrom(input.name);
  if (await isPlaceNameTaken(sql, organisation.id, { id: before.id, name }, now))
    throw new Refusal('name_taken', {
      name: `there is another place, probe or invitation "${name}"; choose another name.`,
    });
  await renamePlace(sql, organisation.id, before, name);
  note({ before: { name: before.name }, after: { name } });
  return { ...before, name };
});
