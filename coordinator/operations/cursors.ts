import { createHmac, timingSafeEqual } from 'node:crypto';
import { InvalidInput } from '../../shared/api/errors.ts';
import { cursorFault } from '../../shared/api/pagination.ts';

const keyLength = 8;
const sealLength = 10;

/**
 * A cursor is the running number of a page's last row, sealed for one list of one organisation with its filters: it says nothing to
 * whoever holds it, and no other list takes it.
 */
export type Cursors = {
  readonly make: (list: readonly unknown[], key: number) => Promise<string>;
  /** @throws InvalidInput when this list did not give it. */
  readonly read: (list: readonly unknown[], cursor: string) => Promise<number>;
};

export const createCursors = (secret: () => Promise<Buffer>): Cursors => {
  const sealed = async (list: readonly unknown[], key: Buffer): Promise<Buffer> =>
    createHmac('sha256', await secret())
      .update(JSON.stringify(list))
      .update(key)
      .digest()
      .subarray(0, sealLength);
  return {
    make: async (list, key) => {
      const bytes = Buffer.alloc(keyLength);
      bytes.writeBigUInt64BE(BigInt(key));
      return Buffer.concat([bytes, await sealed(list, bytes)]).toString('base64url');
    },
    read: async (list, cursor) => {
      const bytes = /^[A-Za-z0-9_-]{24}$/.test(cursor) ? Buffer.from(cursor, 'base64url') : Buffer.alloc(0);
      const key = bytes.subarray(0, keyLength);
      if (bytes.length !== keyLength + sealLength || !timingSafeEqual(bytes.subarray(keyLength), await sealed(list, key)))
        throw new InvalidInput([cursorFault(cursor)]);
      return Number(key.readBigUInt64BE());
    },
  };
};

type Keyed = { readonly key: number };

/** Asks for one row more than the page holds, which tells whether there is a next one. */
export const pageOf = async <Row extends Keyed, Item>(
  cursors: Cursors,
  list: readonly unknown[],
  { limit, cursor }: { readonly limit: number; readonly cursor: string | null },
  rows: (from: number | null, most: number) => Promise<readonly Row[]>,
  item: (row: Row) => Item,
): Promise<{ readonly items: readonly Item[]; readonly next_cursor: string | null }> => {
  const found = await rows(cursor === null ? null : await cursors.read(list, cursor), limit + 1);
  const shown = found.slice(0, limit);
  const last = shown.at(-1);
  return { items: shown.map(item), next_cursor: found.length > limit && last ? await cursors.make(list, last.key) : null };
};

/** Where lists begin that go upwards, and those that go downwards. */
export const beforeAll = 0;
export const afterAll = Number.MAX_SAFE_INTEGER;
