import {
  addStatusPageGroup,
  addStatusPageMonitor,
  orderStatusPage,
  removeStatusPageGroup,
  removeStatusPageMonitor,
  updateStatusPageGroup,
  updateStatusPageMonitor,
} from '../../../shared/api/status-pages.ts';
import { noForm } from '../../web/form-data.ts';
import { attempt, enterButton, type FormState, selectField, textField } from '../../web/forms.ts';
import { type Html, html, icon, type Part } from '../../web/html.ts';
import type { MembersRequest } from '../../web/page.ts';
import { card, type Editing, stateOf, summaryOf } from './cards.ts';

/** A row of a page in its editor: a heading, or a monitor with or without a heading above it. */
export type Row = {
  readonly kind: string;
  readonly id: string;
  readonly name: string;
  readonly under: string | null;
};

/** Rows that move together: a heading with its monitors, or a monitor within its heading. */
const blocksAround = (rows: readonly Row[], row: Row): readonly (readonly Row[])[] =>
  row.under === null
    ? rows
        .filter(({ under }) => under === null)
        .map((top) => [top, ...rows.filter(({ under }) => under === top.id)])
    : rows.filter(({ under }) => under === row.under).map((each) => [each]);

const placeOf = (blocks: readonly (readonly Row[])[], id: string): number =>
  blocks.findIndex(([first]) => first?.id === id);

/** Whether a row can move up or down within its level. */
export const canMove = (rows: readonly Row[], row: Row, by: -1 | 1): boolean => {
  const blocks = blocksAround(rows, row);
  return blocks[placeOf(blocks, row.id) + by] !== undefined;
};

/**
 * The complete order after a row changed places with its neighbour; unchanged when it has none
 * there.
 */
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
  return rows.flatMap((each) =>
    each.id === row.under ? [each.id, ...order] : each.under === row.under ? [] : [each.id],
  );
};

/**
 * What is published: rows with their names and positions, offered monitors, and what can be added.
 */

const nameField = (id: string): string => `names.${id}`;

/** The internal name, for someone who chooses the public one. */
const ownNames = ({ editor: { monitors, groups } }: Editing): ReadonlyMap<string, string> =>
  new Map([...monitors, ...groups].map(({ id, name }) => [id, name]));

const step = (row: Row, rows: readonly Row[], by: -1 | 1, wanted: string | undefined): Html => {
  const verb = by < 0 ? 'up' : 'down';
  const can = canMove(rows, row, by);
  // After a move the focus stays on the row, so that the same key moves it again.
  const focused =
    wanted === `${verb}:${row.id}` ||
    (wanted?.endsWith(row.id) === true && !canMove(rows, row, by < 0 ? 1 : -1));
  return html`
    <button
      class="button button-quiet icon-button"
      name="act"
      value="${verb}:${row.id}"${!can && html` disabled`}${can && focused && html` autofocus`}
    >
      ${icon(by < 0 ? 'upwards' : 'downwards')}
      <span class="unseen">Move ${row.name} ${verb}</span>
    </button>
  `;
};

const rowForm = (editing: Editing, state: FormState, row: Row, own: string): Html => {
  const { rows } = editing.editor;
  const name = nameField(row.id);
  const fault = state.faults.get(name);
  const id = `row-${row.id}`;
  const kind = row.kind === 'group' ? 'Heading' : 'Name';
  return html`
    <li
      class="published-row${row.kind === 'group' && ' published-heading'}${
        row.under !== null && ' published-under'
      }"
      id="${id}"
    >
      <div class="published-steps">
        ${step(row, rows, -1, editing.request.query.moved)}
        ${step(row, rows, 1, editing.request.query.moved)}
      </div>
      <div class="published-name">
        <input
          id="field-names-${row.id}"
          name="${name}"
          value="${state.form.value(name) ?? row.name}"
          aria-label="${kind} of ${own}"
          autocomplete="off"
          required${
            fault !== undefined && html` aria-invalid="true" aria-describedby="${id}-fault"`
          }
        >
        <p class="published-own">${row.kind === 'group' ? 'group' : 'monitor'} ${own}</p>
        ${
          fault !== undefined &&
          html`<p class="field-fault" id="${id}-fault">${icon('down')}${fault}</p>`
        }
      </div>
      <button
        class="button button-quiet icon-button"
        name="act"
        value="remove:${row.id}"
        formnovalidate
      >
        ${icon('close')}
        <span class="unseen">Take ${row.name} off this page</span>
      </button>
    </li>
  `;
};

const rowsForm = (editing: Editing): Html => {
  const { page, editor } = editing;
  const state = stateOf(editing, 'rows', noForm);
  const own = ownNames(editing);
  if (editor.rows.length === 0)
    return html`<p class="soft">Nothing yet: add a monitor or a group below.</p>`;
  return html`
    ${summaryOf(editing, 'rows')}
    <form method="post" action="/status-pages/${page.id}/rows" class="published">
      ${enterButton({ name: 'act', value: 'save:' })}
      <ol class="published-rows">
        ${editor.rows.map((row) => rowForm(editing, state, row, own.get(row.id) ?? row.name))}
      </ol>
      <div class="actions">
        <button class="button" name="act" value="save:">Save the names</button>
      </div>
    </form>
  `;
};

/** For readers who may not change it. */
const rowsShown = ({ editor: { rows } }: Editing): Html =>
  rows.length === 0
    ? html`<p class="soft">Nothing yet.</p>`
    : html`
      <ol class="published-rows">
        ${rows.map(
          ({ kind, name, under }) =>
            html`
              <li
                class="published-row${kind === 'group' && ' published-heading'}${
                  under !== null && ' published-under'
                }"
              >
                ${name}
              </li>
            `,
        )}
      </ol>
    `;

export const publishedCard = (editing: Editing): Html =>
  card(
    'published',
    'What is published',
    'From top to bottom, under the names that its audience reads. What is taken off stays on other pages.',
    editing.request.may(orderStatusPage) ? rowsForm(editing) : rowsShown(editing),
  );

/** How many are shown at once; the others are folded. */
const fewOffered = 5;

/**
 * A monitor that joined a published group: it is never published by itself, because its internal
 * name is not for the public.
 */
export const offeredCard = (editing: Editing): Html | null => {
  const { page, request } = editing;
  if (page.offered.length === 0 || !request.may(addStatusPageMonitor)) return null;
  const own = ownNames(editing);
  const state = stateOf(editing, 'offered', noForm);
  const headings = new Map(page.groups.map(({ group, display_name }) => [group, display_name]));
  return card(
    'offered',
    page.offered.length === 1
      ? 'One monitor waits for a name'
      : `${page.offered.length} monitors wait for names`,
    'They are in published groups. Each is shown once you say what its audience calls it; the others stay unseen.',
    html`
      ${summaryOf(editing, 'offered')}
      <details
        class="offered"${
          (page.offered.length <= fewOffered || editing.tried?.which === 'offered') && html` open`
        }
      >
        <summary>${icon('next')}Choose names</summary>
        <form class="form" method="post" action="/status-pages/${page.id}/offered">
          ${page.offered.map(({ monitor, group }) =>
            textField({
              name: nameField(monitor),
              label: own.get(monitor) ?? 'Monitor',
              state,
              autocomplete: 'off',
              help: `Under ${headings.get(group) ?? 'its heading'}`,
            }),
          )}
          <div class="actions"><button class="button">Publish what has a name</button></div>
        </form>
      </details>
    `,
  );
};

export const addCard = (editing: Editing): Html | null => {
  const { page, editor, request } = editing;
  if (!request.may(addStatusPageMonitor)) return null;
  const state = stateOf(editing, 'add', noForm);
  const there = new Set(editor.rows.map(({ id }) => id));
  const monitors = editor.monitors.filter(({ id }) => !there.has(id));
  const groups = editor.groups.filter(({ id }) => !there.has(id));
  const choices = (items: readonly { readonly id: string; readonly name: string }[]) =>
    items.map(({ id, name }) => ({ value: id, label: name }));
  const form = (act: string, inside: Part, words: string) =>
    html`
      <form class="form add-form" method="post" action="/status-pages/${page.id}/add">
        ${inside}
        <div class="actions">
          <button class="button" name="act" value="${act}">${icon('add')}${words}</button>
        </div>
      </form>
    `;
  return card(
    'add',
    'Add to it',
    null,
    html`
      ${summaryOf(editing, 'add')}
      ${
        monitors.length === 0
          ? html`
            <p class="soft">
              ${
                editor.monitors.length === 0
                  ? 'There is no monitor yet.'
                  : 'All monitors are on it.'
              }
            </p>
          `
          : form(
              'monitor',
              html`
                ${selectField({
                  name: 'monitor',
                  label: 'Monitor',
                  state,
                  choices: choices(monitors),
                })}
                ${textField({
                  name: 'monitor_name',
                  label: 'Its name for the audience',
                  state,
                  autocomplete: 'off',
                  required: true,
                })}
              `,
              'Publish the monitor',
            )
      }
      ${
        groups.length > 0 &&
        form(
          'group',
          html`
            ${selectField({ name: 'group', label: 'Group', state, choices: choices(groups) })}
            ${textField({
              name: 'group_name',
              label: 'Its heading on the page',
              state,
              autocomplete: 'off',
              required: true,
              help: 'Its monitors are offered then, each for a name of its own.',
            })}
          `,
          'Add the heading',
        )
      }
    `,
  );
};

/** A refusal names `display_name`: here it is the field of one row. */
const atField = (state: FormState, name: string): FormState => {
  const fault = state.faults.get('display_name');
  return fault === undefined ? state : { ...state, faults: new Map([[name, fault]]) };
};

const rename = async (
  { ask }: MembersRequest,
  page_id: string,
  row: Row,
  display_name: string,
): Promise<unknown> =>
  row.kind === 'group'
    ? ask(updateStatusPageGroup, { page_id, group_id: row.id, display_name })
    : ask(updateStatusPageMonitor, { page_id, monitor_id: row.id, display_name });

/** Typed names are saved with any button, so that no input is lost. */
export const changeRows = async (
  request: MembersRequest,
  page_id: string,
  rows: readonly Row[],
): Promise<{ readonly refused: FormState } | { readonly done: string }> => {
  const { form, ask } = request;
  const [verb = 'save', id = ''] = (form.value('act') ?? 'save:').split(':');
  for (const row of rows) {
    const name = form.value(nameField(row.id));
    if (name === undefined || name === row.name || (verb === 'remove' && row.id === id)) continue;
    const tried = await attempt(form, () => rename(request, page_id, row, name), ['display_name']);
    if ('refused' in tried) return { refused: atField(tried.refused, nameField(row.id)) };
  }
  const row = rows.find((each) => each.id === id);
  if (row === undefined) return { done: 'The names are saved.' };
  if (verb === 'remove') {
    if (row.kind === 'group') await ask(removeStatusPageGroup, { page_id, group_id: id });
    else await ask(removeStatusPageMonitor, { page_id, monitor_id: id });
    return {
      done:
        row.kind === 'group'
          ? `The heading ${row.name} is gone; its monitors stay.`
          : `${row.name} is off this page.`,
    };
  }
  // Someone else may have changed the rows meanwhile: then the order is refused in words, and shown
  // as it is now.
  const tried = await attempt(
    form,
    () => ask(orderStatusPage, { page_id, rows: moved(rows, id, verb === 'up' ? -1 : 1) }),
    [],
  );
  return 'refused' in tried ? tried : { done: '' };
};

export const addRow = async (
  { form, ask }: MembersRequest,
  page_id: string,
): Promise<{ readonly refused: FormState } | { readonly done: unknown }> => {
  const fields = ['display_name', 'monitor', 'group'];
  const value = (name: string): string => form.value(name) ?? '';
  const group = () =>
    ask(addStatusPageGroup, {
      page_id,
      group: value('group'),
      display_name: value('group_name'),
      monitors: false,
    });
  const monitor = () =>
    ask(addStatusPageMonitor, {
      page_id,
      monitor: value('monitor'),
      display_name: value('monitor_name'),
    });
  const isGroup = form.value('act') === 'group';
  const tried = await attempt<unknown>(form, isGroup ? group : monitor, fields);
  return 'refused' in tried
    ? { refused: atField(tried.refused, isGroup ? 'group_name' : 'monitor_name') }
    : tried;
};

/** Publishes those that were given a name, and no other. */
export const publishOffered = async (
  { form, ask }: MembersRequest,
  page_id: string,
  offered: readonly { readonly monitor: string }[],
): Promise<{ readonly refused: FormState } | { readonly done: number }> => {
  let done = 0;
  for (const { monitor } of offered) {
    const display_name = form.value(nameField(monitor)) ?? '';
    if (display_name.trim() === '') continue;
    const tried = await attempt(
      form,
      () => ask(addStatusPageMonitor, { page_id, monitor, display_name }),
      ['display_name'],
    );
    if ('refused' in tried) return { refused: atField(tried.refused, nameField(monitor)) };
    done += 1;
  }
  return { done };
};
