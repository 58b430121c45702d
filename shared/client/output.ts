import { isRecord } from '../base/json.ts';
import { nextOf } from './http.ts';
import {
  type Colour,
  cut,
  duration,
  type Paint,
  padded,
  printable,
  relative,
  widthOf,
  wrapped,
} from './terminal.ts';

/** `--fields name,config.timeout_ms`: each as the path of its keys. */
export type Fields = readonly (readonly string[])[];

export function fieldsOf(text: string): Fields {
  return text
    .split(',')
    .map((field) => field.trim())
    .filter((field) => field !== '')
    .map((field) => field.split('.'));
}

function valueAt(item: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (value, key) => (isRecord(value) && Object.hasOwn(value, key) ? value[key] : undefined),
    item,
  );
}

/**
 * The answer in its own shape with only these fields: of each item of a list, or of a single thing.
 */
export function withFields(body: unknown, fields: Fields): unknown {
  if (!isRecord(body)) return body;
  return Array.isArray(body.items)
    ? { ...body, items: body.items.map((item: unknown) => pick(item, fields)) }
    : pick(body, fields);
}

function pick(item: unknown, fields: Fields): Record<string, unknown> {
  const picked: Record<string, unknown> = {};
  for (const path of fields) {
    const value = valueAt(item, path);
    if (value !== undefined && !path.includes('__proto__')) put(picked, path, value);
  }
  return picked;
}

function put(
  target: Record<string, unknown>,
  [first = '', ...rest]: readonly string[],
  value: unknown,
): void {
  const inner = target[first];
  if (rest.length === 0) target[first] = value;
  else {
    const next = isRecord(inner) ? inner : {};
    target[first] = next;
    put(next, rest, value);
  }
}

/**
 * Requested fields that nothing has, and the available names; a deeper field may be absent without
 * a fault.
 */
export function missingFields(
  body: unknown,
  fields: Fields,
): { readonly missing: string[]; readonly there: string[] } {
  const items = itemsOf(body).filter(isRecord);
  const missing =
    items.length === 0
      ? []
      : fields.filter(([first = '']) => items.every((item) => !Object.hasOwn(item, first)));
  return {
    missing: missing.map((path) => path.join('.')),
    there: [...new Set(items.flatMap((item) => Object.keys(item)))],
  };
}

function itemsOf(body: unknown): readonly unknown[] {
  return isRecord(body) && Array.isArray(body.items) ? body.items : [body];
}

/**
 * Answers for people: a list as a table, a single thing as a card. Fields that a newer service adds
 * are shown too.
 */
export type Terminal = {
  readonly columns: number;
  readonly paint: Paint;
  readonly now: number;
  readonly fields?: Fields | undefined;
  /** The columns of the list, from its operation. */
  readonly listed?: readonly string[] | undefined;
};

export type Item = Readonly<Record<string, unknown>>;

/**
 * The colour of a word anywhere. A status is always written as a word; colour only helps the eye.
 */
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

function timeOf(value: unknown): number | undefined {
  return typeof value === 'string' && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/.test(value)
    ? Date.parse(value)
    : undefined;
}

/** The day of a time, as it is written. */
function dayOf(value: unknown): string {
  return String(value).slice(0, 10);
}

function plainText(key: string, value: unknown, now: number): string {
  if (value === null || value === undefined || value === '') return '–';
  const time = timeOf(value);
  if (time !== undefined) return relative(time, now);
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (typeof value === 'number') return numberText(key, value);
  if (Array.isArray(value)) return value.length === 0 ? '–' : String(value.length);
  if (isRecord(value)) {
    const { name, continent, code, message } = value;
    if (typeof code === 'string' && typeof message === 'string') return printable(message);
    return typeof name === 'string' && typeof continent === 'string'
      ? printable(`${name} (${continent})`)
      : printable(JSON.stringify(value));
  }
  return printable(String(value));
}

/**
 * A number with its unit. Inputs in seconds stay in seconds; measured durations are shown in
 * readable units.
 */
function numberText(key: string, value: number): string {
  if (key === 'duration_s' || key.endsWith('_seconds')) return duration(value * 1000);
  if (key.endsWith('_s')) return `${value} s`;
  return key.startsWith('percent') ? `${value}%` : String(value);
}

/** Adds the word open or resolved to an incident. */
function withState(item: Item): Item {
  return typeof item.open === 'boolean' && Object.hasOwn(item, 'confirmed_at')
    ? {
        state: item.open ? (item.confirmed_at === null ? 'verifying' : 'open') : 'resolved',
        ...item,
      }
    : item;
}

function painted(key: string, text: string, paint: Paint): string {
  const colour = meaningKeys.has(key) ? meanings[text.trim()] : undefined;
  return colour ? paint(text, colour) : text;
}

function title(key: string): string {
  return key.replaceAll('_', ' ').replace(/ (s|at|seconds)$/, '');
}

export function table(items: readonly unknown[], terminal: Terminal): string {
  const rows = items.filter(isRecord).map(withState);
  const [first] = rows;
  if (!first) return 'None.\n';
  const all = terminal.fields
    ? terminal.fields.map((path) => path.join('.'))
    : columnsOf(first, terminal.listed);
  const { lines, hidden } = tableOf(rows, all, terminal);
  const note =
    hidden.length > 0
      ? [
          '',
          ...noteLines(
            `No room for ${hidden.map(columnTitle).join(', ')}: a wider terminal or --json shows more.`,
            terminal,
          ),
        ]
      : [];
  return `${[...lines, ...note].join('\n')}\n`;
}

/** Of the list's columns those that its items have; every member where the list has none. */
function columnsOf(item: Item, listed: readonly string[] | undefined): readonly string[] {
  return listed === undefined
    ? Object.keys(item)
    : listed.filter((key) => Object.hasOwn(item, key));
}

type Table = { readonly lines: readonly string[]; readonly hidden: readonly string[] };

/** The columns that a narrow terminal drops, in this order, rather than cut every word. */
const givenUp = [
  'cause_class',
  'took_ms',
  'part',
  'probe',
  'incident',
  'monitor',
  'shown',
  'owner',
  'covers',
  'failure',
  'probe_count',
  'version',
  'last_seen_at',
  'private',
  'external_id',
  'acknowledged_by',
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

/**
 * The rows with these columns, or with as many as fit; `days`: within a card, the days that the
 * card shows.
 */
function tableOf(
  rows: readonly Item[],
  all: readonly string[],
  terminal: Terminal,
  days?: ReadonlySet<string>,
): Table {
  const { columns, paint, now, fields } = terminal;
  const clocks = new Set(
    days
      ? all.filter(
          (key) =>
            rows.every((row) => isTimeOrNone(row[key])) && rows.some((row) => timeOf(row[key])),
        )
      : [],
  );
  const withDay = [...clocks].some((key) =>
    rows.some((row) => timeOf(row[key]) !== undefined && !days?.has(dayOf(row[key]))),
  );
  const cells = new Map<string, readonly string[]>(
    all.map((key) => [
      key,
      rows.map((row) => {
        const value = valueAt(row, key.split('.'));
        return clocks.has(key)
          ? clockText(value, withDay)
          : plainText(key.split('.').at(-1) ?? key, value, now);
      }),
    ]),
  );
  const whole = new Map(
    all.map((key) => [key, Math.max(widthOf(columnTitle(key)), widest(cells.get(key) ?? []))]),
  );
  const gaps = (count: number): number => 2 * (count - 1);
  if (sum([...whole.values()]) + gaps(all.length) > columns) {
    for (const [key, texts] of cells) {
      const short = shortIds(rows.map((row, index) => placeName(row[key]) ?? texts[index] ?? ''));
      cells.set(key, short);
      whole.set(key, Math.max(widthOf(columnTitle(key)), widest(short)));
    }
  }
  const least = (kept: readonly string[]): number[] =>
    kept.map((key) =>
      clocks.has(key) ? (whole.get(key) ?? 0) : leastWidth(key, whole.get(key) ?? 0),
    );
  const tooWide = (kept: readonly string[]): boolean =>
    sum(least(kept)) + gaps(kept.length) > columns;
  const without = (kept: readonly string[], left: readonly string[]): readonly string[] =>
    left.reduce(
      (those, key) => (tooWide(those) ? those.filter((one) => one !== key) : those),
      kept,
    );
  const empty = all.filter((key) => cells.get(key)?.every((text) => text === '–'));
  const keys = fields
    ? all
    : without(all, days ? [...empty, ...givenUp, ...all.toReversed().slice(0, -1)] : givenUp);
  const room = Math.max(40, columns) - gaps(keys.length);
  const wide = keys.map((key) => whole.get(key) ?? 0);
  const widths = narrowed(
    narrowed(wide, least(keys), room),
    keys.map((key, index) => (key === 'id' || clocks.has(key) ? (wide[index] ?? 0) : 8)),
    room,
  );
  const line = (
    texts: readonly string[],
    paintCell: (text: string, index: number) => string,
  ): string =>
    texts
      .map((text, index) =>
        paintCell(padded(cut(text, widths[index] ?? 0), widths[index] ?? 0), index),
      )
      .join('  ')
      .trimEnd();
  const head = line(keys.map(columnTitle), (text) => paint(text, 'bold'));
  const lines = rows.map((_, row) =>
    line(
      keys.map((key) => cells.get(key)?.[row] ?? ''),
      (text, index) => painted(keys[index] ?? '', text, paint),
    ),
  );
  return { lines: [head, ...lines], hidden: all.filter((key) => !keys.includes(key)) };
}

function isTimeOrNone(value: unknown): boolean {
  return value === null || timeOf(value) !== undefined;
}

/**
 * Clock times: in a table they say more than relative ones. The day is left out where it appears
 * nearby.
 */
function clockText(value: unknown, withDay: boolean): string {
  const time = timeOf(value);
  if (time === undefined) return '–';
  const text = new Date(time).toISOString();
  return withDay ? `${text.slice(0, 16)}Z` : text.slice(11);
}

/** Shorter column titles: `seen` for `seen_from`, `monitor` for `monitor_name`. */
function columnTitle(key: string): string {
  return title(key).replace(/ (from|name)$/, '');
}

function widest(texts: readonly string[]): number {
  return texts.reduce((limit, text) => Math.max(limit, widthOf(text)), 0);
}

function sum(widths: readonly number[]): number {
  return widths.reduce((all, width) => all + width, 0);
}

const wholeId = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * As much of each id's end as distinguishes it from the others here: every command accepts that as
 * the id.
 */
function shortIds(ids: readonly string[]): readonly string[] {
  if (!ids.every((id) => id === '–' || wholeId.test(id))) return ids;
  for (let length = 8; length < 36; length += 2) {
    const ends = ids.map((id) => id.slice(-length));
    if (new Set(ends).size === new Set(ids).size) return ends;
  }
  return ids;
}

/** The name of a probe without its continent. */
function placeName(value: unknown): string | undefined {
  return isRecord(value) && typeof value.continent === 'string' && typeof value.name === 'string'
    ? printable(value.name)
    : undefined;
}

const wholeKeys = new Set(['id', 'monitor', 'incident', 'event']);

/** How many columns keep a field readable: a name gets the most, a status is shown whole. */
const leastOf: Readonly<Record<string, number>> = {
  name: 24,
  monitor_name: 24,
  display_name: 24,
  cause: 16,
  target: 16,
  error: 24,
  failure: 24,
  local_start: 19,
  local_end: 19,
};

function leastWidth(key: string, whole: number): number {
  if (wholeKeys.has(key) || meaningKeys.has(key)) return whole;
  return Math.min(whole, leastOf[key] ?? 12);
}

/** Narrows the widest column that has more than it needs, until the table fits. */
function narrowed(widths: readonly number[], least: readonly number[], room: number): number[] {
  const narrow = [...widths];
  for (let over = sum(narrow) - room; over > 0; over -= 1) {
    const spare = narrow.map((width, index) => (width > (least[index] ?? 0) ? width : 0));
    const limit = spare.indexOf(Math.max(...spare));
    if ((spare[limit] ?? 0) === 0) break;
    narrow[limit] = (narrow[limit] ?? 0) - 1;
  }
  return narrow;
}

function noteLines(text: string, { columns, paint }: Terminal): string[] {
  return wrapped(text, columns).map((line) => paint(line, 'grey'));
}

/** A list within a card: short members become columns, and the others are named. */
function innerTable(
  items: readonly Item[],
  terminal: Terminal,
  days: ReadonlySet<string>,
): readonly string[] {
  const rows = items.map(withState);
  const all = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const deep = new Set(
    all.filter((key) => rows.some((row) => isRecord(row[key]) && !isPlace(row[key]))),
  );
  const { lines, hidden } = tableOf(
    rows,
    all.filter((key) => !deep.has(key)),
    { ...terminal, fields: undefined },
    days,
  );
  const left = [...hidden, ...deep].map(columnTitle).join(', ');
  return left === ''
    ? lines
    : [...lines, ...noteLines(`Not here: ${left}; --json shows all.`, terminal)];
}

function isPlace(value: unknown): boolean {
  return placeName(value) !== undefined;
}

function card(item: Item, terminal: Terminal): string {
  return `${cardLines(item, '', terminal).join('\n')}\n`;
}

function cardLines(
  item: Item,
  indent: string,
  terminal: Terminal,
  near: readonly string[] = [],
): string[] {
  const { paint, now, columns } = terminal;
  const shown = withState(item);
  const width = Math.max(...Object.keys(shown).map((key) => widthOf(title(key))));
  const inner = columns - indent.length - 2;
  const days = [
    ...near,
    ...Object.values(shown)
      .filter((value) => timeOf(value) !== undefined)
      .map(dayOf),
  ];
  return Object.entries(shown).flatMap(([key, value]) => {
    const label = `${indent}${paint(padded(title(key), width), 'grey')}  `;
    if (isRecord(value) && !(typeof value.continent === 'string')) {
      return Object.keys(value).length === 0
        ? [`${label}–`]
        : [label.trimEnd(), ...cardLines(value, `${indent}  `, terminal, days)];
    }
    if (Array.isArray(value) && value.some(isRecord)) {
      const flat = flatItems(value);
      const lines = flat
        ? innerTable(flat, { ...terminal, columns: inner }, new Set(days)).map(
            (line) => `${indent}  ${line}`,
          )
        : value.flatMap((one: unknown) =>
            isRecord(one)
              ? [`${indent}  -`, ...cardLines(one, `${indent}    `, terminal, days)]
              : [`${indent}  ${plainText('', one, now)}`],
          );
      return [label.trimEnd(), ...lines];
    }
    const time = timeOf(value);
    const list =
      Array.isArray(value) && value.length > 0
        ? value.map((one) => plainText('', one, now)).join(', ')
        : undefined;
    const text =
      time === undefined
        ? (list ?? plainText(key, value, now))
        : `${printable(String(value))} (${relative(time, now)})`;
    const [first = '', ...more] = wrapped(text, Math.max(20, inner - width));
    return [
      `${label}${painted(key, first, paint)}`,
      ...more.map((line) => `${indent}${' '.repeat(width)}  ${line}`),
    ];
  });
}

/**
 * A list's members, if they are short enough for a table: none contains a list of things itself.
 */
function flatItems(items: readonly unknown[]): readonly Item[] | undefined {
  const records = items.filter(isRecord);
  const isFlat = records.every(
    (item) => !Object.values(item).some((value) => Array.isArray(value) && value.some(isRecord)),
  );
  return isFlat && records.length === items.length ? records : undefined;
}

/** An answer of any operation; empty for one without a body. */
export function render(body: unknown, terminal: Terminal): string {
  if (body === null || body === undefined) return '';
  if (!isRecord(body)) return `${JSON.stringify(body, null, 2)}\n`;
  if (!Array.isArray(body.items))
    return card(terminal.fields ? Object(withFields(body, terminal.fields)) : body, terminal);
  const next = nextOf(body);
  const more =
    next === undefined
      ? ''
      : `\nThere are more: add --all, or --${next.key} ${printable(next.value)}\n`;
  return `${table(body.items, terminal)}${more}`;
}
