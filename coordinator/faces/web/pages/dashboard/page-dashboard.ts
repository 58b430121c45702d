import { listGroups } from '../../../../../shared/api/groups.ts';
import { changeMonitors, listDashboard, type ShownStatus, shownStatuses } from '../../../../../shared/api/inner/inner-dashboard.ts';
import { createMonitor } from '../../../../../shared/api/monitors.ts';
import { restOf, sentenceOf } from '../../../../../shared/base/text.ts';
import { countText } from '../../parts/part-figures.ts';
import { stateWords } from '../../parts/part-states.ts';
import { formOf } from '../../web-form-data.ts';
import { freshForm, hiddenField, textField } from '../../web-forms.ts';
import { type Html, html, joined, type Part } from '../../web-html.ts';
import { icon } from '../../web-icons.ts';
import { chips, heading, linkButton } from '../../web-layout.ts';
import { type MembersRequest, type Page, show } from '../../web-page.ts';
import { front } from '../page-front.ts';
import { addressOf, type View, viewOf } from './page-dashboard-address.ts';
import { type Dashboard, monitorTable } from './page-dashboard-table.ts';

/** A browser's tab says what matters most. */
const titleOf = ({ counts, down, verifying }: Dashboard): string => {
  if (counts.down > 0) return counts.down === 1 ? `Down: ${down[0] ?? ''}` : `Down: ${countText(counts.down)}`;
  if (counts.verifying > 0)
    return counts.verifying === 1 ? `Verifying: ${verifying[0] ?? ''}` : `Verifying: ${countText(counts.verifying)}`;
  return counts.all === 0 ? 'Monitors' : 'All well';
};

const filterChips = ({ counts }: Dashboard, view: View): Html =>
  chips('Filter by status', [
    { href: addressOf(view, { status: null }), label: 'All', count: counts.all, current: view.status === null },
    ...shownStatuses
      .filter((status) => counts[status] > 0 || view.status === status)
      .map((status) => ({
        href: addressOf(view, { status }),
        ...{ label: stateWords[status], count: counts[status], symbol: status, current: view.status === status },
      })),
  ]);

const search = (view: View): Html =>
  html`<form class="search" action="/" role="search">${view.status !== null && hiddenField('status', view.status)}${
    view.group !== null && hiddenField('group', view.group)
  }${view.tag !== null && hiddenField('tag', view.tag)}${view.sort !== 'state' && hiddenField('sort', view.sort)}${icon('search')}<label class="unseen" for="search">Search by name, address or group</label><input id="search" type="search" name="q" value="${view.q}" placeholder="Search by name, address or group" autocomplete="off"></form>`;

const noneWords: Readonly<Record<ShownStatus, string>> = {
  down: 'Nothing is down.',
  verifying: 'Nothing is being verified.',
  up: 'Nothing is up.',
  maintenance: 'Nothing is in maintenance.',
  pending: 'Nothing waits to be looked at.',
  paused: 'Nothing is paused.',
};

const nothingFound = ({ status, q, group, tag }: View): Html => {
  const words = q.trim() !== '' || group !== null || tag !== null || status === null ? 'Nothing fits this search.' : noneWords[status];
  return html`<div class="table-card nothing"><p>${words} <a href="/">Show all monitors</a></p></div>`;
};

/** Before there is anything: one sentence and one form. */
const beginning = ({ may }: MembersRequest): Html => {
  const state = freshForm(formOf({}));
  if (!may(createMonitor))
    return heading({ sentence: 'Nothing is watched yet.', below: 'Whoever may change things here can add the first monitor.' });
  return html`${heading({ sentence: 'Nothing is watched yet.', below: 'Give an address, and see how it looks from every continent before anything is saved.' })}
<form class="card begin" action="/monitors/new">${textField({
    ...{ name: 'target', label: 'Web address', type: 'url', state, autocomplete: 'url', autofocus: true, required: true },
    placeholder: 'https://shop.example/checkout',
  })}<button class="button button-main">Try it</button></form>
<p class="soft">Or watch <a href="/monitors/new?type=dns">a DNS name</a> or <a href="/monitors/new?type=heartbeat">a job that should run</a>.</p>`;
};

const observers = ({ probes }: Dashboard): Part =>
  probes.length > 0 &&
  html`<p class="observers">${joined(
    probes.map(
      ({ name, continent, well }) =>
        html`<span class="state state-${well ? 'up' : 'down'}">${icon(well ? 'up' : 'down')}<span>${name} <span class="softer">${well ? continent : `${continent}, not heard`}</span></span></span>`,
    ),
    ' ',
  )}</p>`;

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
      main: html`${heading({
        sentence: sentenceOf(shown),
        below: html`${rest}${shown.changed_at !== null && html` Changed ${request.times.ago(shown.changed_at)}.`}`,
        actions:
          request.may(createMonitor) && html`<a class="button button-main" href="/monitors/new" data-new>${icon('add')}New monitor</a>`,
      })}<div class="filters">${filterChips(shown, view)}${search(view)}</div>${
        view.group !== null && html`<p class="soft">In one group. ${linkButton(addressOf(view, { group: null }), 'Show all groups')}</p>`
      }${
        view.tag !== null &&
        html`<p class="soft">With the tag ${view.tag}. ${linkButton(addressOf(view, { tag: null }), 'Show all tags')}</p>`
      }${shown.items.length === 0 ? nothingFound(view) : monitorTable(request, shown, view, groups.items)}${observers(shown)}`,
    });
  },
};
