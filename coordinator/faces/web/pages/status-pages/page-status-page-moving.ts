/** A row of a page as its editor shows it: a heading, or a monitor that stands under one or under none. */
export type Row = { readonly kind: string; readonly id: string; readonly name: string; readonly under: string | null };

/** What moves together: a heading with its monitors, or a monitor among its own. */
const blocksAround = (rows: readonly Row[], row: Row): readonly (readonly Row[])[] =>
  row.under === null
    ? rows.filter(({ under }) => under === null).map((top) => [top, ...rows.filter(({ under }) => under === top.id)])
    : rows.filter(({ under }) => under === row.under).map((each) => [each]);

const placeOf = (blocks: readonly (readonly Row[])[], id: string): number => blocks.findIndex(([first]) => first?.id === id);

/** Whether a row can go one place up or down among its own. */
export const canMove = (rows: readonly Row[], row: Row, by: -1 | 1): boolean => {
  const blocks = blocksAround(rows, row);
  return blocks[placeOf(blocks, row.id) + by] !== undefined;
};

/** The whole order once a row has changed places with its neighbour; the same order when it has none there. */
export const moved = (rows: readonly Row[], id: string, by: -1 | 1): readonly string[] => {
  const row = rows.find((each) => each.id === id);
  if (row === undefined || !canMove(rows, row, by)) return rows.map((each) => each.id);
  const blocks = [...blocksAround(rows, row)];
  const at = placeOf(blocks, id);
  const [mine = [], theirs = []] = [blocks[at], blocks[at + by]];
  blocks[at] = theirs;
  blocks[at + by] = mine;
  const order = blocks.flat().map((each) => each.id);
  if (row.under === null) return order;
  return rows.flatMap((each) => (each.id === row.under ? [each.id, ...order] : each.under === row.under ? [] : [each.id]));
};
