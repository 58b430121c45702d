import { changeMonitors, type DashboardSort, dashboardRows, type listDashboard } from '../../../../../shared/api/inner/inner-dashboard.ts';
import type { OutputOf } from '../../../../../shared/api/operation.ts';
import { briefDuration } from '../../../../../shared/base/time.ts';
import { msText, percentText } from '../../parts/part-figures.ts';
import { pager } from '../../parts/part-pager.ts';
import { spark } from '../../parts/part-spark.ts';
import { type State, stateMark, states } from '../../parts/part-states.ts';
import { type Bar, strip } from '../../parts/part-strip.ts';
import { enterButton, hiddenField } from '../../web-forms.ts';
import { type Html, html, type Part, safeUrl } from '../../web-html.ts';
import { icon } from '../../web-icons.ts';
import type { MembersRequest } from '../../web-page.ts';
import { addressOf, type View } from './page-dashboard-address.ts';

export type Dashboard = OutputOf<typeof listDashboard>;
type Row = Dashboard['items'][number];

export type GroupChoice = { readonly id: string; readonly name: string };

const stateOf = (status: string): State => states.find((state) => state === status) ?? 'unknown';
const barOf = (bar: string): Bar => (bar === 'none' ? bar : stateOf(bar));

/** What is said below the name: what is wrong, else what is looked at. */
const detail = ({ status, cause, seen_from, target, type }: Row): string => {
  if (status === 'verifying')
    return seen_from === null ? (cause ?? target) : `Seen from ${seen_from} only${cause === null ? '' : `: ${cause}`}`;
  if (cause !== null) return cause;
  return type === 'heartbeat' ? `Heartbeat${target === '' ? '' : `, ${target}`}` : target;
};

/** Each leads to the list of those that have it. */
const tagLinks = ({ tags }: Row, view: View): Part =>
  tags.map((tag) => html` <a class="tag" href="${safeUrl(addressOf(view, { tag }))}">${tag}</a>`);

const rowOf = (row: Row, { now, times }: MembersRequest, view: View, mayChange: boolean): Html => {
  const state = stateOf(row.status);
  const lasts = Math.max(0, now - Date.parse(row.since));
  return html`<tr class="monitor${state === 'down' || state === 'verifying' ? ` row-${state}` : ''}" id="monitor-${row.id}">
${mayChange && html`<td class="cell-tick"><input type="checkbox" name="monitors[]" value="${row.id}" data-each aria-label="Choose ${row.name}"></td>`}
<td class="cell-state">${stateMark(state)}<span class="cell-more">${row.covered_until === null ? briefDuration(lasts) : html`until ${times.moment(row.covered_until)}`}</span></td>
<th scope="row" class="cell-name"><a href="/monitors/${row.id}" data-row>${row.name}</a>${tagLinks(row, view)}<span class="cell-more">${detail(row)}</span></th>
<td class="cell-strip">${strip(row.bars.map(barOf), 'The last 24 hours')}</td>
<td class="cell-spark">${spark(row.response, 'Response time')}<span class="cell-more">${row.response_ms !== null && msText(row.response_ms)}</span></td>
<td class="number cell-uptime">${percentText(row.percent)}</td>
<td class="number cell-look">${row.last_checked_at === null ? '–' : times.ago(row.last_checked_at)}</td>
</tr>`;
};

/** A heading where the list comes to another group. Trouble stands above all groups. */
const withHeadings = (dashboard: Dashboard, view: View, rows: (row: Row) => Html, columns: number): readonly Html[] => {
  const isGrouped =
    view.sort === 'state' && view.status === null && view.group === null && view.tag === null && dashboard.groups.length > 0;
  if (!isGrouped) return dashboard.items.map(rows);
  let current: string | null | undefined;
  return dashboard.items.flatMap((row) => {
    if (row.status === 'down' || row.status === 'verifying' || row.group === current) return [rows(row)];
    current = row.group;
    const group = dashboard.groups.find(({ id }) => id === row.group);
    const words = group
      ? html`<a href="${safeUrl(addressOf(view, { group: group.id }))}">${group.name}</a>${stateMark(stateOf(group.status))}<span class="softer">${group.monitors}</span>`
      : html`<span class="softer">Without a group</span>`;
    return [
      html`<tr class="group-row" id="group-${group?.id ?? 'none'}"><th scope="colgroup" colspan="${columns}">${words}</th></tr>`,
      rows(row),
    ];
  });
};

const bulk = (
  groups: readonly GroupChoice[],
  back: string,
): Html => html`<div class="bulk">${enterButton('none')}${hiddenField('back', back)}
<span class="bulk-words">With those chosen:</span>
<button class="button" name="change" value="pause">${icon('pause')}Pause</button>
<button class="button" name="change" value="resume">${icon('play')}Resume</button>
${
  groups.length > 0 &&
  html`<span class="bulk-group"><label class="unseen" for="bulk-group">Group</label><select id="bulk-group" name="group"><option value="">No group</option>${groups.map(
    ({ id, name }) => html`<option value="${id}">${name}</option>`,
  )}</select><button class="button" name="change" value="group">Move</button></span>`
}</div>`;

/** The one dense table. */
export const monitorTable = (request: MembersRequest, dashboard: Dashboard, view: View, groups: readonly GroupChoice[]): Html => {
  const mayChange = request.may(changeMonitors);
  const columns = mayChange ? 7 : 6;
  const sortLink = (sort: DashboardSort, words: string): Part =>
    view.sort === sort
      ? html`<span>${words}</span>${icon('downwards')}`
      : html`<a href="${safeUrl(addressOf(view, { sort }))}" title="Sort by ${words.toLowerCase()}">${words}</a>`;
  const sorted = (sort: DashboardSort): string => (view.sort === sort ? (sort === 'name' ? 'ascending' : 'descending') : 'none');
  const table = html`<div class="table-card"><table class="monitors"><caption class="unseen">Monitors</caption><thead><tr>
${mayChange && html`<td class="cell-tick"><input type="checkbox" data-all hidden aria-label="Choose all"></td>`}
<th scope="col" aria-sort="${sorted('state')}">${sortLink('state', 'Status')}</th>
<th scope="col" aria-sort="${sorted('name')}">${sortLink('name', 'Monitor')}</th>
<th scope="col">Last 24 hours</th>
<th scope="col" aria-sort="${sorted('response')}">${sortLink('response', 'Response')}</th>
<th scope="col" class="number" aria-sort="${sorted('downtime')}">${sortLink('downtime', 'Uptime, 30 d')}</th>
<th scope="col" class="number">Last look</th>
</tr></thead><tbody id="monitor-rows" data-keep-order>${withHeadings(dashboard, view, (row) => rowOf(row, request, view, mayChange), columns)}</tbody></table></div>`;
  const pages = pager({
    ...{ page: view.page, size: dashboardRows, matching: dashboard.matching, shown: dashboard.items.length },
    address: (page) => addressOf(view, { page }),
  });
  if (!mayChange) return html`${table}${pages}`;
  return html`<form method="post" action="/monitors/change" class="monitors-form">${table}<div class="below-table">${pages}${bulk(groups, request.address)}</div></form>`;
};
