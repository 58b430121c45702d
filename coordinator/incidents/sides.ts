import {
  type DescribedSides,
  type SideSeen,
  type Sides,
  sidesSentence,
  verdictOfSides,
} from '../../shared/base/sides.ts';
import type { Queryable } from '../database/connect.ts';

/** What each side of an incident saw, as the core counted it; null where one side checks. */
export type StoredSides = {
  readonly is_outside: boolean;
  readonly own: SideOfPlaces;
  readonly across: SideOfPlaces;
  /** Of the private places by id. */
  readonly names: Readonly<Record<string, string>> | null;
};

type SideOfPlaces = { readonly failed: readonly string[]; readonly passed: readonly string[] };

/** Of `incidents i`. */
export function sidesOf(sql: Queryable) {
  return sql`
  case when i.progress -> 'progress' ? 'across' then json_build_object(
    'is_outside', i.seen_place is null,
    'own', json_build_object('failed', i.progress -> 'progress' -> 'failed',
      'passed', i.progress -> 'progress' -> 'passed'),
    'across', i.progress -> 'progress' -> 'across',
    'names', (select json_object_agg(l.id, l.name) from places l
      where l.organisation_id = i.organisation_id)) end`;
}

/** With the verdict in words. */
export function describeSides(sides: Sides, outsideIsDown: boolean): DescribedSides {
  const verdict = verdictOfSides(sides, outsideIsDown);
  return { ...sides, verdict, sentence: verdict && `${sidesSentence(sides, verdict)}.` };
}

/** Two continents make an outage of a side that the incident is not of. */
const enough = 2;

export function sidesFrom(stored: StoredSides | null, isConfirmed: boolean): DescribedSides | null {
  if (stored === null) return null;
  const { is_outside, own, across, names } = stored;
  const [mine, other] = [seenBy(own, names), seenBy(across, names)];
  return is_outside
    ? describeSides({ outside: mine, inside: other }, isConfirmed)
    : describeSides({ outside: other, inside: mine }, other.failing.length >= enough);
}

/** What failed once counts as failing, as for the scope (rule 15). */
function seenBy({ failed, passed }: SideOfPlaces, names: StoredSides['names']): SideSeen {
  const called = (place: string): string => names?.[place] ?? place;
  return {
    failing: failed.map(called),
    passing: passed.filter((place) => !failed.includes(place)).map(called),
  };
}

/** For readers outside the organisation, who learn of private places that there are some. */
export function withoutNames(told: DescribedSides): DescribedSides {
  const sides = { inside: { failing: [], passing: [] }, outside: told.outside };
  return { ...told, ...sides, sentence: told.verdict && `${sidesSentence(sides, told.verdict)}.` };
}
