import { type FileKind, fileKinds, type PlannedObject } from '../../api/files.ts';
import { type Paint, printable } from '../terminal.ts';

/** A plan for people: what would be created, changed and deleted. */

const signs = {
  created: ['+', 'green'],
  changed: ['~', 'yellow'],
  deleted: ['-', 'red'],
  kept: ['=', 'grey'],
  refused: ['!', 'red'],
} as const;

/** @param placeOf where the file has it, `antipode.yaml:12:3`. */
export function planText(
  objects: readonly PlannedObject[],
  paint: Paint,
  placeOf: (kind: string, key: string) => string,
): string {
  const lines = objects.flatMap((object) => {
    const { kind, key, result, changes, error } = object;
    if (!isSigned(result)) return [];
    const [sign, colour] = signs[result];
    const title = `${sign} ${wordOf(kind)} ${printable(key)}`;
    if (error !== null)
      return [
        `${paint(title, colour)}: ${printable(error.message)}  ${paint(placeOf(kind, key), 'grey')}`,
      ];
    if (result === 'kept')
      return [`${paint(title, colour)}: the file has it no more; --prune deletes it`];
    return [
      paint(title, colour),
      ...Object.entries(changes).map(([name, change]) => changeLine(name, change, paint)),
    ];
  });
  return `${[...lines, ...(lines.length > 0 ? [''] : []), summaryOf(objects)].join('\n')}\n`;
}

function isSigned(result: string): result is keyof typeof signs {
  return Object.hasOwn(signs, result);
}

const words: Readonly<Record<FileKind, string>> = {
  groups: 'group',
  monitors: 'monitor',
  channels: 'channel',
  maintenance: 'maintenance',
  objectives: 'objective',
  status_pages: 'status page',
};

function wordOf(kind: string): string {
  return words[fileKinds.find((each) => each === kind) ?? 'monitors'];
}

function changeLine(name: string, change: unknown, paint: Paint): string {
  if (name === 'secrets' || name === 'password') return `    ${name}: another`;
  const [before, after] = ['before', 'after'].map((side) =>
    typeof change === 'object' && change !== null ? shown(Reflect.get(change, side)) : '',
  );
  return `    ${name}: ${paint(before ?? '', 'red')} → ${paint(after ?? '', 'green')}`;
}

const longest = 200;

function shown(value: unknown): string {
  const text = printable(typeof value === 'string' ? value : JSON.stringify(value ?? null));
  return text.length > longest ? `${text.slice(0, longest)}…` : text;
}

/** How many there are of each result, those that are none left out. */
export function summaryOf(objects: readonly PlannedObject[]): string {
  const count = (result: string): number => objects.filter((each) => each.result === result).length;
  const told = (
    [
      ['created', 'to create'],
      ['changed', 'to change'],
      ['deleted', 'to delete'],
      ['kept', 'only here'],
      ['refused', 'refused'],
      ['unchanged', 'unchanged'],
    ] as const
  ).flatMap(([result, word]) => (count(result) > 0 ? [`${count(result)} ${word}`] : []));
  return told.length === 0 ? 'The file has no objects.' : `${told.join(', ')}.`;
}

/** Whether applying does anything. */
export function hasChanges(objects: readonly PlannedObject[]): boolean {
  return objects.some(({ result }) => /^(?:created|changed|deleted)$/.test(result));
}
