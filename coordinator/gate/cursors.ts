import { createCipheriv, createDecipheriv, createHmac } from 'node:crypto';
import { cursorFault, InvalidInput } from '../../shared/api/operation.ts';
import { createRecentCache } from '../../shared/base/async.ts';

const keyLength = 8;
const nonceLength = 12;
const tagLength = 16;

/**
 * The end of a page: the running number of its last row, and its sort key if the list is sorted by
 * something else.
 */
export type CursorPlace = { readonly key: number; readonly place: string | null };

/**
 * A cursor is the place of a page's last row, encrypted for one list of one organisation with its
 * filters: it reveals nothing to its holder, and no other list accepts it. The same place makes the
 * same cursor, so that equal answers look equal.
 */
export type Cursors = {
  readonly make: (list: readonly unknown[], place: CursorPlace) => Promise<string>;
  /** @throws InvalidInput when the cursor is not from this list. */
  readonly read: (list: readonly unknown[], cursor: string) => Promise<CursorPlace>;
};

/** Nearly every answer of a list repeats the same cursor. */
const maxKept = 2_000;

export function createCursors(secret: () => Promise<Buffer>): Cursors {
  let made = createRecentCache<string, string>(maxKept);
  let madeWith: Buffer | undefined;
  const keyFor = async (purpose: string): Promise<Buffer> =>
    createHmac('sha256', await secret())
      .update(purpose)
      .digest();
  const opened = async (list: readonly unknown[], bytes: Buffer): Promise<Buffer | undefined> => {
    if (bytes.length < nonceLength + keyLength + tagLength) return undefined;
    const decipher = createDecipheriv(
      'aes-256-gcm',
      await keyFor('sealing'),
      bytes.subarray(0, nonceLength),
    );
    decipher.setAAD(Buffer.from(JSON.stringify(list))).setAuthTag(bytes.subarray(-tagLength));
    try {
      return Buffer.concat([
        decipher.update(bytes.subarray(nonceLength, -tagLength)),
        decipher.final(),
      ]);
    } catch {
      // What cannot be decrypted was not encrypted here, or belongs to another list.
      return undefined;
    }
  };
  return {
    make: async (list, { key, place }) => {
      const now = await secret();
      if (madeWith?.equals(now) !== true) [made, madeWith] = [createRecentCache(maxKept), now];
      const wanted = JSON.stringify([list, key, place]);
      const known = made.find(wanted);
      if (known !== undefined) return known;
      const number = Buffer.alloc(keyLength);
      number.writeBigUInt64BE(BigInt(key));
      const plain = Buffer.concat([number, Buffer.from(place ?? '')]);
      const name = JSON.stringify(list);
      // Derived from the content: no two places share a nonce.
      const nonce = createHmac('sha256', await keyFor('numbering'))
        .update(name)
        .update(plain)
        .digest()
        .subarray(0, nonceLength);
      const cipher = createCipheriv('aes-256-gcm', await keyFor('sealing'), nonce);
      cipher.setAAD(Buffer.from(name));
      const cursor = Buffer.concat([
        nonce,
        cipher.update(plain),
        cipher.final(),
        cipher.getAuthTag(),
      ]).toString('base64url');
      // If the secret changed meanwhile, the cursor does not belong to the present cache.
      if (madeWith === now) made.keep(wanted, cursor);
      return cursor;
    },
    read: async (list, cursor) => {
      const bytes = Buffer.from(cursor, 'base64url');
      // Other encodings of the same bytes exist; none of them is ours.
      const plain = bytes.toString('base64url') === cursor ? await opened(list, bytes) : undefined;
      if (plain === undefined) throw new InvalidInput([cursorFault(cursor)]);
      const place = plain.toString('utf8', keyLength);
      return { key: Number(plain.readBigUInt64BE()), place: place === '' ? null : place };
    },
  };
}

type Keyed = { readonly key: number; readonly place?: string | null };

/** Reads one row more than the page holds, to find out whether there is a next page. */
export async function placedPageOf<Row extends Keyed, Item>(
  cursors: Cursors,
  list: readonly unknown[],
  { limit, cursor }: { readonly limit: number; readonly cursor: string | null },
  rows: (after: CursorPlace | null, most: number) => Promise<readonly Row[]>,
  item: (row: Row) => Item,
): Promise<{ readonly items: readonly Item[]; readonly next_cursor: string | null }> {
  const found = await rows(cursor === null ? null : await cursors.read(list, cursor), limit + 1);
  const shown = found.slice(0, limit);
  const last = shown.at(-1);
  const more = found.length > limit && last !== undefined;
  return {
    items: shown.map(item),
    next_cursor: more
      ? await cursors.make(list, { key: last.key, place: last.place ?? null })
      : null,
  };
}

/** For a list in the order of its running numbers. */
export function pageOf<Row extends { readonly key: number }, Item>(
  cursors: Cursors,
  list: readonly unknown[],
  asked: { readonly limit: number; readonly cursor: string | null },
  rows: (from: number | null, limit: number) => Promise<readonly Row[]>,
  item: (row: Row) => Item,
): Promise<{ readonly items: readonly Item[]; readonly next_cursor: string | null }> {
  return placedPageOf<Row & { readonly place?: null }, Item>(
    cursors,
    list,
    asked,
    (after, limit) => rows(after?.key ?? null, limit),
    item,
  );
}

/** Where ascending lists begin, and descending ones. */
export const beforeAll = 0;
export const afterAll = Number.MAX_SAFE_INTEGER;

/**
 * Reads all rows in pages, each after the last row of the page before: however many there are,
 * memory holds one page, and no connection is held between two pages.
 */
export async function* inPages<Row, Key>(
  first: Key,
  keyOf: (row: Row) => Key,
  read: (after: Key) => Promise<Row[]>,
): AsyncGenerator<Row[], void> {
  let last = first;
  for (;;) {
    const page = await read(last);
    const end = page.at(-1);
    if (end === undefined) return;
    yield page;
    last = keyOf(end);
  }
}
