import type { Choices } from '../../parts/part-chosen-fields.ts';
import type { Window } from './page-maintenance-values.ts';

/** What a window is called that may have no name. */
export const titleFrom = (name: string | null, covers: readonly string[], count: number): string => {
  if (name !== null) return name;
  const [first] = covers;
  if (first === undefined) return 'Maintenance of what is deleted';
  return count === 1 ? `Maintenance of ${first}` : `Maintenance of ${first} and ${count - 1} more`;
};

export const titleOf = ({ name, monitors, groups }: Pick<Window, 'name' | 'monitors' | 'groups'>, choices: Choices): string => {
  const among = (all: Choices['groups'], ids: readonly string[]): string[] =>
    all.flatMap((each) => (ids.includes(each.id) ? [each.name] : []));
  const covers = [...among(choices.groups, groups), ...among(choices.monitors, monitors)];
  return titleFrom(name, covers, covers.length);
};
