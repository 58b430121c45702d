import { addStatusPageMonitor, orderStatusPage } from '../../../shared/api/status-pages.ts';
import { fold } from '../../web/elements.ts';
import { choiceField, hiddenField, selectField, textField } from '../../web/forms.ts';
import { type Html, html, icon, type Part } from '../../web/html.ts';
import { card, type Editing } from './cards.ts';
import { type Choice, canMove, found, nameField, type Row } from './draft.ts';

/** What is published: rows with their names and places, and what can be added. */

export function publishedCard(editing: Editing): Html {
  const own = ownNames(editing);
  const { rows, request } = editing;
  return card(
    'published',
    'Services',
    'From top to bottom, under the names that visitors read.',
    !request.may(orderStatusPage)
      ? rowsShown(editing)
      : rows.length === 0
        ? html`<p class="soft">Nothing published yet: add monitors or groups below.</p>`
        : html`
          <ol class="folds lines">
            ${rows.map((row) => rowForm(editing, row, own.get(row.id) ?? row.name))}
          </ol>
        `,
  );
}

/** The internal name, for someone who chooses the public one. */
function ownNames({ editor: { monitors, groups } }: Editing): ReadonlyMap<string, string> {
  return new Map([...monitors, ...groups].map(({ id, name }) => [id, name]));
}

/** For readers who may not change it. */
function rowsShown({ rows }: Editing): Html {
  return rows.length === 0
    ? html`<p class="soft">Nothing published yet</p>`
    : html`
      <ol class="folds lines">
        ${rows.map(
          ({ kind, name, under }) =>
            html`
              <li
                class="row tight published-row${kind === 'group' && ' published-heading'}${
                  under !== null && ' published-under'
                }"
              >
                ${name}
              </li>
            `,
        )}
      </ol>
    `;
}

function rowForm(editing: Editing, row: Row, own: string): Html {
  const name = nameField(row.id);
  const fault = editing.state.faults.get(name);
  const id = `row-${row.id}`;
  const isHeading = row.kind === 'group';
  return html`
    <li
      class="row tight published-row${isHeading && ' published-heading'}${
        row.under !== null && ' published-under'
      }"
      id="${id}"
    >
      <span class="published-grip" data-drag>${icon('grip')}</span>
      <div class="published-name">
        <input
          id="field-names-${row.id}"
          name="${name}"
          value="${row.name}"
          aria-label="Public name of ${own}"
          autocomplete="off"
          required${
            fault !== undefined && html` aria-invalid="true" aria-describedby="${id}-fault"`
          }
        >
        ${own !== row.name && html`<p class="note">${own}</p>`}
        ${
          fault !== undefined &&
          html`<p class="field-fault" id="${id}-fault">${icon('down')}${fault}</p>`
        }
      </div>
      ${step(editing, row, -1)} ${step(editing, row, 1)}
      <button
        class="button button-quiet icon-button"
        name="act"
        value="remove:${row.id}"
        formnovalidate
        data-stays
      >
        ${icon('close')}
        <span class="unseen">Remove ${row.name}</span>
      </button>
    </li>
  `;
}

function step({ rows, state }: Editing, row: Row, by: -1 | 1): Html {
  const act = state.form.value('act');
  const verb = by < 0 ? 'up' : 'down';
  const can = canMove(rows, row, by);
  // After a move the focus stays on the row, so that the same key moves it again.
  const focused =
    act === `${verb}:${row.id}` ||
    (/^(?:up|down):/.test(act ?? '') &&
      act?.endsWith(row.id) === true &&
      !canMove(rows, row, by < 0 ? 1 : -1));
  return html`
    <button
      class="button button-quiet icon-button"
      name="act"
      value="${verb}:${row.id}"
      formnovalidate
      data-stays${!can && html` disabled`}${can && focused && html` autofocus`}
    >
      ${icon(by < 0 ? 'upwards' : 'downwards')}
      <span class="unseen">Move ${row.name} ${verb}</span>
    </button>
  `;
}

/** More would make the page long; the search narrows them. */
const maxShown = 8;

export function addFold(editing: Editing): Part {
  const { page, editor, request, rows, state } = editing;
  if (!request.may(addStatusPageMonitor)) return null;
  const offered = page.offered.map(({ monitor }) => monitor);
  const choices = found(editor, rows, state.form, offered);
  const shown = choices.slice(0, maxShown);
  const offeredNow = page.offered.length;
  return fold({
    title: 'Add services',
    says: offeredNow > 0 ? offeredWords(offeredNow) : 'Monitors and groups',
    isSet: offeredNow > 0,
    isOpen: rows.length === 0 || state.form.value('act') !== undefined,
    body: html`
      ${offeredNow > 0 && html`<p class="soft">${offeredWords(offeredNow)}.</p>`}
      <div class="columns" id="offered">
        ${textField({
          name: 'find',
          label: 'Search',
          state,
          type: 'search',
          autocomplete: 'off',
          placeholder: 'Name, group or tag',
        })}
        ${selectField({ name: 'among', label: 'In', state, choices: filters(editing) })}
      </div>
      ${hiddenField('found', state.form.value('find') ?? '')}
      <div id="choices" class="stack" data-refreshed>
        ${
          shown.length === 0
            ? html`<p class="soft">${editor.monitors.length === 0 ? 'No monitors yet' : 'No results'}</p>`
            : html`
              ${choiceField({
                name: 'add[]',
                label: 'Not on the page',
                state,
                several: true,
                filter: '',
                choices: shown.map((choice) => offer(editing, choice)),
              })}
              ${
                choices.length > shown.length &&
                html`<p class="soft">${choices.length - shown.length} more. Search to narrow.</p>`
              }
            `
        }
        <div class="actions">
          <button class="button" name="act" value="look" formnovalidate data-stays>Search</button>
          ${
            shown.length > 0 &&
            html`
              <button class="button" name="act" value="add" formnovalidate data-stays>
                ${icon('add')}Add selected
              </button>
              <button class="button" name="act" value="add-all" formnovalidate data-stays>
                ${choices.length === 1 ? 'Add it' : `Add all ${choices.length}`}
              </button>
            `
          }
        </div>
      </div>
    `,
  });
}

function offeredWords(count: number): string {
  return `${count} more ${count === 1 ? 'monitor' : 'monitors'} in these groups`;
}

/** What a search looks in: everything, what joined a published group, a group, a tag. */
function filters({ editor, page }: Editing) {
  return [
    { value: '', label: 'All monitors and groups' },
    ...(page.offered.length === 0
      ? []
      : [{ value: 'new', label: `New in published groups (${page.offered.length})` }]),
    ...editor.groups.map(({ id, name }) => ({ value: `group:${id}`, label: `Group: ${name}` })),
    ...[...new Set(editor.monitors.flatMap(({ tags }) => tags))]
      .toSorted()
      .map((tag) => ({ value: `tag:${tag}`, label: `Tag: ${tag}` })),
  ];
}

function offer({ editor }: Editing, { id, name, kind, group, tags }: Choice) {
  const heading = editor.groups.find((each) => each.id === group)?.name;
  const about = [...(heading === undefined ? [] : [heading]), ...tags].join(' · ');
  return { value: id, label: name, help: kind === 'group' ? 'Group, with its monitors' : about };
}
