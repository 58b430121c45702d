import { createGroup, deleteGroup, getGroup, updateGroup } from '../../shared/api/groups.ts';
import { createMaintenanceWindow } from '../../shared/api/maintenance.ts';
import type { OutputOf } from '../../shared/api/operation.ts';
import { changeMonitors, listDashboard } from '../monitors/contract.ts';
import { monitorTable } from '../monitors/pages/monitor-table.ts';
import { inputOf, viewOf } from '../monitors/pages/view.ts';
import { confirm } from '../web/confirm.ts';
import {
  type Heading,
  heading,
  linkButton,
  nothing,
  pager,
  stateMark,
  stateOf,
} from '../web/elements.ts';
import { formOf } from '../web/form-data.ts';
import {
  choiceField,
  type FormState,
  formSummary,
  refuseUnlessMay,
  textArea,
  textField,
} from '../web/forms.ts';
import { type Html, html, icon, joined, type Part, safeUrl } from '../web/html.ts';
import { menuLink, moreActions } from '../web/menu.ts';
import {
  forMembers,
  type MembersRequest,
  type Page,
  type PageAnswer,
  seeOther,
  show,
} from '../web/page.ts';
import { stacked, stepTable } from '../web/tables.ts';
import { groupRows, listGroupStatuses, listMonitorsOutside, showGroup } from './contract.ts';

type Listed = OutputOf<typeof listGroupStatuses>;
type GroupStatus = Omit<Listed['items'][number], 'created_at'>;

const counted: readonly (readonly [
  key: 'down' | 'verifying' | 'up' | 'maintenance' | 'pending' | 'paused',
  words: string,
  state?: string,
])[] = [
  ['down', 'down', 'state-down'],
  ['verifying', 'verifying', 'state-verifying'],
  ['up', 'up'],
  ['maintenance', 'in maintenance'],
  ['pending', 'pending'],
  ['paused', 'paused'],
];

/** `2 down, 19 up (3 with warnings)`, what needs a look in its colour. */
function countsOf(group: GroupStatus): Part {
  const parts = counted.flatMap(([key, words, state]) =>
    group[key] === 0 ? [] : [html`<span class="${state}">${group[key]} ${words}</span>`],
  );
  if (parts.length === 0) return 'No monitors yet';
  const warned =
    group.warned > 0 &&
    html` <span class="state-verifying">(${group.warned} with ${group.warned === 1 ? 'a warning' : 'warnings'})</span>`;
  return html`${joined(parts, ', ')}${warned}`;
}

const below =
  'A group is down while a monitor that counts in it is. Maintenance and warnings do not change that.';

const listPage = forMembers.get('/groups', async ({ ask, may, query }) => {
  const asked = Number(query.page ?? 1);
  const page = Number.isInteger(asked) && asked > 0 && asked <= 10_000 ? asked : 1;
  const listed = await ask(listGroupStatuses, { page });
  const common = {
    title: 'Groups',
    place: 'groups',
    live: true,
  } as const;
  const add =
    may(createGroup) &&
    html`<a class="button button-main" href="/groups/new" data-new>${icon('add')}New group</a>`;
  if (listed.matching === 0)
    return show({
      ...common,
      main: html`
        ${heading({ sentence: 'No groups yet' })}
        ${nothing('groups', add ? below : `${below} Your role can only read: members create them.`, add)}
      `,
    });
  return show({
    ...common,
    main: html`
      <div class="stack">
        ${heading({
          sentence: sentenceOf(listed),
          below: add ? below : `${below} Your role can only read: members change them.`,
          actions: add,
        })}
        ${stepTable(
          failingFirst(listed.items).map((group) => ({
            id: `group-${group.id}`,
            Status: stateMark(stateOf(group.status)),
            Group: stacked(
              html`<a class="row-link" href="/groups/${group.id}">${group.name}</a>`,
              group.description,
            ),
            Monitors: countsOf(group),
          })),
        )}
        ${pager({
          page,
          size: groupRows,
          matching: listed.matching,
          shown: listed.items.length,
          address: (to) => `/groups?page=${to}`,
        })}
      </div>
    `,
  });
});

/** Each of these by name. */
function failingFirst(items: Listed['items']): Listed['items'] {
  const last = ['verifying', 'down'];
  return items.toSorted((a, b) => last.indexOf(b.status) - last.indexOf(a.status));
}

function sentenceOf({ items, matching }: Listed): string {
  const down = items.filter(({ status }) => status === 'down');
  const [first] = down;
  if (first)
    return down.length === 1
      ? `${first.name} is down`
      : `${first.name} and ${down.length - 1} more groups are down`;
  const verifying = items.find(({ status }) => status === 'verifying');
  if (verifying) return `In ${verifying.name} a failure is being verified`;
  return matching === 1 ? 'Your group is not down' : `None of your ${matching} groups is down`;
}

const trail = [{ href: '/groups', name: 'Groups' }];

/** If a group of that name exists, redirects to it. */
const newPages = forMembers.form('/groups/new', (request) => {
  refuseUnlessMay(request, createGroup);
  const { ask, form } = request;
  return {
    shown: (state) =>
      nameForm(state, {
        sentence: 'New group',
        below,
        trail,
        act: 'Create group',
        back: '/groups',
      }),
    fields: ['name', 'description'],
    act: async () => {
      const { id } = await ask(createGroup, {
        name: form.value('name') ?? '',
        description: form.value('description') ?? '',
      });
      return seeOther(`/groups/${id}`);
    },
  };
});

export const groupListPages: readonly Page[] = [listPage, ...newPages];

const groupPage = forMembers.get('/groups/:group_id', async (request) => {
  const { ask, may, path } = request;
  const group = await ask(showGroup, { group_id: path.group_id });
  const view = viewOf({ group: group.id });
  const monitors = await ask(listDashboard, inputOf(view));
  return show({
    title: group.status === 'down' ? `Down: ${group.name}` : group.name,
    place: 'groups',
    live: true,
    main: html`
        <div class="stack">
          ${heading({
            sentence: groupSentenceOf(group),
            below: html`
              ${countsOf(group)}
              ${
                group.description !== null &&
                html` <span class="softer">·</span> ${group.description}`
              }
            `,
            actions: actionsOf(group, request),
            trail,
          })}
          ${
            monitors.items.length === 0
              ? nothing(
                  'groups',
                  may(updateGroup)
                    ? 'Add monitors. The group then has the worst status of those that count in it.'
                    : 'Your role can only read: members add monitors.',
                )
              : monitorTable(request, monitors, view)
          }
          ${usesOf(group)}
        </div>
      `,
  });
});

type GroupDetail = OutputOf<typeof showGroup>;

function groupSentenceOf({ name, status, monitors, paused }: GroupDetail): string {
  if (monitors === 0) return `${name} has no monitors yet`;
  if (status === 'down') return `${name} is down`;
  if (status === 'verifying') return `In ${name} a failure is being verified`;
  if (status === 'paused')
    return monitors === paused
      ? `All of ${name} is paused`
      : `Every monitor that counts in ${name} is paused`;
  return status === 'pending' ? `${name} waits for its first checks` : `${name} is up`;
}

function actionsOf({ id }: GroupDetail, { may }: MembersRequest): Html | null {
  return may(updateGroup)
    ? html`
      ${linkButton(`/groups/${id}/add`, 'Add monitors', { main: true, symbol: 'add' })}
      ${moreActions(html`
        ${
          may(createMaintenanceWindow) &&
          menuLink(`/maintenance/new?when=now&group=${id}`, 'Maintenance', {
            symbol: 'maintenance',
          })
        }
        ${menuLink(`/reports?group=${id}`, 'Report', { symbol: 'calendar' })}
        ${menuLink(`/groups/${id}/edit`, 'Rename', { symbol: 'edit' })}
        <hr>
        ${menuLink(`/groups/${id}/delete`, 'Delete', { symbol: 'delete', danger: true })}
      `)}
    `
    : null;
}

/** What uses the group as a whole, in sentences. */
function usesOf({ windows, channels, pages }: GroupDetail): Html | null {
  return windows.length + channels.length + pages.length === 0
    ? null
    : html`
      <section class="card stack">
        <h2>Used by</h2>
        <dl class="facts">
          ${
            windows.length > 0 &&
            html`<dt>Maintenance</dt><dd>${named(windows, 'maintenance')}</dd>`
          }
          ${channels.length > 0 && html`<dt>Channels</dt><dd>${named(channels, 'alerts')}</dd>`}
          ${pages.length > 0 && html`<dt>Status pages</dt><dd>${named(pages, 'status-pages')}</dd>`}
        </dl>
      </section>
    `;
}

function named(items: GroupDetail['windows'], folder: string): readonly Part[] {
  return joined(
    items.map(
      ({ id, name }) =>
        html`<a href="${safeUrl(`/${folder}/${id}`)}">${name ?? 'unnamed window'}</a>`,
    ),
    ', ',
  );
}

const addPages = forMembers.form('/groups/:group_id/add', async (request) => {
  const { ask, form, path } = request;
  const [group, { items }] = await Promise.all([
    ask(getGroup, { group_id: path.group_id }),
    ask(listMonitorsOutside, { group_id: path.group_id }),
  ]);
  refuseUnlessMay(request, changeMonitors);
  return {
    shown: (state) => addForm(group, items, state),
    fields: ['monitors'],
    act: async () => {
      const monitors = form.values('monitors[]');
      const { changed } = await ask(changeMonitors, { monitors, change: 'group', group: group.id });
      return seeOther(`/groups/${group.id}`, {
        said: changed === 1 ? 'One monitor added.' : `${changed} monitors added.`,
      });
    },
  };
});

type Group = OutputOf<typeof getGroup>;

function addForm(
  group: Group,
  outside: OutputOf<typeof listMonitorsOutside>['items'],
  state: FormState,
): PageAnswer {
  return show({
    title: `Add monitors to ${group.name}`,
    place: 'groups',
    status: state.status,
    main: html`
        ${heading({
          sentence: `Add monitors to ${group.name}`,
          below:
            'A monitor is in one group: one that is in another leaves it, with the maintenance that it had through it.',
          trail: trailTo(group),
        })}
        ${formSummary(state)}
        ${
          outside.length === 0
            ? nothing(
                'groups',
                'Every monitor is in it already.',
                linkButton(`/groups/${group.id}`, 'Back'),
              )
            : html`
              <form class="form" method="post">
                ${choiceField({
                  name: 'monitors[]',
                  label: 'Monitors',
                  state,
                  several: true,
                  filter: 'Filter by name or group',
                  choices: outside.map(({ id, name, group: other }) => ({
                    value: id,
                    label: name,
                    help: other === null ? null : `now in ${other}`,
                  })),
                })}
                <div class="actions">
                  <button class="button button-main">Add monitors</button>
                  ${linkButton(`/groups/${group.id}`, 'Cancel')}
                </div>
              </form>
            `
        }
    `,
  });
}

function trailTo({ id, name }: Pick<Group, 'id' | 'name'>) {
  return [...trail, { href: `/groups/${id}`, name }];
}

const editPages = forMembers.form('/groups/:group_id/edit', async (request) => {
  const group = await request.ask(getGroup, { group_id: request.path.group_id });
  refuseUnlessMay(request, updateGroup);
  const { ask, form } = request;
  return {
    fresh: () => formOf({ name: group.name, description: group.description }),
    shown: (state) =>
      nameForm(state, {
        sentence: `Rename ${group.name}`,
        below: 'Status pages keep the name that you gave it there.',
        trail: trailTo(group),
        act: 'Save',
        back: `/groups/${group.id}`,
      }),
    fields: ['name', 'description'],
    act: async () => {
      await ask(updateGroup, {
        group_id: group.id,
        name: form.value('name') ?? '',
        description: form.value('description') ?? '',
      });
      return seeOther(`/groups/${group.id}`, { said: 'Group saved.' });
    },
  };
});

type Around = Required<Pick<Heading, 'below' | 'trail'>> & {
  readonly sentence: string;
  readonly act: string;
  readonly back: string;
};

function nameForm(
  state: FormState,
  { sentence, below: words, trail: way, act, back }: Around,
): PageAnswer {
  return show({
    title: sentence,
    place: 'groups',
    status: state.status,
    main: html`
      ${heading({ sentence, below: words, trail: way })}
      ${formSummary(state)}
      <form class="form" method="post">
        ${textField({ name: 'name', label: 'Name', state, autocomplete: 'off', autofocus: true, required: true, placeholder: 'Shop' })}
        ${textArea({ name: 'description', label: 'Description', state, rows: 2, required: false })}
        <div class="actions">
          <button class="button button-main">${act}</button>
          ${linkButton(back, 'Cancel')}
        </div>
      </form>
    `,
  });
}

const deletePages = forMembers.form('/groups/:group_id/delete', async (request) => {
  const group = await request.ask(showGroup, { group_id: request.path.group_id });
  refuseUnlessMay(request, deleteGroup);
  const { id, name } = group;
  return {
    shown: (state) =>
      confirm({
        state,
        title: `Delete ${name}`,
        place: 'groups',
        sentence: `Delete the group ${name}?`,
        trail: trailTo(group),
        facts: goneWith(group),
        act: 'Delete group',
      }),
    act: async () => {
      await request.ask(deleteGroup, { group_id: id });
      return seeOther('/groups', { said: `Group ${name} deleted. Its monitors stay.` });
    },
  };
});

/** Says before the deletion what happens to things that name the group. */
function goneWith({ monitors, windows, channels, pages }: GroupDetail): Html {
  const names = (items: GroupDetail['windows']): string =>
    items.map(({ name }) => name ?? 'unnamed').join(', ');
  const remains =
    monitors === 0
      ? 'It has no monitors.'
      : monitors === 1
        ? 'Its monitor stays, without a group, with all its history.'
        : `Its ${monitors} monitors stay, without a group, with all their history.`;
  return html`
    <ul class="plain-list">
      <li>${remains}</li>
      ${
        windows.length > 0 &&
        html`
          <li>
            Maintenance covers them through it no longer: ${names(windows)}. What was covered until
            now stays covered.
          </li>
        `
      }
      ${
        channels.length > 0 &&
        html`
          <li>
            These channels no longer receive their alerts, unless other rules include them:${' '}
            ${names(channels)}.
          </li>
        `
      }
      ${
        pages.length > 0 &&
        html`
          <li>
            On these status pages its heading goes; the monitors stay published: ${names(pages)}.
          </li>
        `
      }
    </ul>
  `;
}

export const groupPages: readonly Page[] = [groupPage, ...addPages, ...editPages, ...deletePages];
