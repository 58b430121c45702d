import { type Html, html, type Part } from './html.ts';

/** A cell at the end of its column. */
class Ending {
  readonly inside: Part;
  readonly isLabelled: boolean;

  constructor(inside: Part, isLabelled: boolean) {
    this.inside = inside;
    this.isLabelled = isLabelled;
  }
}

/** A cell of a column of numbers. */
export function number(inside: Part): Ending {
  return new Ending(inside, true);
}

/** What one cell says, below each other; on narrow screens beside each other, as other cells are. */
export function stacked(first: Part, ...below: readonly Part[]): Html {
  return html`
    <span class="stacked">
      <span>${first}</span>
      ${below.map((each) => each && html`<span class="note">${each}</span>`)}
    </span>
  `;
}

/** The same behind a small square: a symbol, or initials. Phones leave it out beside a state. */
export function led(tile: Part, first: Part, below: Part): Html {
  return html`
    <span class="stacked led">
      <span class="tile" aria-hidden="true">${tile}</span>
      <span>${first}</span>
      ${below && html`<span class="note">${below}</span>`}
    </span>
  `;
}

/** A cell of buttons, which say themselves what they do: only screen readers hear its heading. */
export function acts(inside: Part): Ending {
  return new Ending(inside, false);
}

/**
 * Heading → cell, the same headings in each row; `id` is that of the row itself. Rows in sequence that
 * name the same `part` stand below it.
 */
type Row = {
  readonly id?: string;
  readonly part?: string;
  readonly [heading: string]: Part | Ending;
};

/**
 * A list with a heading for each column. On narrow screens each row is two or three lines: what it is
 * about, which is its first cell but for its state, and below it the others. Without a row there is
 * nothing.
 */
export function table(rows: readonly Row[], caption?: string): Html {
  return tableOf(rows, false, caption);
}

/** A list from row to row of which the keys j and k go. */
export function stepTable(rows: readonly Row[]): Html {
  return tableOf(rows, true);
}

/** How a thing is, before what it is. */
const marks = ['State', 'Status', 'Outcome', 'Visible to', 'Expires in'];

/** Where no head stands above them, these cells name what they are. */
const named = new Set([
  'Added',
  'Affects',
  'Connected',
  'Counted',
  'Created',
  'Deleted',
  'Delivered in',
  'Down',
  'Ended',
  'Expires',
  'Last delivered',
  'Last seen',
  'Last used',
  'Long window',
  'Maintenance',
  'Short window',
  'Signed in',
  'Started',
  'Unknown',
  'Version',
  'Warns above',
  'p50 / p95 / p99',
  'p95',
]);

function tableOf(rows: readonly Row[], steps: boolean, caption?: string): Html {
  const all = rows.map(({ id, part, ...cells }) => ({ id, part, cells: Object.entries(cells) }));
  const [first] = all;
  if (!first) return html``;
  return html`
    <div class="table-card">
      <table class="cards">
        ${caption && html`<caption class="unseen">${caption}</caption>`}
        <thead><tr>${first.cells.map(headOf)}</tr></thead>
        <tbody>
          ${all.map(({ id, part, cells }, at) => [
            part !== undefined &&
              part !== all[at - 1]?.part &&
              html`<tr class="part"><th scope="colgroup" colspan="${cells.length}">${part}</th></tr>`,
            rowOf(id, steps, cells.map(cellOf)),
          ])}
        </tbody>
      </table>
    </div>
  `;
}

function rowOf(id: string | undefined, steps: boolean, cells: readonly Html[]): Html {
  if (id) return html`<tr id="${id}"${steps && html` data-row`}>${cells}</tr>`;
  return steps ? html`<tr data-row>${cells}</tr>` : html`<tr>${cells}</tr>`;
}

type Entry = readonly [heading: string, cell: Part | Ending];

function headOf([heading, cell]: Entry): Html {
  if (!(cell instanceof Ending)) return html`<th scope="col">${heading}</th>`;
  return cell.isLabelled
    ? html`<th scope="col" class="number">${heading}</th>`
    : html`<th scope="col"><span class="unseen">${heading}</span></th>`;
}

function cellOf([heading, cell]: Entry, at: number, all: readonly Entry[]): Html {
  const isEnding = cell instanceof Ending;
  const inside = isEnding ? cell.inside : cell;
  if (isEnding && !cell.isLabelled) return html`<td class="acts">${inside}</td>`;
  const isMark = marks.includes(heading);
  const isSubject = at === 0 || (at === 1 && marks.includes(all[0]?.[0] ?? ''));
  const isCount = isEnding && /^\d[\d,]*$/.test(String(inside));
  const kind = [
    ...(isEnding ? ['number'] : []),
    ...(isMark ? ['mark'] : isSubject ? ['subject'] : []),
    ...(inside === '–' ? ['none'] : named.has(heading) ? ['named'] : isCount ? ['counted'] : []),
  ].join(' ');
  const label = isCount && String(inside) === '1' ? heading.replace(/s$/, '') : heading;
  return html`<td data-label="${label}"${kind && html` class="${kind}"`}>${inside}</td>`;
}
