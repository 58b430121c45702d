import type { Monitor } from './model.ts';

/** A monitor as far as it decides who depends on whom (rule 47). */
export type Dependent = Pick<
  Monitor,
  'name' | 'group' | 'depends_on_monitors' | 'depends_on_groups'
>;

/**
 * How a monitor would depend on itself, in words; undefined where it does not. `all`: by their ids,
 * those that depend on others: nobody else can be part of a circle.
 */
export function circleOf(start: string, all: ReadonlyMap<string, Dependent>): string | undefined {
  const members = Map.groupBy(all.keys(), (id) => all.get(id)?.group ?? null);
  const seen = new Set<string>();
  const walk = (id: string): string | undefined => {
    const own = all.get(id);
    if (own === undefined || seen.has(id)) return undefined;
    seen.add(id);
    const steps = [
      ...own.depends_on_monitors.map((parent) => ({ parent, through: '' })),
      ...own.depends_on_groups.flatMap((group) =>
        (members.get(group) ?? []).map((parent) => ({ parent, through: 'the group of ' })),
      ),
    ];
    for (const { parent, through } of steps) {
      const words = `${through}"${all.get(parent)?.name}"`;
      if (parent === start) return words;
      const rest = walk(parent);
      if (rest !== undefined) return `${words}, which depends on ${rest}`;
    }
    return undefined;
  };
  const way = walk(start);
  return way === undefined ? undefined : `"${all.get(start)?.name}" depends on ${way}`;
}
