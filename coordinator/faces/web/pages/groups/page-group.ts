import { deleteGroup, getGroup, listGroups, updateGroup } from '../../../../../shared/api/groups.ts';
import { changeMonitors, listDashboard } from '../../../../../shared/api/inner/inner-dashboard.ts';
import { listMonitorsOutside, showGroup } from '../../../../../shared/api/inner/inner-groups.ts';
import { createMaintenanceWindow } from '../../../../../shared/api/maintenance.ts';
import type { OutputOf } from '../../../../../shared/api/operation.ts';
import { refuseUnlessMay } from '../../parts/part-refuse-unless-may.ts';
import { stateMark } from '../../parts/part-states.ts';
import { formOf } from '../../web-form-data.ts';
import { attempt, choiceField, type FormState, formSummary, freshForm, textArea, textField } from '../../web-forms.ts';
import { type Html, html, joined, type Part, safeUrl } from '../../web-html.ts';
import { icon } from '../../web-icons.ts';
import { heading, linkButton } from '../../web-layout.ts';
import { type MembersRequest, type Page, type PageAnswer, seeOther, show } from '../../web-page.ts';
import { viewOf } from '../dashboard/page-dashboard-address.ts';
import { monitorTable } from '../dashboard/page-dashboard-table.ts';
import { countsText, groupState } from './page-group-list.ts';

type Shown = OutputOf<typeof showGroup>;
type Group = OutputOf<typeof getGroup>;

const trail = [{ href: '/groups', name: 'Groups' }];
const trailTo = ({ id, name }: Pick<Group, 'id' | 'name'>) => [...trail, { href: `/groups/${id}`, name }];

const sentenceOf = ({ name, status, monitors, paused }: Shown): string => {
  if (monitors === 0) return `${name} has no monitors yet.`;
  if (status === 'down') return `${name} is down.`;
  if (status === 'verifying') return `In ${name} a failure is being verified.`;
  if (status === 'paused') return monitors === paused ? `All of ${name} is paused.` : `What counts in ${name} is paused.`;
  return status === 'pending' ? `${name} waits for its first looks.` : `${name} is up.`;
};

const actionsOf = ({ id }: Shown, { may }: MembersRequest): Html | null =>
  may(updateGroup)
    ? html`${linkButton(`/groups/${id}/add`, 'Add monitors', { main: true, symbol: 'add' })}${may(createMaintenanceWindow) && linkButton(`/maintenance/new?when=now&group=${id}`, 'Maintenance', { symbol: 'maintenance' })}${linkButton(`/groups/${id}/edit`, 'Rename', { symbol: 'edit' })}${linkButton(`/groups/${id}/delete`, 'Delete', { symbol: 'delete' })}`
    : null;

const named = (items: Shown['windows'], folder: string): readonly Part[] =>
  joined(
    items.map(({ id, name }) => html`<a href="${safeUrl(`/${folder}/${id}`)}">${name ?? 'a window without a name'}</a>`),
    ', ',
  );

/** What is for the group as a whole, in sentences. */
const usesOf = ({ windows, channels, pages }: Shown): Html | null =>
  windows.length + channels.length + pages.length === 0
    ? null
    : html`<section class="card stack"><h2>What is for all of it</h2>${windows.length > 0 && html`<p>Maintenance: ${named(windows, 'maintenance')}.</p>`}${
        channels.length > 0 && html`<p>Told of it: ${named(channels, 'alerts')}.</p>`
      }${pages.length > 0 && html`<p>On status pages: ${pages.map(({ name }) => name ?? '').join(', ')}.</p>`}</section>`;

const groupPage: Page = {
  method: 'GET',
  path: '/groups/:group_id',
  needs: 'member',
  answer: async (request) => {
    const { ask, may, path } = request;
    const group = await ask(showGroup, { group_id: path.group_id });
    const view = viewOf({ group: group.id });
    const [monitors, groups] = await Promise.all([
      ask(listDashboard, view),
      may(changeMonitors) ? ask(listGroups, { limit: 100 }) : { items: [] },
    ]);
    return show({
      title: group.status === 'down' ? `Down: ${group.name}` : group.name,
      place: 'groups',
      live: true,
      main: html`<div class="window-page">${heading({
        sentence: sentenceOf(group),
        below: html`${stateMark(groupState(group.status))} <span class="softer">·</span> ${countsText(group)}${group.description !== null && html` <span class="softer">·</span> ${group.description}`}`,
        actions: actionsOf(group, request),
        trail,
      })}${
        monitors.items.length === 0
          ? html`<p class="nothing card">${may(updateGroup) ? 'Add monitors, and the group has the worst status of those that count in it.' : 'Members add monitors to it; your role may only look.'}</p>`
          : monitorTable(request, monitors, view, groups.items)
      }${usesOf(group)}</div>`,
    });
  },
};

const addForm = (group: Group, outside: OutputOf<typeof listMonitorsOutside>['items'], state: FormState): PageAnswer =>
  show({
    title: `Add monitors to ${group.name}`,
    place: 'groups',
    status: state.status,
    main: html`<div class="window-page">${heading({
      sentence: `Add monitors to ${group.name}`,
      below: 'A monitor is in one group: one that is in another leaves it, with the maintenance that it had through it.',
      trail: trailTo(group),
    })}${formSummary(state)}${
      outside.length === 0
        ? html`<p class="nothing card">Every monitor is in it already.</p><p class="actions">${linkButton(`/groups/${group.id}`, 'Back')}</p>`
        : html`<form class="form window-form" method="post"><div class="card chosen-list">${choiceField({
            ...{ name: 'monitors[]', label: 'Monitors', state, several: true },
            choices: outside.map(({ id, name, group: other }) => ({
              value: id,
              label: name,
              help: other === null ? null : `now in ${other}`,
            })),
          })}</div><div class="actions"><button class="button button-main">Add them</button>${linkButton(`/groups/${group.id}`, 'Leave it')}</div></form>`
    }</div>`,
  });

const addSubject = async (request: MembersRequest) => {
  const { ask, path } = request;
  const [group, { items }] = await Promise.all([
    ask(getGroup, { group_id: path.group_id }),
    ask(listMonitorsOutside, { group_id: path.group_id }),
  ]);
  refuseUnlessMay(request, changeMonitors);
  return { group, items };
};

const addPage: Page = {
  method: 'GET',
  path: '/groups/:group_id/add',
  needs: 'member',
  answer: async (request) => {
    const { group, items } = await addSubject(request);
    return addForm(group, items, freshForm(request.form));
  },
};

const addPosted: Page = {
  method: 'POST',
  path: '/groups/:group_id/add',
  needs: 'member',
  answer: async (request) => {
    const { group, items } = await addSubject(request);
    const { form, ask } = request;
    const monitors = form.values('monitors[]');
    const tried = await attempt(form, () => ask(changeMonitors, { monitors, change: 'group', group: group.id }), ['monitors']);
    if ('refused' in tried) return addForm(group, items, tried.refused);
    const { changed } = tried.done;
    return seeOther(`/groups/${group.id}`, { said: changed === 1 ? 'One monitor is in it now.' : `${changed} monitors are in it now.` });
  },
};

const editForm = (group: Group, state: FormState): PageAnswer =>
  show({
    title: `Rename ${group.name}`,
    place: 'groups',
    status: state.status,
    main: html`${heading({ sentence: `Rename ${group.name}`, below: 'On status pages it keeps the name that it was given there.', trail: trailTo(group) })}${formSummary(state)}<form class="form" method="post">${textField(
      { name: 'name', label: 'Name', state, autocomplete: 'off', required: true },
    )}${textArea({ name: 'description', label: 'What it is', state, rows: 2, required: false })}<div class="actions"><button class="button button-main">Save</button>${linkButton(`/groups/${group.id}`, 'Leave it')}</div></form>`,
  });

const groupTo = async (request: MembersRequest, operation: Parameters<typeof refuseUnlessMay>[1]): Promise<Group> => {
  const group = await request.ask(getGroup, { group_id: request.path.group_id });
  refuseUnlessMay(request, operation);
  return group;
};

const editPage: Page = {
  method: 'GET',
  path: '/groups/:group_id/edit',
  needs: 'member',
  answer: async (request) => {
    const group = await groupTo(request, updateGroup);
    return editForm(group, freshForm(formOf({ name: group.name, description: group.description })));
  },
};

const editPosted: Page = {
  method: 'POST',
  path: '/groups/:group_id/edit',
  needs: 'member',
  answer: async (request) => {
    const group = await groupTo(request, updateGroup);
    const { form, ask } = request;
    const input = { group_id: group.id, name: form.value('name') ?? '', description: form.value('description') ?? '' };
    const tried = await attempt(form, () => ask(updateGroup, input), ['name', 'description']);
    if ('refused' in tried) return editForm(group, tried.refused);
    return seeOther(`/groups/${group.id}`, { said: 'It is changed.' });
  },
};

/** What becomes of what names it, said before. */
const goneWith = ({ monitors, windows, channels, pages }: Shown): Html => {
  const names = (items: Shown['windows']): string => items.map(({ name }) => name ?? 'one without a name').join(', ');
  const remains =
    monitors === 0
      ? 'Nothing is in it.'
      : monitors === 1
        ? 'Its monitor stays, without a group, with all its history.'
        : `Its ${monitors} monitors stay, without a group, with all their history.`;
  return html`<ul class="plain-list"><li>${remains}</li>${windows.length > 0 && html`<li>Maintenance covers them through it no longer: ${names(windows)}. What was covered until now stays covered.</li>`}${
    channels.length > 0 && html`<li>These channels are told of them no longer, unless it is for other reasons: ${names(channels)}.</li>`
  }${pages.length > 0 && html`<li>On these status pages its heading goes; the monitors stay published: ${names(pages)}.</li>`}</ul>`;
};

const deletePage: Page = {
  method: 'GET',
  path: '/groups/:group_id/delete',
  needs: 'member',
  answer: async (request) => {
    const group = await request.ask(showGroup, { group_id: request.path.group_id });
    refuseUnlessMay(request, deleteGroup);
    return show({
      title: `Delete ${group.name}`,
      place: 'groups',
      main: html`${heading({ sentence: `Delete the group ${group.name}?`, trail: trailTo(group) })}<div class="card">${goneWith(group)}</div>
<form class="actions after" method="post"><button class="button button-danger">${icon('delete')}Delete the group</button>${linkButton(`/groups/${group.id}`, 'Leave it')}</form>`,
    });
  },
};

const deletePosted: Page = {
  method: 'POST',
  path: '/groups/:group_id/delete',
  needs: 'member',
  answer: async (request) => {
    const { id, name } = await groupTo(request, deleteGroup);
    await request.ask(deleteGroup, { group_id: id });
    return seeOther('/groups', { said: `${name} is deleted; its monitors stay.` });
  },
};

export const groupPages: readonly Page[] = [groupPage, addPage, addPosted, editPage, editPosted, deletePage, deletePosted];
