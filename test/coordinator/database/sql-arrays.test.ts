import { expect, test } from 'vitest';
import { ownDatabase } from '../../support/services.ts';

const { sql } = await ownDatabase();

test('arrays of texts come back as they went, whatever stands in them', async () => {
  const texts = ['', 'NULL', 'null', 'a,b', '{x}', 'say "no"', 'C:\\dir\\', 'two\nlines', ' spaces ', 'Straße', '🙂'];
  const [row] = await sql<{ back: string[]; none: string[] }[]>`select ${texts}::text[] as back, ${[] as string[]}::text[] as none`;
  expect(row).toEqual({ back: texts, none: [] });
});

test('an array that has nothing at a place says so', async () => {
  const [row] = await sql`select array[null, 'a']::text[] as texts, array[1.5, null]::real[] as numbers`;
  expect(row).toEqual({ texts: [null, 'a'], numbers: [1.5, null] });
});

test('arrays of numbers and of ids come back as they went', async () => {
  const ids = ['0190b5a0-0000-7000-8000-000000000001', '0190b5a0-0000-7000-8000-000000000002'];
  const [row] = await sql`select ${[1, -2]}::smallint[] as small, ${[3]}::int[] as middle, ${[2 ** 40]}::bigint[] as big,
    ${[0.25, 1e300]}::float8[] as float, ${ids}::uuid[] as ids, ${'{4,5}'}::int[] as written`;
  expect(row).toEqual({ small: [1, -2], middle: [3], big: [2 ** 40], float: [0.25, 1e300], ids, written: [4, 5] });
});
