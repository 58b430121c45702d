/**
 * All rows in pages, each read after the last row of the page before: however many there are, a page of them is in memory, and no
 * connection is held between two pages.
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
