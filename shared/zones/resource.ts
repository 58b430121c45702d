/**
 * A resource bundle of ICU (.res, format 1.2, little-endian): what Node reads its time zones from.
 * Pure.
 */
export type Resource =
  | string
  | number
  | { readonly table: Readonly<Record<string, Resource>> }
  | { readonly array: readonly Resource[] }
  | { readonly numbers: readonly number[] }
  | { readonly bytes: readonly number[] };

const types = { text: 0, bytes: 1, table: 2, number: 7, array: 8, numbers: 14 } as const;

const indexWords = 7;

/** The file of a table, whose keys take less than 64 KB. */
export function resourceFile(root: Resource): Buffer {
  const places = new Map<string, number>();
  let top = 4 * indexWords;
  for (const key of [...new Set(keysIn(root))].toSorted(compare)) {
    places.set(key, top);
    top += key.length + 1;
  }
  const keys = padded(Buffer.from([...places.keys()].map((key) => `${key}\0`).join(''), 'latin1'));
  const body: Buffer[] = [];
  let next = indexWords + keys.length / 4;
  let largest = 0;
  const texts = new Map<string, number>();

  const put = (type: number, bytes: Buffer): number => {
    const at = next;
    body.push(padded(bytes));
    next += Math.ceil(bytes.length / 4);
    return (type << 28) | at;
  };
  const tableOf = (table: Readonly<Record<string, Resource>>): number => {
    const entries = Object.entries(table).toSorted(([a], [b]) => compare(a, b));
    const items = entries.map(([, each]) => write(each));
    largest = Math.max(largest, entries.length);
    const head = Buffer.alloc(2 + 2 * entries.length);
    head.writeUInt16LE(entries.length, 0);
    for (const [at, [key]] of entries.entries())
      head.writeUInt16LE(places.get(key) ?? 0, 2 + 2 * at);
    return put(types.table, Buffer.concat([padded(head), words(items)]));
  };
  const textOf = (text: string): number => {
    const known = texts.get(text);
    if (known !== undefined) return known;
    const made = put(
      types.text,
      Buffer.concat([words([text.length]), Buffer.from(`${text}\0`, 'utf16le')]),
    );
    texts.set(text, made);
    return made;
  };
  const write = (of: Resource): number => {
    if (typeof of === 'number') return (types.number << 28) | (of & 0x0f_ff_ff_ff);
    if (typeof of === 'string') return textOf(of);
    if ('table' in of) return tableOf(of.table);
    if ('array' in of) return put(types.array, words([of.array.length, ...of.array.map(write)]));
    if ('numbers' in of) return put(types.numbers, words([of.numbers.length, ...of.numbers]));
    return put(types.bytes, Buffer.concat([words([of.bytes.length]), Buffer.from(of.bytes)]));
  };

  const rootAt = write(root);
  const index = words([
    rootAt,
    indexWords - 1,
    indexWords + keys.length / 4,
    next,
    next,
    largest,
    0,
  ]);
  return Buffer.concat([head, index, keys, ...body]);
}

function keysIn(of: Resource): readonly string[] {
  if (typeof of !== 'object') return [];
  if ('table' in of)
    return Object.entries(of.table).flatMap(([key, each]) => [key, ...keysIn(each)]);
  return 'array' in of ? of.array.flatMap(keysIn) : [];
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function padded(bytes: Buffer): Buffer {
  return Buffer.concat([bytes, Buffer.alloc(-bytes.length & 3)]);
}

function words(numbers: readonly number[]): Buffer {
  const bytes = Buffer.alloc(4 * numbers.length);
  for (const [at, each] of numbers.entries()) bytes.writeInt32LE(each | 0, 4 * at);
  return bytes;
}

/** Size of the head, two marks, size of what is said of the data: little-endian ASCII, UTF-16. */
const head = Buffer.concat([
  Buffer.from([32, 0, 0xda, 0x27, 20, 0, 0, 0, 0, 0, 2, 0]),
  Buffer.from('ResB', 'latin1'),
  Buffer.from([1, 2, 0, 0, 0, 0, 0, 0]),
  Buffer.alloc(8),
]);
