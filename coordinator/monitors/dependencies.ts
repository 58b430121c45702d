import type { Monitor } from './model.ts';

/** A monitor as far as it decides who depends on whom (rule 47). */
export type Dependent = Pick<
  Monitor,
  'name' | 'group' | 'depends_on_monitors' | 'depends_on_groups'
>;

/**
 * Tells how a monitor would depend on itself, in words; undefined where it does not. `all`: by their
 * ids, those that depend on others: nobody else can be part of a circle. Ten thousand monitors are
 * looked through once, whatever they depend on.
 */
export function circlesAmong(
  all: ReadonlyMap<string, Dependent>,
): (start: string) => string | undefined {
  const steps = stepsIn(all);
  const names = new Map([...all].map(([id, { name }]) => [id, name]));
  let told = 0;
  return (start) => {
    if (!steps.has(start)) return undefined;
    // To look for a way costs as much as the circle is long.
    told += 1;
    if (told > mostTold) return `"${names.get(start)}" depends on itself by way of others`;
    const way = wayBack(start, steps);
    return way && `"${names.get(start)}" depends on ${inWords(way, names)}`;
  };
}

const mostTold = 20;
const longestTold = 10;

/** A monitor by its id; a group stands for all its members. */
type Steps = ReadonlyMap<string, readonly string[]>;

function groupNode(group: string): string {
  return `group ${group}`;
}

/** Who leads to whom, as far as it may be part of a circle. */
function stepsIn(all: ReadonlyMap<string, Dependent>): Steps {
  const every = new Map<string, readonly string[]>();
  const members = Map.groupBy(all.keys(), (id) => all.get(id)?.group ?? null);
  for (const [id, { depends_on_monitors, depends_on_groups }] of all)
    if (depends_on_monitors.length + depends_on_groups.length > 0)
      every.set(id, [...depends_on_monitors, ...depends_on_groups.map(groupNode)]);
  for (const [group, ids] of members) if (group !== null) every.set(groupNode(group), ids);
  return withoutEnds(backwards(withoutEnds(backwards(every))));
}

function backwards(steps: Steps): Steps {
  const back = new Map<string, string[]>();
  for (const [from, to] of steps)
    for (const next of to) {
      if (!steps.has(next)) continue;
      const known = back.get(next);
      if (known) known.push(from);
      else back.set(next, [from]);
    }
  return back;
}

/** Takes away, again and again, what nothing leads to: it is part of no circle. */
function withoutEnds(steps: Steps): Steps {
  const left = new Map(steps);
  const leading = new Map<string, number>();
  for (const to of left.values())
    for (const next of to) leading.set(next, (leading.get(next) ?? 0) + 1);
  const ends = [...left.keys()].filter((node) => !leading.has(node));
  for (let end = ends.pop(); end !== undefined; end = ends.pop()) {
    for (const next of left.get(end) ?? []) {
      const others = (leading.get(next) ?? 0) - 1;
      leading.set(next, others);
      if (others === 0 && left.has(next)) ends.push(next);
    }
    left.delete(end);
  }
  return left;
}

/** The shortest way from a node to itself; undefined where there is none. */
function wayBack(start: string, steps: Steps): readonly string[] | undefined {
  const from = new Map<string, string>();
  const waiting = [start];
  for (const node of waiting)
    for (const next of steps.get(node) ?? []) {
      if (next === start) return [...wayTo(node, from), start];
      if (from.has(next)) continue;
      from.set(next, node);
      waiting.push(next);
    }
  return undefined;
}

/** Without where it begins. */
function wayTo(node: string, from: ReadonlyMap<string, string>): readonly string[] {
  const way: string[] = [];
  for (let at: string | undefined = node; at !== undefined && from.has(at); at = from.get(at))
    way.push(at);
  return way.toReversed();
}

/** `"db", which depends on the group of "gateway"`. */
function inWords(way: readonly string[], names: ReadonlyMap<string, string>): string {
  const parts: string[] = [];
  let through = '';
  for (const node of way) {
    const name = names.get(node);
    if (name !== undefined) parts.push(`${through}"${name}"`);
    through = name === undefined ? 'the group of ' : '';
  }
  const shown = parts.slice(0, longestTold).join(', which depends on ');
  return parts.length > longestTold ? `${shown}, and so on` : shown;
}
