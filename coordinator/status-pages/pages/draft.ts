import type { OutputOf } from '../../../shared/api/operation.ts';
import type { Form } from '../../web/form-data.ts';
import type { getStatusPageEditor } from '../contract.ts';

export type Editor = OutputOf<typeof getStatusPageEditor>;

/** A row of a page in its editor: a heading, or a monitor with or without a heading above it. */
export type Row = {
  readonly kind: string;
  readonly id: string;
  /** As visitors read it. */
  readonly name: string;
  readonly under: string | null;
};

/** Whether a row can move up or down within its level. */
export function canMove(rows: readonly Row[], row: Row, by: -1 | 1): boolean {
  const blocks = blocksAround(rows, row);
  return blocks[placeOf(blocks, row.id) + by] !== undefined;
}

/** Rows that move together: a heading with its monitors, or a monitor within its heading. */
function blocksAround(rows: readonly Row[], row: Row): readonly (readonly Row[])[] {
  return row.under === null
    ? rows
        .filter(({ under }) => under === null)
        .map((top) => [top, ...rows.filter(({ under }) => under === top.id)])
    : rows.filter(({ under }) => under === row.under).map((each) => [each]);
}

function placeOf(blocks: readonly (readonly Row[])[], id: string): number {
  return blocks.findIndex(([first]) => first?.id === id);
}

/** The rows after one changed places with its neighbour; unchanged when it has none there. */
export function moved(rows: readonly Row[], id: string, by: -1 | 1): readonly Row[] {
  const row = rows.find((each) => each.id === id);
  if (row === undefined || !canMove(rows, row, by)) return rows;
  const blocks = [...blocksAround(rows, row)];
  const at = placeOf(blocks, id);
  const [mine = [], theirs = []] = [blocks[at], blocks[at + by]];
  blocks[at] = theirs;
  blocks[at + by] = mine;
  const order = blocks.flat();
  if (row.under === null) return order;
  return rows.flatMap((each) =>
    each.id === row.under ? [each, ...order] : each.under === row.under ? [] : [each],
  );
}

export function nameField(id: string): string {
  return `names.${id}`;
}

/** Something that can be published: a monitor, or a group as a heading. */
export type Choice = {
  readonly kind: 'monitor' | 'group';
  readonly id: string;
  readonly name: string;
  readonly group: string | null;
  readonly tags: readonly string[];
};

export function choicesOf({ groups, monitors }: Editor): readonly Choice[] {
  return [
    ...groups.map((each) => ({ ...each, kind: 'group' as const, group: null, tags: [] })),
    ...monitors.map((each) => ({ ...each, kind: 'monitor' as const })),
  ];
}

/** What is not on the page yet and has all the words in its name, group or tags. */
export function found(
  editor: Editor,
  rows: readonly Row[],
  form: Form,
  offered: readonly string[],
): readonly Choice[] {
  const words = (form.value('find') ?? '').toLowerCase().split(/\s+/).filter(Boolean);
  const among = form.value('among') ?? '';
  const there = new Set(rows.map(({ id }) => id));
  const groups = new Map(editor.groups.map(({ id, name }) => [id, name]));
  return choicesOf(editor).filter((choice) => {
    const { id, name, group, tags } = choice;
    if (there.has(id)) return false;
    if (among === 'new' && !offered.includes(id)) return false;
    if (among.startsWith('group:') && among !== `group:${group ?? id}`) return false;
    if (among.startsWith('tag:') && !tags.includes(among.slice(4))) return false;
    const text = [name, groups.get(group ?? '') ?? '', ...tags].join(' ').toLowerCase();
    return words.every((word) => text.includes(word));
  });
}

/** The rows after the button that was pressed. A group brings its monitors. */
export function changedRows(
  form: Form,
  editor: Editor,
  offered: readonly string[],
): readonly Row[] {
  const rows = rowsIn(form, editor);
  const [verb = '', id = ''] = (form.value('act') ?? '').split(':');
  if (verb === 'up' || verb === 'down') return moved(rows, id, verb === 'up' ? -1 : 1);
  if (verb === 'remove')
    return arranged(
      editor,
      rows.filter((row) => row.id !== id),
    );
  if (verb !== 'add' && verb !== 'add-all') return rows;
  const wanted = new Set(
    verb === 'add'
      ? form.values('add[]')
      : found(editor, rows, form, offered).map((choice) => choice.id),
  );
  const added = choicesOf(editor).filter(
    (choice) =>
      !rows.some((row) => row.id === choice.id) &&
      (wanted.has(choice.id) || (choice.group !== null && wanted.has(choice.group))),
  );
  return arranged(editor, [
    ...rows,
    ...added.map(({ kind, id: of, name }) => ({ kind, id: of, name })),
  ]);
}

/** What the form holds, before its button did anything. */
function rowsIn(form: Form, editor: Editor): readonly Row[] {
  const choices = new Map(choicesOf(editor).map((each) => [each.id, each]));
  // A form names its fields in their order.
  const rows = form.names.flatMap((field) => {
    const choice = field.startsWith('names.') ? choices.get(field.slice(6)) : undefined;
    const name = form.value(field) ?? '';
    return choice === undefined ? [] : [{ kind: choice.kind, id: choice.id, name }];
  });
  return arranged(editor, rows);
}

/** The same rows of what exists, each monitor below its heading. */
function arranged(editor: Editor, rows: readonly Omit<Row, 'under'>[]): readonly Row[] {
  const headings = new Set(rows.flatMap(({ kind, id }) => (kind === 'group' ? [id] : [])));
  const saved = new Map(editor.rows.map(({ id, under }) => [id, under]));
  const groupOf = new Map(editor.monitors.map(({ id, group }) => [id, group]));
  const placed = rows.map((row): Row => {
    const heading = [saved.get(row.id), groupOf.get(row.id)].find(
      (id) => typeof id === 'string' && headings.has(id),
    );
    return { ...row, under: row.kind === 'group' ? null : (heading ?? null) };
  });
  return placed
    .filter(({ under }) => under === null)
    .flatMap((top) => [top, ...placed.filter(({ under }) => under === top.id)]);
}
