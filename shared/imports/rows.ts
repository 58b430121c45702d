import { isRecord } from '../base/json.ts';

/** What other programs keep, as it comes: values of any form. */
export type Raw = Readonly<Record<string, unknown>>;

/** One object of the source, which remembers what of it was read. */
export type Row = {
  /** The first of these fields that is not empty, as text. */
  readonly text: (...fields: readonly string[]) => string;
  readonly number: (...fields: readonly string[]) => number | undefined;
  /** Whether it says yes; databases and forms write 1 for it. */
  readonly isOn: (...fields: readonly string[]) => boolean;
  /** Whether it says no, and does not leave it open. */
  readonly isOff: (...fields: readonly string[]) => boolean;
  readonly value: (...fields: readonly string[]) => unknown;
  readonly records: (field: string) => readonly Raw[];
  /** A list, or one text, as texts. */
  readonly texts: (field: string) => readonly string[];
  /** A row of its own inside, empty where there is none. */
  readonly inner: (field: string) => Row;
  /** Fields that say something and that nobody read, inner ones as `client.oauth2`. */
  readonly unread: () => readonly string[];
};

/**
 * `meaningless`: fields that say nothing elsewhere. `usual`: values that say no more than a field
 * that is left out.
 */
export function rowOf(
  raw: Raw,
  meaningless: ReadonlySet<string> = new Set(),
  usual: Raw = {},
): Row {
  const read = new Set<string>();
  const inner = new Map<string, Row>();
  const value = (...fields: readonly string[]): unknown => {
    for (const field of fields) read.add(field);
    return fields.map((field) => raw[field]).find((each) => each !== undefined && each !== null);
  };
  const texts = (given: unknown): string =>
    typeof given === 'string' ? given : typeof given === 'number' ? String(given) : '';
  return {
    value,
    text: (...fields) => {
      value(...fields);
      return fields.map((field) => texts(raw[field]).trim()).find((text) => text !== '') ?? '';
    },
    number: (...fields) => numberFrom(value(...fields)),
    isOn: (...fields) => isOn(value(...fields)),
    isOff: (...fields) => {
      const given = value(...fields);
      return given === false || given === 0 || given === '0' || given === 'false';
    },
    records: (field) => recordsIn(value(field)),
    texts: (field) => {
      const given = value(field);
      return (Array.isArray(given) ? given : [given]).map(texts).filter((each) => each !== '');
    },
    inner: (field) => {
      const given = value(field);
      const row = inner.get(field) ?? rowOf(isRecord(given) ? given : {});
      inner.set(field, row);
      return row;
    },
    unread: () => [
      ...Object.entries(raw)
        .filter(
          ([field, each]) =>
            !read.has(field) &&
            !meaningless.has(field) &&
            saysSomething(each) &&
            String(each) !== String(ofTable(usual, field) ?? ''),
        )
        .map(([field]) => field),
      ...[...inner].flatMap(([field, row]) => row.unread().map((each) => `${field}.${each}`)),
    ],
  };
}

function saysSomething(value: unknown): boolean {
  return !(
    value === undefined ||
    value === null ||
    value === '' ||
    value === false ||
    value === 0 ||
    value === '0' ||
    value === '[]' ||
    value === '{}' ||
    value === 'null' ||
    (Array.isArray(value) && value.length === 0) ||
    (isRecord(value) && !Object.values(value).some(saysSomething))
  );
}

export function isOn(value: unknown): boolean {
  return value === true || value === 1 || value === '1' || value === 'true';
}

export function numberFrom(value: unknown): number | undefined {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  return typeof number === 'number' && Number.isFinite(number) ? number : undefined;
}

export function recordsIn(value: unknown): readonly Raw[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}

/** What a table has for a word of the source; nothing that every object has. */
export function ofTable<Value>(
  table: Readonly<Record<string, Value>>,
  word: string,
): Value | undefined {
  return Object.hasOwn(table, word) ? table[word] : undefined;
}

/** JSON in a text; undefined where it is none. */
export function parsed(text: string): unknown {
  if (text === '') return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // Whoever asks takes it for a text that says nothing.
  }
}

const maxDepth = 40;

/** The whole source without characters that no file can have. */
export function cleaned(value: unknown, depth = 0): unknown {
  if (typeof value === 'string') return value.toWellFormed().replaceAll('\u0000', '');
  if (typeof value === 'bigint') return Number(value);
  if (depth > maxDepth) return undefined;
  if (Array.isArray(value)) return value.map((each) => cleaned(each, depth + 1));
  if (!isRecord(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [key, cleaned(each, depth + 1)]),
  );
}
