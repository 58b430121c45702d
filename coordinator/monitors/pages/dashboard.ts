import { listGroups } from '../../../shared/api/groups.ts';
import { createMonitor } from '../../../shared/api/monitors.ts';
import type { OutputOf } from '../../../shared/api/operation.ts';
import { countInWords, restOf, sentenceOf } from '../../../shared/base/text.ts';
import { briefDuration } from '../../../shared/base/time.ts';
import { type Bar, spark, strip } from '../../web/charts.ts';
import {
  chips,
  countText,
  heading,
  linkButton,
  msText,
  pager,
  percentText,
  type State,
  stateMark,
  states,
  stateWords,
} from '../../web/elements.ts';
import { formOf } from '../../web/form-data.ts';
import { attempt, enterButton, freshForm, hiddenField, textField } from '../../web/forms.ts';
import { type Html, html, icon, joined, type Part, query, safeUrl } from '../../web/html.ts';
import { type MembersRequest, type Page, seeOther, show } from '../../web/page.ts';
import {
  changeMonitors,
  type DashboardSort,
  dashboardRows,
  dashboardSorts,
  listDashboard,
  type StatusRow,
  statusRows,
} from '../contract.ts';

/** What a dashboard shows, as its address says it: every view can be bookmarked and shared. */
export type View = {
  readonly status: StatusRow | null;
  readonly q: string;
  readonly group: string | null;
  readonly tag: string | null;
  readonly sort: DashboardSort;
  readonly page: number;
};

export const viewOf = (asked: Readonly<Record<string, string>>): View => {
  const page = Number(asked.page ?? 1);
  return {
    status: statusRows.find((status) => status === asked.status) ?? null,
    q: (asked.q ?? '').slice(0, 200),
    group: asked.group === undefined || asked.group === '' ? null : asked.group,
    tag: asked.tag === undefined || asked.tag === '' ? null : asked.tag.slice(0, 50),
    sort: dashboardSorts.find((sort) => sort === asked.sort) ?? 'state',
    page: Number.isInteger(page) && page > 0 && page <= 10_000 ? page : 1,
  };
};

/** The address of a changed view; it begins at its first page. */
export const addressOf = (view: View, change: Partial<View> = {}): string => {
  const { status, q, group, tag, sort, page } = { ...view, page: 1, ...change };
  return `/${query({ status, q, group, tag, sort: sort === 'state' ? null : sort, page: page === 1 ? null : page })}`;
};

const done = (change: string | undefined, count: number): string => {
  const some =
    count === 1
      ? 'One monitor is'
      : `${countInWords(count).replace(/^./, (letter) => letter.toUpperCase())} monitors are`;
  if (change === 'pause') return `${some} paused now.`;
  return change === 'resume' ? `${some} watched again.` : `${some} moved.`;
};

/**
 * Pauses, resumes or moves the selected monitors, and returns to the view in which they were
 * selected.
 */
export const changeChosen: Page = {
  method: 'POST',
  path: '/monitors/change',
  needs: 'member',
  answer: async ({ form, ask }) => {
    const back = form.value('back') ?? '/';
    const to = /^\/(?:\?|$|groups\/[\w-]+$)/.test(back) ? back : '/';
    const monitors = form.values('monitors[]');
    if (monitors.length === 0)
      return seeOther(to, { said: 'Nothing was chosen: tick the monitors first.' });
    const [change, group] = [form.value('change'), form.value('group')];
    const tried = await attempt(
      form,
      () => ask(changeMonitors, { monitors, change, group: group === '' ? null : group }),
      [],
    );
    if ('refused' in tried) return seeOther(to, { said: tried.refused.objections.join(' ') });
    return seeOther(to, {
      said: tried.done.changed === 0 ? 'They were so already.' : done(change, tried.done.changed),
    });
  },
};

export type Dashboard = OutputOf<typeof listDashboard>;
type Row = Dashboard['items'][number];

export type GroupChoice = { readonly id: string; readonly name: string };

const stateOf = (status: string): State => states.find((state) => state === status) ?? 'unknown';
const barOf = (bar: string): Bar => (bar === 'none' ? bar : stateOf(bar));

/** The line below the name: the cause, otherwise the target. */
const detail = ({ status, cause, seen_from, target, type }: Row): string => {
  if (status === 'verifying')
    return seen_from === null
      ? (cause ?? target)
      : `Seen from ${seen_from} only${cause === null ? '' : `: ${cause}`}`;
  if (cause !== null) return cause;
  return type === 'heartbeat' ? `Heartbeat${target === '' ? '' : `, ${target}`}` : target;
};

/** Each tag links to the list of its monitors. */
const tagLinks = ({ tags }: Row, view: View): Part =>
  tags.map((tag) => html` <a class="tag" href="${safeUrl(addressOf(view, { tag }))}">${tag}</a>`);

const rowOf = (row: Row, { now, times }: MembersRequest, view: View, mayChange: boolean): Html => {
  const state = stateOf(row.status);
  const lasts = Math.max(0, now - Date.parse(row.since));
  return html`
    <tr
      class="monitor${state === 'down' || state === 'verifying' ? ` row-${state}` : ''}"
      id="monitor-${row.id}"
    >
      ${
        mayChange &&
        html`
          <td class="cell-tick">
            <input
              type="checkbox"
              name="monitors[]"
              value="${row.id}"
              data-each
              aria-label="Choose ${row.name}"
            >
          </td>
        `
      }
      <td class="cell-state">
        ${stateMark(state)}
        <span class="cell-more">
          ${
            row.covered_until === null
              ? briefDuration(lasts)
              : html`until ${times.moment(row.covered_until)}`
          }
        </span>
      </td>
      <th scope="row" class="cell-name">
        <a href="/monitors/${row.id}" data-row>${row.name}</a>
        ${tagLinks(row, view)}
        <span class="cell-more">${detail(row)}</span>
      </th>
      <td class="cell-strip">${strip(row.bars.map(barOf), 'The last 24 hours')}</td>
      <td class="cell-spark">
        ${spark(row.response, 'Response time')}
        <span class="cell-more">${row.response_ms !== null && msText(row.response_ms)}</span>
      </td>
      <td class="number cell-uptime">${percentText(row.percent)}</td>
      <td class="number cell-look">
        ${row.last_checked_at === null ? '–' : times.ago(row.last_checked_at)}
      </td>
    </tr>
  `;
};

/** Inserts a heading where the group changes. Monitors in trouble come before all groups. */
const withHeadings = (
  dashboard: Dashboard,
  view: View,
  rows: (row: Row) => Html,
  columns: number,
): readonly Html[] => {
  const isGrouped =
    view.sort === 'state' &&
    view.status === null &&
    view.group === null &&
    view.tag === null &&
    dashboard.groups.length > 0;
  if (!isGrouped) return dashboard.items.map(rows);
  let current: string | null | undefined;
  return dashboard.items.flatMap((row) => {
    if (row.status === 'down' || row.status === 'verifying' || row.group === current)
      return [rows(row)];
    current = row.group;
    const group = dashboard.groups.find(({ id }) => id === row.group);
    const words = group
      ? html`
        <a href="${safeUrl(addressOf(view, { group: group.id }))}">${group.name}</a>
        ${stateMark(stateOf(group.status))}
        <span class="softer">${group.monitors}</span>
      `
      : html`<span class="softer">Without a group</span>`;
    return [
      html`
        <tr class="group-row" id="group-${group?.id ?? 'none'}">
          <th scope="colgroup" colspan="${columns}">${words}</th>
        </tr>
      `,
      rows(row),
    ];
  });
};

const bulk = (groups: readonly GroupChoice[], back: string): Html => html`
  <div class="bulk">
    ${enterButton('none')}${hiddenField('back', back)}
    <span class="bulk-words">With those chosen:</span> <button
      class="button"
      name="change"
      value="pause"
    >
      ${icon('pause')}Pause
    </button> <button class="button" name="change" value="resume">${icon('play')}Resume</button>
    ${
      groups.length > 0 &&
      html`
        <span class="bulk-group">
          <label class="unseen" for="bulk-group">Group</label>
          <select id="bulk-group" name="group">
            <option value="">No group</option>
            ${groups.map(({ id, name }) => html`<option value="${id}">${name}</option>`)}
          </select>
          <button class="button" name="change" value="group">Move</button>
        </span>
      `
    }
  </div>
`;

export const monitorTable = (
  request: MembersRequest,
  dashboard: Dashboard,
  view: View,
  groups: readonly GroupChoice[],
): Html => {
  const mayChange = request.may(changeMonitors);
  const columns = mayChange ? 7 : 6;
  const sortLink = (sort: DashboardSort, words: string): Part =>
    view.sort === sort
      ? html`<span>${words}</span>${icon('downwards')}`
      : html`
        <a href="${safeUrl(addressOf(view, { sort }))}" title="Sort by ${words.toLowerCase()}">
          ${words}
        </a>
      `;
  const sorted = (sort: DashboardSort): string =>
    view.sort === sort ? (sort === 'name' ? 'ascending' : 'descending') : 'none';
  const table = html`
    <div class="table-card">
      <table class="monitors">
        <caption class="unseen">Monitors</caption>
        <thead>
          <tr>
            ${
              mayChange &&
              html`
                <td class="cell-tick">
                  <input type="checkbox" data-all hidden aria-label="Choose all">
                </td>
              `
            }
            <th scope="col" aria-sort="${sorted('state')}">${sortLink('state', 'Status')}</th>
            <th scope="col" aria-sort="${sorted('name')}">${sortLink('name', 'Monitor')}</th>
            <th scope="col">Last 24 hours</th>
            <th scope="col" aria-sort="${sorted('response')}">
              ${sortLink('response', 'Response')}
            </th>
            <th scope="col" class="number" aria-sort="${sorted('downtime')}">
              ${sortLink('downtime', 'Uptime, 30 d')}
            </th>
            <th scope="col" class="number">Last look</th>
          </tr>
        </thead>
        <tbody id="monitor-rows" data-keep-order>
          ${withHeadings(dashboard, view, (row) => rowOf(row, request, view, mayChange), columns)}
        </tbody>
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
  return html`
    <form method="post" action="/monitors/change" class="monitors-form">
      ${table}
      <div class="below-table">${pages}${bulk(groups, request.address)}</div>
    </form>
  `;
};

/** What an anonymous reader sees first: one screen that says what this is. */
export const front = () =>
  show({
    title: 'Uptime, seen from everywhere',
    frame: 'bare',
    main: html`
      <div class="front">
        <h1>Know that your site is down before your users do. And never when it is not.</h1>
        <p class="lead">
          Antipode looks at your sites, names and jobs from several continents. It calls an outage
          only when it is also seen from another one, and shows what each of them saw.
        </p>
        <p class="actions">${linkButton('/sign-in', 'Sign in', { main: true })}</p>
        <ul class="front-points">
          <li>
            ${icon('globe')}
            <div>
              <h2>Two continents, or no alarm</h2>
              <p>
                One probe’s bad network wakes nobody. A real outage is confirmed within seconds.
              </p>
            </div>
          </li>
          <li>
            ${icon('see')}
            <div>
              <h2>The evidence, side by side</h2>
              <p>Status, address, DNS, TLS and time of every continent, and where they differ.</p>
            </div>
          </li>
          <li>
            ${icon('clock')}
            <div>
              <h2>Every second accounted for</h2>
              <p>Up, down, maintenance, paused or unknown: the sum is shown, and it adds up.</p>
            </div>
          </li>
        </ul>
      </div>
    `,
  });

export const robots: Page = {
  method: 'GET',
  path: '/robots.txt',
  needs: 'nobody',
  answer: () => ({
    is: 'sent',
    type: 'text/plain; charset=utf-8',
    // Status pages and the API page are public; accounts are private.
    body: [
      'User-agent: *',
      'Allow: /$',
      'Allow: /status/',
      'Allow: /api/v1/docs',
      'Allow: /assets/',
      'Disallow: /',
      '',
    ].join('\n'),
    headers: { 'cache-control': 'public, max-age=86400' },
  }),
};

/** The browser's tab shows what matters most. */
const titleOf = ({ counts, down, verifying }: Dashboard): string => {
  if (counts.down > 0)
    return counts.down === 1 ? `Down: ${down[0] ?? ''}` : `Down: ${countText(counts.down)}`;
  if (counts.verifying > 0)
    return counts.verifying === 1
      ? `Verifying: ${verifying[0] ?? ''}`
      : `Verifying: ${countText(counts.verifying)}`;
  return counts.all === 0 ? 'Monitors' : 'All well';
};

const filterChips = ({ counts }: Dashboard, view: View): Html =>
  chips('Filter by status', [
    {
      href: addressOf(view, { status: null }),
      label: 'All',
      count: counts.all,
      current: view.status === null,
    },
    ...statusRows
      .filter((status) => counts[status] > 0 || view.status === status)
      .map((status) => ({
        href: addressOf(view, { status }),
        label: stateWords[status],
        count: counts[status],
        symbol: status,
        current: view.status === status,
      })),
  ]);

const search = (view: View): Html =>
  html`
    <form class="search" action="/" role="search">
      ${view.status !== null && hiddenField('status', view.status)}
      ${view.group !== null && hiddenField('group', view.group)}
      ${view.tag !== null && hiddenField('tag', view.tag)}
      ${view.sort !== 'state' && hiddenField('sort', view.sort)}
      ${icon('search')}
      <label class="unseen" for="search">Search by name, address or group</label>
      <input
        id="search"
        type="search"
        name="q"
        value="${view.q}"
        placeholder="Search by name, address or group"
        autocomplete="off"
      >
    </form>
  `;

const noneWords: Readonly<Record<StatusRow, string>> = {
  down: 'Nothing is down.',
  verifying: 'Nothing is being verified.',
  up: 'Nothing is up.',
  maintenance: 'Nothing is in maintenance.',
  pending: 'Nothing waits to be looked at.',
  paused: 'Nothing is paused.',
};

const nothingFound = ({ status, q, group, tag }: View): Html => {
  const words =
    q.trim() !== '' || group !== null || tag !== null || status === null
      ? 'Nothing fits this search.'
      : noneWords[status];
  return html`
    <div class="table-card nothing"><p>${words} <a href="/">Show all monitors</a></p></div>
  `;
};

/** Shown before there is any monitor: one sentence and one form. */
const beginning = ({ may }: MembersRequest): Html => {
  const state = freshForm(formOf({}));
  if (!may(createMonitor))
    return heading({
      sentence: 'Nothing is watched yet.',
      below: 'Whoever may change things here can add the first monitor.',
    });
  return html`
    ${heading({
      sentence: 'Nothing is watched yet.',
      below: 'Give an address, and see how it looks from every continent before anything is saved.',
    })}
    <form class="card begin" action="/monitors/new">
      ${textField({
        name: 'target',
        label: 'Web address',
        type: 'url',
        state,
        autocomplete: 'url',
        autofocus: true,
        required: true,
        placeholder: 'https://shop.example/checkout',
      })}
      <button class="button button-main">Try it</button>
    </form>
    <p class="soft">
      Or
      watch <a href="/monitors/new?type=dns">a DNS name</a> or <a href="/monitors/new?type=heartbeat">
        a job that should run
      </a>.
    </p>
  `;
};

const observingProbes = ({ probes }: Dashboard): Part =>
  probes.length > 0 &&
  html`
    <p class="observers">
      ${joined(
        probes.map(
          ({ name, continent, well }) =>
            html`
              <span class="state state-${well ? 'up' : 'down'}">
                ${icon(well ? 'up' : 'down')}
                <span>
                  ${name} <span class="softer">
                    ${well ? continent : `${continent}, not heard`}
                  </span>
                </span>
              </span>
            `,
        ),
        ' ',
      )}
    </p>
  `;

export const dashboard: Page = {
  method: 'GET',
  path: '/',
  needs: 'member',
  stranger: front,
  answer: async (request) => {
    const view = viewOf(request.query);
    const [shown, groups] = await Promise.all([
      request.ask(listDashboard, view),
      request.may(changeMonitors) ? request.ask(listGroups, { limit: 100 }) : { items: [] },
    ]);
    const common = { title: titleOf(shown), place: 'monitors', live: true } as const;
    if (shown.counts.all === 0) return show({ ...common, main: beginning(request) });
    const rest = restOf(shown);
    return show({
      ...common,
      main: html`
        ${heading({
          sentence: sentenceOf(shown),
          below: html`
            ${rest}
            ${shown.changed_at !== null && html` Changed ${request.times.ago(shown.changed_at)}.`}
          `,
          actions:
            request.may(createMonitor) &&
            html`
              <a class="button button-main" href="/monitors/new" data-new>
                ${icon('add')}New monitor
              </a>
            `,
        })}
        <div class="filters">${filterChips(shown, view)}${search(view)}</div>
        ${
          view.group !== null &&
          html`
            <p class="soft">
              In one group. ${linkButton(addressOf(view, { group: null }), 'Show all groups')}
            </p>
          `
        }
        ${
          view.tag !== null &&
          html`
            <p class="soft">
              With the
              tag ${view.tag}. ${linkButton(addressOf(view, { tag: null }), 'Show all tags')}
            </p>
          `
        }
        ${
          shown.items.length === 0
            ? nothingFound(view)
            : monitorTable(request, shown, view, groups.items)
        }
        ${observingProbes(shown)}
      `,
    });
  },
};
