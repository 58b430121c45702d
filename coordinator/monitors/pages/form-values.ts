import { isRecord } from '../../../shared/base/json.ts';

/** How a value of a config is written in a form, and read from it. */
export type Widget =
  | { readonly is: 'number'; readonly unit: string }
  | { readonly is: 'choice'; readonly words?: Readonly<Record<string, string>> }
  | {
      readonly is:
        | 'text'
        | 'area'
        | 'secret'
        | 'yes-no'
        | 'lines'
        | 'pairs'
        | 'statuses'
        | 'credentials'
        | 'assertions'
        | 'places'
        | 'probe';
    };

/** The fields of one setting, by the part of their name after the setting's name. */
export type Fields = Readonly<Record<string, readonly string[]>>;
export type Sent = (suffix: string) => readonly string[];

/** The value that was meant. */
export type Reading =
  | { readonly is: 'value'; readonly value: unknown }
  | { readonly is: 'none' }
  | { readonly is: 'fault'; readonly words: string };

const none: Reading = { is: 'none' };
const value = (of: unknown): Reading => ({ is: 'value', value: of });
const fault = (words: string): Reading => ({ is: 'fault', words });

type Writing = {
  readonly fields: (stored: unknown) => Fields;
  /** What was sent in one form, to compare it with what was shown. */
  readonly parts: (sent: Sent) => readonly string[];
  readonly read: (parts: readonly string[]) => Reading;
};

const isText = (of: unknown): of is string => typeof of === 'string';
const last = (sent: Sent, suffix = ''): string => (sent(suffix).at(-1) ?? '').replaceAll('\r\n', '\n');
const scalarText = (of: unknown): string => (of === undefined || of === null ? '' : isText(of) ? of : JSON.stringify(of));

/**
 * A number where it is one; other text goes unchanged to the gate, whose refusal says what is
 * valid.
 */
const numberOr = (text: string): number | string => (/^-?\d+(?:\.\d+)?$/.test(text) ? Number(text) : text);

const oneField = (read: (text: string) => Reading, trimmed = true): Writing => ({
  fields: (stored) => ({ '': [scalarText(stored)] }),
  parts: (sent) => [trimmed ? last(sent).trim() : last(sent)],
  read: ([text = '']) => (text === '' ? none : read(text)),
});

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // Then the text is meant literally.
  }
};

const textsFrom = (text: string): readonly string[] | undefined => {
  const list = text.trimStart().startsWith('[') ? parsed(text) : undefined;
  return Array.isArray(list) && list.every(isText) ? list : undefined;
};

const isPlainLine = (line: string): boolean => line !== '' && line === line.trim() && !/[\r\n]/.test(line);

/** One per line; as JSON where lines cannot express it. */
export const linesText = (list: readonly string[]): string => {
  const text = list.join('\n');
  return list.length > 0 && list.every(isPlainLine) && textsFrom(text) === undefined ? text : JSON.stringify(list);
};

export const linesFrom = (text: string): readonly string[] =>
  textsFrom(text) ??
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');

const lines: Writing = {
  fields: (stored) => {
    const list = isText(stored) ? [stored] : Array.isArray(stored) ? stored.filter(isText) : undefined;
    return { '': [list === undefined ? '' : linesText(list)] };
  },
  parts: (sent) => [last(sent).trim()],
  read: ([text = '']) => (text === '' ? none : value(linesFrom(text))),
};

const pairsFromJson = (text: string): readonly (readonly [string, string])[] | undefined => {
  const map = text.trimStart().startsWith('{') ? parsed(text) : undefined;
  if (!isRecord(map)) return undefined;
  const pairs = Object.entries(map).flatMap(([name, of]): [string, string][] => (isText(of) ? [[name, of]] : []));
  return pairs.length === Object.keys(map).length ? pairs : undefined;
};

/** `Name: value`, one per line; as JSON where lines cannot express it. */
export const pairsText = (pairs: readonly (readonly [string, string])[]): string =>
  pairs.length > 0 && pairs.every(([name, of]) => /^[^\s:{]+$/.test(name) && of === of.trim() && !/[\r\n]/.test(of))
    ? pairs.map(([name, of]) => `${name}: ${of}`.trimEnd()).join('\n')
    : JSON.stringify(Object.fromEntries(pairs));

/** The unreadable line, if there is one. */
export const pairsFrom = (text: string): readonly (readonly [string, string])[] | { readonly unread: string; readonly twice: boolean } => {
  const whole = pairsFromJson(text);
  if (whole) return whole;
  const pairs: (readonly [string, string])[] = [];
  for (const line of text.split('\n').map((each) => each.trim())) {
    if (line === '') continue;
    const [, name, of] = /^([^:]*[^:\s])\s*:(.*)$/s.exec(line) ?? [];
    if (name === undefined || of === undefined) return { unread: line, twice: false };
    if (pairs.some(([before]) => before === name)) return { unread: name, twice: true };
    pairs.push([name, of.trim()]);
  }
  return pairs;
};

const brief = (text: string): string => (text.length > 60 ? `${text.slice(0, 60)}…` : text);

const pairs: Writing = {
  fields: (stored) => {
    const all = isRecord(stored) ? Object.entries(stored).filter((pair): pair is [string, string] => isText(pair[1])) : undefined;
    return { '': [all === undefined ? '' : pairsText(all)] };
  },
  parts: (sent) => [last(sent).trim()],
  read: ([text = '']) => {
    if (text === '') return none;
    const read = pairsFrom(text);
    if (!('unread' in read)) return value(Object.fromEntries(read));
    return fault(
      read.twice
        ? `Name each header once; "${brief(read.unread)}" stands here twice.`
        : `Write each line as Name: value; "${brief(read.unread)}" has no colon.`,
    );
  },
};

const statuses: Writing = {
  fields: (stored) => ({ '': [Array.isArray(stored) ? stored.map(String).join(', ') : ''] }),
  parts: (sent) => [last(sent).trim()],
  read: ([text = '']) => {
    const all = text
      .replaceAll(/\s*-\s*/g, '-')
      .split(/[,;\s]+/)
      .filter((each) => each !== '');
    return all.length === 0 ? none : value(all.map(numberOr));
  },
};

const credentials: Writing = {
  fields: (stored) => {
    const of = isRecord(stored) ? stored : {};
    return { '.username': [scalarText(of.username)], '.password': [scalarText(of.password)] };
  },
  parts: (sent) => [last(sent, '.username'), last(sent, '.password')],
  read: ([username = '', password = '']) => (username === '' && password === '' ? none : value({ username, password })),
};

export const assertionWords = {
  equals: 'equals',
  contains: 'contains',
  gt: 'is more than',
  lt: 'is less than',
  exists: 'is there',
  missing: 'is not there',
} as const;
export const maxAssertions = 20;

type Row = readonly [path: string, is: string, of: string];

/** A text that would be read as something else is quoted. */
const equalText = (of: unknown): string => {
  if (!isText(of)) return JSON.stringify(of ?? null);
  const again = parsed(of);
  const isOther = again !== undefined && !(typeof again === 'object' && again !== null);
  return isOther || of === '' || of !== of.trim() ? JSON.stringify(of) : of;
};

const equalFrom = (text: string): unknown => {
  const of = parsed(text.trim());
  // A JavaScript number would lose its last digits; checks compare those of a text.
  if (/^-?\d+$/.test(text.trim()) && !Number.isSafeInteger(of)) return text.trim();
  return of === undefined || (typeof of === 'object' && of !== null) ? text : of;
};

const rowsOf = (assertion: unknown): Row[] => {
  if (!isRecord(assertion)) return [];
  const path = scalarText(assertion.path);
  return Object.entries(assertion).flatMap(([is, of]): Row[] => {
    if (is === 'path' || of === undefined) return [];
    if (is === 'exists') return [[path, of === false ? 'missing' : 'exists', '']];
    return [[path, is, is === 'equals' ? equalText(of) : scalarText(of)]];
  });
};

const assertionOf = ([path, is, of]: Row): unknown => {
  if (is === 'exists' || is === 'missing') return { path, exists: is === 'exists' };
  return { path, [is]: is === 'equals' ? equalFrom(of) : is === 'gt' || is === 'lt' ? numberOr(of.trim()) : of };
};

const assertions: Writing = {
  fields: (stored) =>
    Object.fromEntries(
      (Array.isArray(stored) ? stored : []).flatMap(rowsOf).flatMap(
        ([path, is, of], at) =>
          [
            [`.${at}.path`, [path]],
            [`.${at}.is`, [is]],
            [`.${at}.value`, [of]],
          ] as const,
      ),
    ),
  parts: (sent) =>
    Array.from(
      { length: maxAssertions },
      (_, at): Row => [last(sent, `.${at}.path`).trim(), last(sent, `.${at}.is`), last(sent, `.${at}.value`)],
    )
      .filter(([path, , of]) => path !== '' || of !== '')
      .flat(),
  read: (parts) => {
    const rows = Array.from(
      { length: parts.length / 3 },
      (_, at): Row => [parts[at * 3] ?? '', parts[at * 3 + 1] ?? '', parts[at * 3 + 2] ?? ''],
    );
    return rows.length === 0 ? none : value(rows.map(assertionOf));
  },
};

/** Locations are checkboxes; a selection of none has a meaning. */
const places: Writing = {
  fields: (stored) => ({ '[]': Array.isArray(stored) ? stored.filter(isText) : [] }),
  parts: (sent) =>
    sent('[]')
      .filter((each) => each !== '')
      .toSorted(),
  read: (parts) => (parts.length === 0 ? fault('Tick at least one.') : value(parts)),
};

export const writings: Readonly<Record<Widget['is'], Writing>> = {
  number: oneField((text) => value(numberOr(text))),
  text: oneField(value),
  probe: oneField(value),
  secret: oneField(value),
  choice: oneField(value),
  area: oneField(value, false),
  'yes-no': oneField((text) => value(text === 'true')),
  ...{ lines, pairs, statuses, credentials, assertions, places },
};
