import { isRecord } from '../base/record.ts';
import { type Colour, cut, harmless, type Paint, padded, relative, widthOf } from './terminal.ts';

/** Answers for people: a list as a table, a single thing as a card. What the service may add later is shown as well. */
export type Terminal = { readonly columns: number; readonly paint: Paint; readonly now: number };

type Item = Readonly<Record<string, unknown>>;

/** What a word means, wherever it stands; status is always told as a word, colour only helps the eye. */
const meanings: Readonly<Record<string, Colour>> = {
  up: 'green',
  down: 'red',
  verifying: 'yellow',
  pending: 'grey',
  paused: 'grey',
  open: 'red',
  resolved: 'green',
};
const meaningKeys = new Set(['status', 'state']);

/** Columns of the lists that are known, most wanted first; a list that is not known shows all its plain fields. */
const columnsOf = (item: Item): string[] => {
  const wanted = [
    ...[
      'state',
      'name',
      'monitor_name',
      'type',
      'target',
      'interval_s',
      'enabled',
      'cause',
      'started_at',
      'resolved_at',
      'seen_from',
      'confirmed_from',
    ],
    ...['starts_at', 'ends_at', 'rrule', 'description', 'monitors', 'groups', 'slug', 'id'],
  ];
  const plain = wanted.filter((key) => Object.hasOwn(item, key));
  return plain.length > 1 ? plain : Object.keys(item);
};

/** What a narrow terminal does without, first things first; half of every word helps nobody. */
const givenUp = ['confirmed_from', 'seen_from', 'resolved_at', 'slug', 'rrule', 'enabled', 'interval_s', 'type', 'groups', 'description'];
const narrowest = 10;

const timeOf = (value: unknown): number | undefined =>
  typeof value === 'string' && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/.test(value) ? Date.parse(value) : undefined;

const plainText = (key: string, value: unknown, now: number): string => {
  if (value === null || value === undefined) return '–';
  const time = timeOf(value);
  if (time !== undefined) return relative(time, now);
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (key === 'interval_s' && typeof value === 'number') return `${value} s`;
  if (Array.isArray(value)) return value.length === 0 ? '–' : String(value.length);
  if (isRecord(value)) {
    const { name, continent } = value;
    return typeof name === 'string' && typeof continent === 'string' ? harmless(`${name} (${continent})`) : harmless(JSON.stringify(value));
  }
  return harmless(String(value));
};

/** An incident says open or resolved as a word of its own. */
const withState = (item: Item): Item =>
  typeof item.open === 'boolean' && Object.hasOwn(item, 'confirmed_at')
    ? { state: item.open ? (item.confirmed_at === null ? 'verifying' : 'open') : 'resolved', ...item }
    : item;

const painted = (key: string, text: string, paint: Paint): string => {
  const colour = meaningKeys.has(key) ? meanings[text.trim()] : undefined;
  return colour ? paint(text, colour) : text;
};

const title = (key: string): string => key.replaceAll('_', ' ').replace(/ (s|at)$/, '');

const table = (items: readonly unknown[], { columns, paint, now }: Terminal): string => {
  const rows = items.filter(isRecord).map(withState);
  const first = rows[0];
  if (!first) return 'None.\n';
  const all = columnsOf(first);
  const widthOfColumn = (key: string): number =>
    Math.max(widthOf(title(key)), ...rows.map((row) => widthOf(plainText(key, row[key], now))));
  const needs = (kept: readonly string[]): number =>
    kept.reduce((sum, key) => sum + (key === 'id' ? widthOfColumn(key) : Math.min(widthOfColumn(key), narrowest)), 2 * (kept.length - 1));
  const keys = givenUp.reduce((kept, key) => (needs(kept) > columns ? kept.filter((one) => one !== key) : kept), all);
  const hidden = all.filter((key) => !keys.includes(key));
  const cells = rows.map((row) => keys.map((key) => plainText(key, row[key], now)));
  const widths = keys.map(widthOfColumn);
  // The widest column gives way first, ids never: half an id is of no use.
  const room = Math.max(40, columns) - 2 * (keys.length - 1);
  for (let over = widths.reduce((sum, width) => sum + width, 0) - room; over > 0; over -= 1) {
    const shrinkable = keys.map((key, index) => (key === 'id' ? 0 : (widths[index] ?? 0)));
    const widest = shrinkable.indexOf(Math.max(...shrinkable));
    if ((widths[widest] ?? 0) <= 8) break;
    widths[widest] = (widths[widest] ?? 0) - 1;
  }
  const line = (texts: readonly string[], paintCell: (text: string, index: number) => string): string =>
    texts
      .map((text, index) => paintCell(padded(cut(text, widths[index] ?? 0), widths[index] ?? 0), index))
      .join('  ')
      .trimEnd();
  const head = line(keys.map(title), (text) => paint(text, 'bold'));
  const lines = [head, ...cells.map((row) => line(row, (text, index) => painted(keys[index] ?? '', text, paint)))];
  if (hidden.length > 0)
    lines.push('', paint(`No room for ${hidden.map(title).join(', ')}: a wider terminal or --json shows more.`, 'grey'));
  return `${lines.join('\n')}\n`;
};

const cardLines = (item: Item, indent: string, terminal: Terminal): string[] => {
  const { paint, now } = terminal;
  const shown = withState(item);
  const width = Math.max(...Object.keys(shown).map((key) => widthOf(title(key))));
  return Object.entries(shown).flatMap(([key, value]) => {
    const label = `${indent}${paint(padded(title(key), width), 'grey')}  `;
    const time = timeOf(value);
    if (time !== undefined) return [`${label}${harmless(String(value))} (${relative(time, now)})`];
    if (isRecord(value) && !(typeof value.continent === 'string')) {
      return Object.keys(value).length === 0 ? [`${label}–`] : [label.trimEnd(), ...cardLines(value, `${indent}  `, terminal)];
    }
    if (Array.isArray(value) && value.length > 0) {
      const lines = value.flatMap((one: unknown) =>
        isRecord(one) ? [`${indent}  -`, ...cardLines(one, `${indent}    `, terminal)] : [`${indent}  ${plainText('', one, now)}`],
      );
      return [label.trimEnd(), ...lines];
    }
    return [`${label}${painted(key, plainText(key, value, now), paint)}`];
  });
};

const card = (item: Item, terminal: Terminal): string => `${cardLines(item, '', terminal).join('\n')}\n`;

/** An answer of any operation; nothing for one without a body. */
export const render = (body: unknown, terminal: Terminal): string => {
  if (body === null || body === undefined) return '';
  if (!isRecord(body)) return `${JSON.stringify(body, null, 2)}\n`;
  if (!Array.isArray(body.items)) return card(body, terminal);
  const more = typeof body.next_cursor === 'string' ? `\nThere are more: add --all, or --cursor ${harmless(body.next_cursor)}\n` : '';
  return `${table(body.items, terminal)}${more}`;
};
