import type { Continent } from '../../shared/base/continents.ts';
import type { Roster } from '../../shared/checks/assignment.ts';
import { continentsOf, nextTurn, type Placed, turns } from '../../shared/checks/placement.ts';
import type { MonitorState } from './incident-types.ts';

/** Whether nobody has seen it since it was made, resumed or changed. A heartbeat is not looked at: it speaks itself. */
export const isUnseen = ({ watched, views }: Pick<MonitorState, 'watched' | 'views'>): boolean =>
  watched.kind !== 'heartbeat' && watched.paused_at === null && views.length === 0;

/** Who is to look, and when the first turn comes that makes the look needless. */
export type FirstLook = { readonly continent: Continent; readonly turn_at: number };

/** Whose first turn comes sooner than this needs no look of its own. */
const soon = 10_000;

/**
 * Who is to look at once at a monitor that is new, goes on after a pause, or is to be checked otherwise: the continent whose turn is next, or
 * nobody when that turn comes soon. Without it a monitor of an hour could tell nothing for an hour.
 */
export const firstLook = (assignment: Placed, roster: Roster, now: number): FirstLook | undefined => {
  let next: FirstLook | undefined;
  for (const continent of continentsOf(assignment, roster)) {
    const its = turns(assignment, continent, roster);
    const at = its === undefined ? Number.POSITIVE_INFINITY : nextTurn(its, now);
    if (next === undefined || at < next.turn_at) next = { continent, turn_at: at };
  }
  return next !== undefined && next.turn_at - now > soon ? next : undefined;
};
