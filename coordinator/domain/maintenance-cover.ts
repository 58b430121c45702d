import { clip, type Interval, union } from '../../shared/base/time.ts';

/** A maintenance window as far as it covers: when it was made and deleted, when it occurs, whom it names. */
export type CoveringWindow = {
  readonly created_at: number;
  readonly deleted_at: number | null;
  readonly occurrences: readonly Interval[];
  /** Whether it names the monitor itself. */
  readonly direct: boolean;
  readonly groups: readonly string[];
};

/** A monitor's time in a group; `to` is null while it lasts. */
export type Membership = { readonly group: string; readonly from: number; readonly to: number | null };

/**
 * When a monitor was, is and will be covered. Cover begins at the later of the window's start and its creation, and deleting the
 * window ends it then (rule 24); through a group it lasts as long as the membership (rule 26).
 */
export const coverOf = (windows: readonly CoveringWindow[], memberships: readonly Membership[]): Interval[] => {
  const covered = windows.flatMap(({ created_at, deleted_at, occurrences, direct, groups }) => {
    const life = clip(occurrences, { from: created_at, to: deleted_at ?? Number.POSITIVE_INFINITY });
    if (direct) return life;
    const inside = memberships.filter(({ group }) => groups.includes(group));
    return inside.flatMap(({ from, to }) => clip(life, { from, to: to ?? Number.POSITIVE_INFINITY }));
  });
  return union(covered);
};
