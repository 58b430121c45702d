import { isRecord } from '../base/record.ts';
import { type Fields, valueAt, withFields } from './chosen-fields.ts';
import { nextOf } from './pages.ts';
import { type Colour, cut, harmless, type Paint, padded, relative, widthOf } from './terminal.ts';

/** Answers for people: a list as a table, a single thing as a card. What the service may add later is shown as well. */
export type Terminal = { readonly columns: number; readonly paint: Paint; readonly now: number; readonly fields?: Fields | undefined };

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
  created: 'green',
  changed: 'green',
  refused: 'red',
  left: 'grey',
};
const meaningKeys = new Set(['status', 'state', 'result']);

/** Lists with columns of their own, each by a field that no other has. */
const ownColumns: readonly { readonly has: string; readonly columns: readonly string[] }[] = [
  { has: 'event', columns: ['at', 'event', 'name', 'monitor', 'incident', 'id'] },
  { has: 'delivering', columns: ['kind', 'name', 'enabled', 'verified', 'delivering', 'covers', 'failure', 'owner', 'id'] },
  { has: 'shown', columns: ['state', 'name', 'continent', 'expires_at', 'heard_at', 'shown', 'id'] },
];

/** Columns of the lists that are known, most wanted first; a list that is not known shows all its plain fields. */
const columnsOf = (item: Item): string[] => {
  const own = ownColumns.find(({ has }) => Object.hasOwn(item, has));
  if (own) return own.columns.filter((key) => Object.hasOwn(item, key));
  // One line for each of many that were sent: what became of it comes first.
  if (Object.hasOwn(item, 'result')) return ['result', 'name', 'external_id', 'error', 'id'].filter((key) => Object.hasOwn(item, key));
  const wanted = [
    ...[
      'status',
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
const givenUp = [
  'incident',
  'monitor',
  'shown',
  'owner',
  'covers',
  'failure',
  'heard_at',
  'external_id',
  'resolved_at',
  'confirmed_from',
  'seen_from',
  'slug',
  'rrule',
  'enabled',
  'interval_s',
  'type',
  'groups',
  'description',
];

/** How much of a column stays readable: a name most of all, a word of state whole. */
const leastOf: Readonly<Record<string, number>> = {
  name: 24,
  monitor_name: 24,
  display_name: 24,
  cause: 16,
  target: 16,
  error: 24,
  failure: 24,
};
const wholeKeys = new Set(['id', 'monitor', 'incident', 'event']);
const leastWidth = (key: string, whole: number): number => {
  if (wholeKeys.has(key) || meaningKeys.has(key)) return whole;
  return Math.min(whole, leastOf[key] ?? 12);
};

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
    const { name, continent, code, message } = value;
    if (typeof code === 'string' && typeof message === 'string') return harmless(message);
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

/** As much of each id's end as tells it from the others here: every command takes that for the id. */
const shortIds = (ids: readonly string[]): readonly string[] => {
  for (let length = 8; length < 36; length += 2) {
    const ends = ids.map((id) => id.slice(-length));
    if (new Set(ends).size === new Set(ids).size) return ends;
  }
  return ids;
};

/** The name alone of a probe, without its continent. */
const placeName = (value: unknown): string | undefined =>
  isRecord(value) && typeof value.continent === 'string' && typeof value.name === 'string' ? harmless(value.name) : undefined;

const widest = (texts: readonly string[]): number => texts.reduce((most, text) => Math.max(most, widthOf(text)), 0);
const sum = (widths: readonly number[]): number => widths.reduce((all, width) => all + width, 0);

/** Takes from the widest column that has more than it needs, as long as there is too much. */
const narrowed = (widths: readonly number[], least: readonly number[], room: number): number[] => {
  const narrow = [...widths];
  for (let over = sum(narrow) - room; over > 0; over -= 1) {
    const spare = narrow.map((width, index) => (width > (least[index] ?? 0) ? width : 0));
    const most = spare.indexOf(Math.max(...spare));
    if ((spare[most] ?? 0) === 0) break;
    narrow[most] = (narrow[most] ?? 0) - 1;
  }
  return narrow;
};

/** Above a column half the words do: `seen` for `seen_from`, `monitor` for `monitor_name`. */
const columnTitle = (key: string): string => title(key).replace(/ (from|name)$/, '');

const table = (items: readonly unknown[], { columns, paint, now, fields }: Terminal): string => {
  const rows = items.filter(isRecord).map(withState);
  const first = rows[0];
  if (!first) return 'None.\n';
  const all = fields ? fields.map((path) => path.join('.')) : columnsOf(first);
  const cells = new Map<string, readonly string[]>(
    all.map((key) => [key, rows.map((row) => plainText(key, valueAt(row, key.split('.')), now))]),
  );
  const whole = new Map(all.map((key) => [key, Math.max(widthOf(columnTitle(key)), widest(cells.get(key) ?? []))]));
  const gaps = (count: number): number => 2 * (count - 1);
  if (sum([...whole.values()]) + gaps(all.length) > columns) {
    for (const [key, texts] of cells) {
      const short = key === 'id' ? shortIds(texts) : rows.map((row, index) => placeName(row[key]) ?? texts[index] ?? '');
      cells.set(key, short);
      whole.set(key, Math.max(widthOf(columnTitle(key)), widest(short)));
    }
  }
  const least = (kept: readonly string[]): number[] => kept.map((key) => leastWidth(key, whole.get(key) ?? 0));
  const tooWide = (kept: readonly string[]): boolean => sum(least(kept)) + gaps(kept.length) > columns;
  const keys = fields ? all : givenUp.reduce((kept, key) => (tooWide(kept) ? kept.filter((one) => one !== key) : kept), all);
  const hidden = all.filter((key) => !keys.includes(key));
  const room = Math.max(40, columns) - gaps(keys.length);
  const wide = keys.map((key) => whole.get(key) ?? 0);
  const widths = narrowed(
    narrowed(wide, least(keys), room),
    keys.map((key, index) => (key === 'id' ? (wide[index] ?? 0) : 8)),
    room,
  );
  const line = (texts: readonly string[], paintCell: (text: string, index: number) => string): string =>
    texts
      .map((text, index) => paintCell(padded(cut(text, widths[index] ?? 0), widths[index] ?? 0), index))
      .join('  ')
      .trimEnd();
  const head = line(keys.map(columnTitle), (text) => paint(text, 'bold'));
  const lines = rows.map((_, row) =>
    line(
      keys.map((key) => cells.get(key)?.[row] ?? ''),
      (text, index) => painted(keys[index] ?? '', text, paint),
    ),
  );
  const note =
    hidden.length > 0
      ? ['', paint(`No room for ${hidden.map(columnTitle).join(', ')}: a wider terminal or --json shows more.`, 'grey')]
      : [];
  return `${[head, ...lines, ...note].join('\n')}\n`;
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
  if (!Array.isArray(body.items)) return card(terminal.fields ? Object(withFields(body, terminal.fields)) : body, terminal);
  const next = nextOf(body);
  const more = next === undefined ? '' : `\nThere are more: add --all, or --${next.key} ${harmless(next.value)}\n`;
  return `${table(body.items, terminal)}${more}`;
};
