import type { PlannedObject } from './files.ts';

/** Above the depth of references. */
const mostRounds = 5;

type Accepted<All> = {
  readonly objects: All;
  readonly planned: readonly PlannedObject[];
  readonly skipped: readonly PlannedObject[];
};

/**
 * What the service accepts of a file: what it refuses is left out, as `without` does it, until
 * nothing more is refused. Each round may show what only stood with the help of another.
 */
export async function accepted<All>(
  wanted: All,
  plan: (objects: All) => Promise<readonly PlannedObject[]>,
  without: (objects: All, refused: readonly PlannedObject[]) => All,
): Promise<Accepted<All>> {
  let objects = wanted;
  const skipped: PlannedObject[] = [];
  for (let round = 1; ; round += 1) {
    const planned = await plan(objects);
    const refused = planned.filter(({ result }) => result === 'refused');
    if (refused.length === 0 || round === mostRounds) return { objects, planned, skipped };
    skipped.push(...refused);
    objects = without(objects, refused);
  }
}
