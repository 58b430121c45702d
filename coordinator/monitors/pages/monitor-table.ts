import type { OutputOf } from '../../../shared/api/operation.ts';
import { capital } from '../../../shared/base/text.ts';
import { briefDuration } from '../../../shared/base/time.ts';
import { isKind, type Kind } from '../../../shared/checks/kinds.ts';
import { type Bar, dayStrip, spark } from '../../web/charts.ts';
import { msText, pager, percentFigure, stateMark, stateOf } from '../../web/elements.ts';
import { enterButton, hiddenField } from '../../web/forms.ts';
import { type Html, html, icon, type Part, safeUrl } from '../../web/html.ts';
import { menu, menuButton, menuTitle } from '../../web/menu.ts';
import type { MembersRequest } from '../../web/page.ts';
import type { Times } from '../../web/times.ts';
import {
  changeMonitors,
  type DashboardSort,
  dashboardRows,
  type listDashboard,
} from '../contract.ts';
import { addressOf, isNarrowed, type View } from './view.ts';

export type Dashboard = OutputOf<typeof listDashboard>;
type Row = Dashboard['items'][number];

/** A group, or a monitor. */
export type GroupChoice = { readonly id: string; readonly name: string };

/** The monitors of one page, with what can be done with several of them. */
export function monitorTable(request: MembersRequest, dashboard: Dashboard, view: View): Html {
  const mayChange = request.may(changeMonitors);
  const shown: Shown = { request, dashboard, view, mayChange };
  const table = html`
    <div class="table-card">
      <table class="monitors" id="monitor-rows">
        <caption class="unseen">Monitors</caption>
        ${head(shown)}
        ${bodies(shown)}
      </table>
    </div>
  `;
  const pages = pager({
    page: view.page,
    size: dashboardRows,
    matching: dashboard.matching,
    shown: dashboard.items.length,
    address: (page) => addressOf(view, { page }),
  });
  if (!mayChange) return html`${table}${pages}`;
  const hasMuted = dashboard.items.some((row) => row.muted !== null);
  return html`
    <form method="post" action="/monitors/change" class="monitors-form">
      ${table}${pages}${bulk(dashboard.group_choices, request.address, hasMuted)}
    </form>
    ${
      hasMuted &&
      html`
        <form id="unmute" method="post" action="/monitors/change">
          ${hiddenField('change', 'unmute')}${hiddenField('back', request.address)}
        </form>
      `
    }
  `;
}

type Shown = {
  readonly request: MembersRequest;
  readonly dashboard: Dashboard;
  readonly view: View;
  readonly mayChange: boolean;
};

const kindWords: Readonly<Record<Kind, string>> = {
  https: 'Website or API',
  dns: 'DNS',
  tcp: 'TCP port',
  tls: 'TLS certificate',
  websocket: 'WebSocket',
  grpc: 'gRPC',
  heartbeat: 'Heartbeat',
  domain: 'Domain',
  icmp: 'Ping',
};

export function kindWord(type: string): string {
  return isKind(type) ? kindWords[type] : type;
}

type Column = {
  readonly words: string;
  readonly className: string;
  readonly sort?: DashboardSort;
  readonly cell: (row: Row, shown: Shown) => Part;
};

/** Beside status and name. */
const columns: readonly Column[] = [
  {
    words: 'Last 24 hours',
    className: 'cell-strip',
    cell: ({ bars, downs }, { request: { times } }) => dayStrip(bars.map(barOf), downs, times),
  },
  {
    words: 'Response',
    className: 'number cell-spark',
    sort: 'response',
    cell: ({ response, response_ms }) => html`
      ${spark(response, 'Response time')}
      ${msText(response_ms)}
    `,
  },
  {
    words: 'Uptime, 30 days',
    className: 'number cell-uptime',
    sort: 'downtime',
    cell: ({ percent }) => percentFigure(percent),
  },
  {
    words: 'Last check',
    className: 'number cell-checked',
    cell: ({ last_checked_at }, { request: { times } }) =>
      last_checked_at === null ? '–' : times.ago(last_checked_at),
  },
];

function barOf(bar: string): Bar {
  return bar === 'none' ? bar : stateOf(bar);
}

function head({ view, mayChange }: Shown): Html {
  const sortLink = (sort: DashboardSort, words: string): Part =>
    view.sort === sort
      ? html`<span>${words}</span>${icon('downwards')}`
      : html`<a href="${safeUrl(addressOf(view, { sort }))}">${words}</a>`;
  const sorted = (sort: DashboardSort): string =>
    view.sort === sort ? (sort === 'name' ? 'ascending' : 'descending') : 'none';
  const sortable = (className: string, sort: DashboardSort, words: string): Html => html`
    <th scope="col" class="${className}" aria-sort="${sorted(sort)}">${sortLink(sort, words)}</th>
  `;
  return html`
    <thead>
      <tr>
        ${
          mayChange &&
          html`
            <td class="cell-tick">
              <label><input type="checkbox" data-all aria-label="Select all"></label>
            </td>
          `
        }
        ${sortable('cell-state', 'state', 'Status')}
        ${sortable('cell-name', 'name', 'Monitor')}
        ${columns.map(({ words, className, sort }) =>
          sort === undefined
            ? html`<th scope="col" class="${className}">${words}</th>`
            : sortable(className, sort, words),
        )}
      </tr>
    </thead>
  `;
}

/** One for each group, where the list is in their order. */
function bodies(shown: Shown): Part {
  const { dashboard, view, mayChange } = shown;
  if (view.sort !== 'group' || isNarrowed(view) || dashboard.groups.length === 0)
    return html`<tbody id="rows" data-keep-order>${dashboard.items.map((row) => rowOf(row, shown))}</tbody>`;
  return [...Map.groupBy(dashboard.items, ({ group }) => group)].map(([id, rows]) => {
    const failing = rows.filter(isFailing);
    const group = dashboard.groups.find((each) => each.id === id) ?? {
      name: 'No group',
      status: failing[0]?.status ?? 'up',
      monitors: rows.length,
      failing: failing.length,
    };
    return html`
      <tbody id="rows-${id ?? 'none'}" data-keep-order>
        <tr class="group-row" id="group-${id ?? 'none'}">
          <th scope="colgroup" colspan="${columns.length + (mayChange ? 3 : 2)}">
            ${groupFold(group, rows, id === null || dashboard.items.length <= longList)}
          </th>
        </tr>
        ${[...failing, ...rows.filter((row) => !isFailing(row))].map((row) => rowOf(row, shown))}
      </tbody>
    `;
  });
}

function isFailing({ status }: Row): boolean {
  return status === 'down' || status === 'verifying';
}

/** A shorter list is seen at once. */
const longList = 20;

/** Of a long list, groups are closed in which nothing needs a look. */
function groupFold(
  { name, status, monitors, failing }: Omit<Dashboard['groups'][number], 'id'>,
  rows: readonly Row[],
  isAlwaysOpen: boolean,
): Html {
  const isWell = status === 'up' && rows.every((row) => warningsOf(row).length === 0);
  const isOpen = !isWell || isAlwaysOpen;
  return html`
    <details class="group"${isOpen && html` open`}>
      <summary>
        ${name}
        <span class="softer">${monitors}</span>
        ${status !== 'up' && stateMark(stateOf(status), failing > 0 ? failingWords(failing, rows) : undefined)}
      </summary>
    </details>
  `;
}

/** `1 down, 1 verifying`; of a group that goes on on another page only how many fail. */
function failingWords(failing: number, rows: readonly Row[]): string {
  const parts = (['down', 'verifying'] as const).flatMap((state) => {
    const count = rows.filter(({ status }) => status === state).length;
    return count === 0 ? [] : [{ count, words: `${count} ${state}` }];
  });
  return parts.reduce((sum, { count }) => sum + count, 0) === failing
    ? parts.map(({ words }) => words).join(', ')
    : `${failing} failing`;
}

function rowOf(row: Row, shown: Shown): Html {
  const { request, mayChange } = shown;
  const state = stateOf(row.status);
  const lasts = Math.max(0, request.now - Date.parse(row.since));
  return html`
    <tr
      class="monitor${isFailing(row) ? ` row-${state}` : ''}"
      id="monitor-${row.id}"
    >
      ${
        mayChange &&
        html`
          <td class="cell-tick">
            <label>
              <input
                type="checkbox"
                name="monitors[]"
                value="${row.id}"
                data-each
                aria-label="Select ${row.name}"
              >
            </label>
          </td>
        `
      }
      <td class="cell-state">
        ${stateMark(state)}
        <span class="cell-more">
          ${
            row.covered_until === null
              ? briefDuration(lasts)
              : html`until ${request.times.moment(row.covered_until)}`
          }
        </span>
      </td>
      <th scope="row" class="cell-name">
        <div class="row-line">
          <a href="/monitors/${row.id}" data-row>${row.name}</a>
          ${flappingBadge(row.flapping, request.now)}
          ${ownerBadge(row.owner, request.now)}
        </div>
        <div class="row-line"><span class="cell-more">${warned(row) || detail(row)}</span>${row.muted === null ? tagLinks(row, shown) : muted(row, shown)}</div>
      </th>
      ${columns.map(({ className, cell }) => html`<td class="${className}">${cell(row, shown)}</td>`)}
    </tr>
  `;
}

/**
 * In amber and in place of its address: the status says nothing of warnings (rule 44). A monitor
 * that fails has worse to say.
 */
function warned(row: Row): Part {
  const [first, ...more] = warningsOf(row);
  return (
    !isFailing(row) &&
    first !== undefined &&
    stateMark('verifying', more.length === 0 ? first : `${first} +${more.length}`)
  );
}

function warningsOf({ inside, warnings }: Row): readonly string[] {
  return [...(inside === null ? [] : [inside]), ...warnings.map(({ text }) => text)];
}

export function flappingBadge(flapping: Row['flapping'], now: number): Part {
  return (
    flapping !== null &&
    html`
    <span class="badge">
      Flapping: ${flapping.times} times in ${briefDuration(now - Date.parse(flapping.since))}
    </span>
  `
  );
}

/** Who has the incident, and for how long. */
export function ownerBadge(owner: Row['owner'], now: number): Part {
  return (
    owner !== null &&
    html`
    <span class="badge">
      ${owner.name} has it, ${briefDuration(Math.max(0, now - Date.parse(owner.since)))}
    </span>
  `
  );
}

/** `Muted until 14:00 by Ada` */
export function mutedWords(
  { until, until_resolved, by }: NonNullable<Row['muted']>,
  times: Times,
): Html {
  return html`
  Muted${until_resolved ? ' until resolved' : until !== null && html` until ${times.moment(until)}`}${by !== null && ` by ${by}`}
`;
}

/** Its button belongs to a form of its own, because the row stands in that of the selection. */
function muted({ id, name, muted: mute }: Row, { request, mayChange }: Shown): Part {
  return (
    mute !== null &&
    html`
    <span class="badge">${mutedWords(mute, request.times)}</span>
    ${
      mayChange &&
      html`
        <button
          class="button button-quiet unmute"
          form="unmute"
          name="monitors[]"
          value="${id}"
          aria-label="Unmute ${name}"
        >
          Unmute
        </button>
      `
    }
  `
  );
}

/** The line below the name: the cause, otherwise the target. */
function detail({ cause, target, type }: Row): string {
  if (cause !== null) return cause;
  return type === 'heartbeat' ? `Heartbeat${target === '' ? '' : `, ${target}`}` : target;
}

/** A row has one line for its address and its tags. */
const maxTags = 3;

/** Each leads to the monitors that have it too, among those that are shown. */
function tagLinks({ tags }: Row, { view }: Shown): Part {
  return [
    ...tags.slice(0, maxTags).map((tag) => {
      const next = view.tags.includes(tag) ? view.tags : [...view.tags, tag];
      return html`<a class="tag" href="${safeUrl(addressOf(view, { tags: next }))}">${tag}</a>`;
    }),
    tags.length > maxTags &&
      html`
      <span class="softer" title="${tags.slice(maxTags).join(', ')}">+${tags.length - maxTags}</span>
    `,
  ];
}

/** How long alerts can be muted: in minutes, or by what ends it. */
export const muteChoices = {
  '60': 'for 1 h',
  '480': 'for 8 h',
  resolved: 'until resolved',
  lifted: 'until unmuted',
} as const;

/** As the operations take it. */
export function muteInputOf(choice: string | undefined) {
  return {
    minutes: choice === 'resolved' || choice === 'lifted' ? null : (choice ?? '60'),
    until_resolved: choice === 'resolved',
  };
}

/** In the menus of a monitor and of its incident; `more` goes along. */
export function muteForm(monitor: string, more: Part = null): Html {
  return html`
    <form method="post" action="/monitors/${monitor}/mute">
      ${more}
      ${menuTitle('Mute alerts')}
      ${Object.entries(muteChoices).map(([value, words]) =>
        menuButton(capital(words), ['for', value]),
      )}
    </form>
  `;
}

/** Over the head of the table while something is selected. What needs a choice has it behind a colon. */
function bulk(groups: readonly GroupChoice[], back: string, hasMuted: boolean): Html {
  return html`
    <div class="row tight bulk">
      ${enterButton('none')}${hiddenField('back', back)}
      <span class="bulk-words">selected</span>
      ${act('pause', 'Pause')}
      ${act('resume', 'Resume')}
      ${act('maintenance', 'Maintenance…')}
      ${menu({
        id: 'bulk-mute',
        words: 'Mute…',
        body: html`
          ${menuTitle('Mute alerts')}
          ${Object.entries(muteChoices).map(([value, words]) =>
            menuButton(capital(words), ['change', `mute:${value}`]),
          )}
          ${hasMuted && html`<hr>${menuButton('Unmute', ['change', 'unmute'])}`}
        `,
      })}
      ${
        groups.length > 0 &&
        menu({
          id: 'bulk-group',
          words: 'Move…',
          body: html`
            ${groups.map(({ id, name }) => menuButton(name, ['change', `group:${id}`]))}
            <hr>
            ${menuButton('No group', ['change', 'group:'])}
          `,
        })
      }
      ${menu({
        id: 'bulk-tags',
        words: 'Tag…',
        body: html`
          <label class="menu-title" for="bulk-tag">Tag</label>
          <input id="bulk-tag" name="tag" maxlength="50" autocomplete="off">
          ${menuButton('Add', ['change', 'tag'], { symbol: 'add' })}
          ${menuButton('Remove', ['change', 'untag'], { symbol: 'close' })}
        `,
      })}
      <button class="button button-quiet" type="reset">Clear</button>
      ${act('delete', 'Delete', ' button-danger')}
    </div>
  `;
}

function act(change: string, words: Part, kind = ''): Html {
  return html`<button class="button${kind}" name="change" value="${change}">${words}</button>`;
}
