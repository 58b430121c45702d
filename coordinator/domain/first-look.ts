import type { Continent } from '../../shared/base/continents.ts';
import type { Roster } from '../../shared/checks/assignment.ts';
import { continentsOf, nextTurn, type Placed, probeOf, turns } from '../../shared/checks/placement.ts';
import type { MonitorState } from './decision-types.ts';

/** Whether nobody has seen it since it was made, resumed or changed. A heartbeat is not looked at: it speaks itself. */
export const isUnseen = ({ watched, views }: Pick<MonitorState, 'watched' | 'views'>): boolean =>
  watched.kind !== 'heartbeat' && watched.paused_at === null && views.length === 0;

/** Who is to look, and when the first turn comes that makes the look needless. */
export type FirstLook = { readonly continent: Continent; readonly turn_at: number };

/** Whose first turn comes sooner than this needs no look of its own. */
const soon = 1_000;

const nextObserver = (assignment: Placed, roster: Roster, now: number): FirstLook | undefined => {
  let next: FirstLook | undefined;
  for (const continent of continentsOf(assignment, roster)) {
    const its = turns(assignment, continent, roster);
    const at = its === undefined ? Number.POSITIVE_INFINITY : nextTurn(its, now);
    if (next === undefined || at < next.turn_at) next = { continent, turn_at: at };
  }
  return next;
};

/** What a first answer is awaited of: a probe that was asked to look, or whose turn comes soon. */
export type AwaitedLook = {
  readonly continent: Continent;
  readonly probe: string;
  /** When it is taken for lost, and how long it will have been waited for by then. */
  readonly until: number;
  readonly patience_ms: number;
};

/** Beyond the time limit of the check: for its way there and back, and for waiting for room among a thousand others. */
const patienceMs = 15_000;

/**
 * Who is to look at once at a monitor that is new, goes on after a pause, or is to be checked otherwise: the continent whose turn is next, or
 * nobody when that turn comes soon. Without it a monitor of an hour could tell nothing for an hour. A look that is awaited already is asked for
 * again only when its probe is no longer the one to look, or has not answered for long, and then for twice as long.
 */
export const firstLook = (
  assignment: Placed & { readonly timeout_ms: number },
  awaited: AwaitedLook | undefined,
  roster: Roster,
  now: number,
): { readonly awaited: AwaitedLook | undefined; readonly look: FirstLook | undefined } => {
  const isStillAwaited =
    awaited !== undefined && now < awaited.until && probeOf(assignment, awaited.continent, roster)?.id === awaited.probe;
  if (isStillAwaited) return { awaited, look: undefined };
  const next = nextObserver(assignment, roster, now);
  const probe = next && probeOf(assignment, next.continent, roster);
  if (!next || !probe) return { awaited: undefined, look: undefined };
  const isSoon = next.turn_at - now <= soon;
  const isLost = awaited !== undefined && now >= awaited.until;
  const patience_ms = isLost ? awaited.patience_ms * 2 : assignment.timeout_ms + patienceMs;
  const until = (isSoon ? next.turn_at : now) + patience_ms;
  return { awaited: { continent: next.continent, probe: probe.id, until, patience_ms }, look: isSoon ? undefined : next };
};
